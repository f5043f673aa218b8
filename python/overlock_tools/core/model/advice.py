# SPDX-License-Identifier: MIT
"""Which lock in which situation: advice.toml, from which every recommendation is derived."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from overlock_tools.core.system.errors import Fail

KEEP = "keep"


@dataclass(frozen=True)
class Evidence:
    """Keys into a file with measurements; tools/evidence.py reads the numbers."""

    source: str  # "sections", "apps", "guest", "openmp" or "neighbours"
    baselines: tuple[str, ...]
    places: tuple[str, ...]
    load: str = ""
    command: str = ""


@dataclass(frozen=True)
class Gain:
    """A row of the README."""

    lock: str  # the lock in place, in words
    baseline: str
    place: str
    load: str = ""
    beside: str = ""  # the lock to show where none is recommended


@dataclass(frozen=True)
class Situation:
    id: str
    when: str
    today: str
    take: str
    words: str
    say: str
    alternatives: Mapping[str, str] = field(default_factory=dict)
    gain: Gain | None = None
    evidence: tuple[Evidence, ...] = ()
    pages: Mapping[str, str] = field(default_factory=dict)

    @property
    def keeps(self) -> bool:
        return self.take == KEEP

    @property
    def locks(self) -> list[str]:
        """The locks that are recommended here, the best one first."""
        return [*([] if self.keeps else [self.take]), *self.alternatives]


def _evidence(raw: dict[str, Any]) -> Evidence:
    baselines, places = (tuple(raw.pop(name)) for name in ("baselines", "places"))
    return Evidence(raw.pop("from"), baselines, places, **raw)


def _situation(raw: dict[str, Any]) -> Situation:
    evidence = tuple(map(_evidence, raw.pop("evidence", [])))
    gain = Gain(**raw.pop("gain")) if "gain" in raw else None
    words, say = (raw.pop(name).format(take=raw["take"]) for name in ("words", "say"))
    return Situation(words=words, say=say, gain=gain, evidence=evidence, **raw)


def parse(text: str) -> dict[str, Situation]:
    found = [_situation(raw) for raw in tomllib.loads(text)["situation"]]
    return {situation.id: situation for situation in found}


@cache
def load() -> dict[str, Situation]:
    return parse((resources.files("overlock_tools.core.model") / "advice.toml").read_text())


def situation(id_: str) -> Situation:
    if id_ not in load():
        raise Fail(f"there is no situation {id_} in advice.toml; there are {', '.join(load())}")
    return load()[id_]


def say(*ids: str) -> tuple[str, ...]:
    """The recommendations for these situations, a line each."""
    return tuple(situation(id_).say for id_ in ids)
