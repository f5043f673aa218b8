# SPDX-License-Identifier: MIT
"""What a rig is: sources that are run step by step, and what their numbers say of a row."""

import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from overlock_tools.core.system import children
from overlock_tools.core.system.errors import last_line
from overlock_tools.lab.reproduce.checks import Verdict
from overlock_tools.lab.reproduce.rigs import needs

HANGS = 4.0  # times its forecast, and LEAST_S: then a step is ended
LEAST_S = 120.0


@dataclass
class Place:
    """Where steps leave what they found, and what an interrupted run has left."""

    folder: Path
    build: str

    @property
    def measured(self) -> Path:
        return self.folder / f"measured-{self.build}"

    def run(self, words: Sequence[str], name: str, seconds: float) -> str:
        """A command, to its end; why it failed, or nothing. What it says goes into files."""
        self.measured.mkdir(exist_ok=True)
        out, err = (self.measured / f"{name}.{end}" for end in ("out", "err"))
        limit = max(LEAST_S, HANGS * seconds)
        with out.open("wb") as o, err.open("wb") as e:
            told: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": o, "stderr": e}
            with children.group(words, **told) as child:
                try:
                    code = child.wait(limit)
                except subprocess.TimeoutExpired:
                    return f"not over after {limit:.0f} s"
        if code in (0, 1):
            return ""
        return last_line(err.read_text(errors="replace"))[:300] or f"exit code {code}"

    def overlock(self, words: Sequence[str], name: str, seconds: float) -> str:
        return self.run([sys.executable, "-m", "overlock_tools", *words], name, seconds)


class Source(ABC):
    """What is measured, explored or simulated once for all rows that ask for it."""

    def __init__(self, name: str, forecast_s: float, needed: Sequence[str] = ()) -> None:
        self.name, self.needed = name, needed  # as needs.py has them
        self.forecast_s = forecast_s  # of what is left
        self.took_s = 0.0
        self.failed = ""
        self.has_begun = False
        self.is_over = False  # another step would tell nothing new
        self.was_kept = False  # of the last step: an interrupted run has left it

    def missing(self) -> str:
        """Why it cannot run on this machine; empty: it can."""
        return needs.missing(self.needed)

    @property
    def commands(self) -> Sequence[str]:
        """As a user would type them."""
        return ()

    def step(self, place: Place) -> None:
        began, self.has_begun, self.was_kept = time.monotonic(), True, False
        self.failed = self.advance(place)
        self.is_over = self.is_over or bool(self.failed)
        took = time.monotonic() - began
        self.took_s += took
        self.forecast_s = max(self.forecast_s - took, self.more_s())

    def more_s(self) -> float:
        """What another step takes."""
        return 0.0

    def next_s(self) -> float:
        """What the next step takes."""
        return self.more_s() if self.has_begun else self.forecast_s

    def took(self) -> dict[str, float]:
        """Seconds, for the next forecast."""
        return {self.name: self.took_s}

    @abstractmethod
    def advance(self, place: Place) -> str:
        """Does a step; why it failed, or nothing."""


@dataclass(frozen=True)
class Judged:
    """What a rig's numbers say of a row, so far."""

    verdict: Verdict
    found: Sequence[dict[str, Any]] = ()
    why: str = ""
    takes: str = ""
    knowledge: str = ""
    lacks: str = ""  # beside what the row says: points that were not measured


AnySource = TypeVar("AnySource", bound=Source)


class Asked(ABC):
    """A row's question to a rig."""

    sources: Sequence[Source]

    @abstractmethod
    def judge(self) -> Judged: ...


@dataclass
class Known:
    """Sources by name: rows share them. `kept_s`: what each took the last time."""

    kept_s: Mapping[str, float] = field(default_factory=dict)
    cluster: str | None = None  # where simulations run
    guest: Sequence[str] = ()  # options for `overlock guest run`, after a measurement's own
    sources: dict[str, Source] = field(default_factory=dict)

    def source(self, made: AnySource) -> AnySource:
        """That of the same name, which is of the same kind."""
        return cast("AnySource", self.sources.setdefault(made.name, made))
