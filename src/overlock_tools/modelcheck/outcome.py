# SPDX-License-Identifier: MIT
"""What became of a job, and what may be said of it."""

import re
from dataclasses import dataclass, field
from typing import Any, Required, TypedDict

from overlock_tools.modelcheck.job import Job
from overlock_tools.system import reading
from overlock_tools.system.reading import Count

NUMBER = re.compile("[0-9]{1,4}")  # of a context
HOLDS, FAILS, OPEN = "holds", "fails", "open"

# Why a search ended before it had seen everything.
ENDED = {
    "time": "time limit reached",
    "executions": "execution limit reached",
    "interrupted": "interrupted",
    "exhausted": "the search is bounded",
}


# What is read of what overlock-check says: null and nothing are the same.


class _Event(TypedDict, total=False):
    n: Required[Count]
    context: Required[Any]
    what: Required[str]
    file: str | None
    line: Count | None
    op: str | None
    order: str | None
    object: str | None
    width: Count | None
    old: str | None
    new: str | None
    state: list[str] | None
    mark: str | None


class _Failure(TypedDict, total=False):
    property: Required[str]
    how: str
    replay: str
    events: list[_Event] | None


class _Numbers(TypedDict, total=False):
    executions: Count
    redundant: Count
    steps: Count
    seconds: float


class _Native(TypedDict):
    property: str
    how: str
    followed: Count
    of: Count
    left: str


class _Result(_Numbers, total=False):
    exhausted: bool
    ended: str | None
    verdict: str
    budgets: dict[str, Count]
    clock: Count | None
    notes: dict[str, Any] | None
    failure: _Failure | None
    native: _Native | None


def checked_result(raw: Any) -> dict[str, Any]:
    """A ValueError says why it is none."""
    return dict(reading.checked(_Result, raw, "the result"))


def checked_progress(raw: Any) -> dict[str, Any]:
    return dict(reading.checked(_Numbers, raw, "the progress"))


@dataclass(frozen=True)
class Event:
    """One step of an execution."""

    n: int
    context: str  # 1; b1: the store buffer of 1; k1: a late kick to 1
    what: str
    file: str = ""
    line: int = 0
    op: str = ""  # and what follows: of an access to memory
    order: str = ""
    object: str = ""
    width: int = 0
    old: str = ""
    new: str = ""
    state: tuple[str, ...] = ()  # what every context does after it
    mark: str = ""

    @classmethod
    def read(cls, raw: dict[str, Any]) -> "Event":
        """Keys of a later version are nothing to us; null stands for what there is not."""
        known = {k: v for k, v in raw.items() if k in cls.__dataclass_fields__ and v is not None}
        known["state"] = tuple(known.get("state", ()))
        known["context"] = str(known["context"])
        return cls(**known)

    @property
    def number(self) -> int:
        """Of the context, or of the one it belongs to; 0 for the world outside."""
        digits = self.context.lstrip("bk")
        return int(digits) if NUMBER.fullmatch(digits) else 0

    @property
    def by_itself(self) -> bool:
        """A step of the context, and not of its store buffer or of a kick."""
        return bool(NUMBER.fullmatch(self.context))


@dataclass(frozen=True)
class Failure:
    """How an execution went; one that was replayed need not have failed."""

    property: str
    how: str
    replay: str
    events: tuple[Event, ...]


@dataclass
class Outcome:
    job: Job
    result: dict[str, Any] = field(default_factory=dict)  # as overlock-check gave it
    cached: bool = False
    error: str = ""  # why there is no result
    refused: bool = False  # the job made no sense to it

    @property
    def exhausted(self) -> bool:
        return self.result.get("exhausted") is True

    @property
    def verdict(self) -> str:
        """That it holds is said only of what was exhausted."""
        if self.result.get("verdict") == FAILS:
            return FAILS
        return HOLDS if self.exhausted and self.result.get("verdict") == HOLDS else OPEN

    @property
    def told(self) -> Failure | None:
        raw = self.result.get("failure")
        if not raw:
            return None
        events = tuple(Event.read(event) for event in raw.get("events") or ())
        return Failure(raw["property"], raw.get("how", ""), raw.get("replay", ""), events)

    @property
    def native(self) -> dict[str, Any] | None:
        """What real threads did in the same order."""
        found: dict[str, Any] | None = self.result.get("native")
        return found

    @property
    def failure(self) -> Failure | None:
        return self.told if self.verdict == FAILS else None

    @property
    def words(self) -> str:
        if self.error:
            return f"does not apply: {self.error}" if self.refused else f"no answer: {self.error}"
        if self.job.replay and self.verdict != FAILS:
            return "this execution does not fail"
        if self.failure:
            return f"FAILS: {self.failure.property}"
        if self.verdict == HOLDS:
            return "; ".join(["exhausted: holds", *filter(None, [self.aftermath])])
        return f"not exhausted ({self.why_open}): no failure found so far"

    @property
    def aftermath(self) -> str:
        """The fate of the other contexts after one has stopped for ever."""
        notes = self.result.get("notes") or {}
        ways = [("spin", "spin"), ("parked", "sleep")]
        waiting = " or ".join(way for key, way in ways if notes.get(key))
        if not notes.get("stuck"):
            return "the other contexts continue" if notes.get("went_on") else ""
        may = "may " if notes.get("went_on") else ""
        return f"the other contexts {may}{waiting or 'wait'} for ever"

    @property
    def why_open(self) -> str:
        ended = str(self.result.get("ended", ""))
        return ENDED.get(ended, ended or "ended early")

    @property
    def executions(self) -> int:
        return int(self.result.get("executions", 0))

    @property
    def seconds(self) -> float:
        return float(self.result.get("seconds", 0.0))

    @property
    def rate(self) -> float:
        return self.executions / self.seconds if self.seconds else 0.0
