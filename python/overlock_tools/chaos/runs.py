# SPDX-License-Identifier: MIT
"""A program, run again and again, each time with the CPU taken from its threads elsewhere."""

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from overlock_tools.chaos import record
from overlock_tools.chaos.record import Recorded, Site
from overlock_tools.chaos.settings import Settings, without_ours
from overlock_tools.core.system import children, native
from overlock_tools.core.system.repeated import Input
from overlock_tools.core.system.text import printable
from overlock_tools.run import interpose
from overlock_tools.run.starting import starting

PASSED = "passed"
TIMED_OUT = "time-out"
LIBRARY = "liboverlock-chaos.so"
TAIL = 8192  # bytes of the output that are looked at
KEPT_LINES = 20
NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+")


@dataclass(frozen=True)
class Run:
    seed: int
    how: str  # PASSED, TIMED_OUT, or "exit code 3", "signal 6 (SIGABRT)"
    seconds: float
    output: tuple[str, ...]  # its last lines
    sites: Mapping[str, Site] = field(default_factory=dict)
    stuck: Mapping[str, int] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        return self.how != PASSED

    @property
    def last_line(self) -> str:
        return self.output[-1] if self.output else ""

    @property
    def failure(self) -> tuple[str, str]:
        """The same for runs that fail alike: numbers in the last line differ from run to run."""
        return self.how, NUMBER.sub("N", self.last_line)

    @property
    def slept(self) -> list[str]:
        """Sites where a thread lost its CPU."""
        return sorted(name for name, site in self.sites.items() if site.naps)

    def to_json(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "how": self.how,
            "seconds": round(self.seconds, 6),
            "output": list(self.output) if self.failed else [],
            "slept": self.slept,
            "stuck": dict(self.stuck),
        }


def how_it_ended(code: int) -> str:
    if code >= 0:
        return f"exit code {code}" if code else PASSED
    try:
        return f"signal {-code} ({signal.Signals(-code).name})"
    except ValueError:
        return f"signal {-code}"


def _last_lines(raw: bytes) -> tuple[str, ...]:
    lines = (printable(line.rstrip()) for line in raw.decode(errors="replace").splitlines())
    return tuple(line for line in lines if line)[-KEPT_LINES:]


@dataclass(frozen=True)
class Program:
    path: str
    args: tuple[str, ...]  # its name first
    plain: Mapping[str, str]  # the environment without our library
    ours: Mapping[str, str]  # and with it
    given: Input = field(default_factory=Input)

    @classmethod
    def prepare(cls, command: Sequence[str], told: Mapping[str, str] | None = None) -> "Program":
        with_library = interpose.prepare(native.file(LIBRARY), command[0])
        return cls(
            with_library.program,
            tuple(command),
            without_ours(dict(os.environ)),
            without_ours(with_library.variables) | dict(told or {}),
        )

    def run(self, settings: Settings | None, timeout: float | None) -> Run:
        """Once; without settings, without our library."""
        with tempfile.TemporaryDirectory(prefix="overlock-chaos-") as folder:
            records = Path(folder) / "records"
            records.mkdir()
            variables = dict(self.plain)
            if settings:
                told = settings.variables() | {"OVERLOCK_CHAOS_RECORDS": str(records)}
                variables = {**self.ours, **told}
            with open(Path(folder) / "output", "w+b") as output, self.given.run() as read:
                how, seconds = self._run(variables, read, output.fileno(), timeout)
                output.seek(max(0, os.fstat(output.fileno()).st_size - TAIL))
                lines = _last_lines(output.read())
            found = record.read(records) if settings else Recorded({}, Counter())
        stuck = found.stuck if how == TIMED_OUT else {}
        seed = settings.seed if settings else 0
        return Run(seed, how, seconds, lines, found.sites, stuck)

    def _run(
        self, variables: Mapping[str, str], read: int, output: int, timeout: float | None
    ) -> tuple[str, float]:
        began = time.monotonic()
        with contextlib.ExitStack() as stack:
            with starting(self.path):
                child = stack.enter_context(
                    children.group(
                        self.args,
                        executable=Path(self.path).absolute(),
                        env=variables,
                        stdin=read,
                        stdout=output,
                        stderr=output,
                    )
                )
            try:
                how = how_it_ended(child.wait(timeout))
            except subprocess.TimeoutExpired:
                how = TIMED_OUT
        return how, time.monotonic() - began
