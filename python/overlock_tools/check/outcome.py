# SPDX-License-Identifier: MIT
"""What became of a job, and what may be said of it."""

import re
from dataclasses import dataclass, field
from typing import Any, Required, TypedDict

from overlock_tools.check.job import Job
from overlock_tools.core.system import reading
from overlock_tools.core.system.reading import Count

NUMBER = re.compile("[0-9]{1,4}")  # of a context
WAITER = "waiter"  # the scenario
STUCK = ("deadlock", "lost wake-up")
HOLDS, FAILS, OPEN = "holds", "fails", "open"

# Why a search ended before it had seen everything.
OUT_OF_TIME, INTERRUPTED, LEFT_OPEN = "time", "interrupted", "open"
ENDED = {
    OUT_OF_TIME: "time limit reached",
    "executions": "execution limit reached",
    INTERRUPTED: "interrupted",
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


class _FileLines(TypedDict):
    reached: list[Count]
    unreached: list[Count]


class _Coverage(TypedDict, total=False):
    """Of overlock-check: addresses. coverage.py makes the rest of them."""

    addresses: list[Count]
    files: dict[str, _FileLines]
    within: dict[str, dict[str, list[Count]]]  # the functions of lines that were not reached
    uncalled: dict[str, dict[str, list[Count]]]  # lines by the function that was never called
    unknown: str  # why


class _Loop(TypedDict):
    file: str
    line: Count
    turns: Count


class _Result(_Numbers, total=False):
    exhausted: bool
    ended: str | None
    verdict: str
    budgets: dict[str, Count]
    clock: Count | None
    notes: dict[str, Any] | None
    failure: _Failure | None
    native: _Native | None
    coverage: _Coverage | None
    loops: list[_Loop] | None
    open: list[str] | None  # why it is not known how some executions go on


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
            return "; ".join([self._holds, *filter(None, [self.aftermath]), *self.unseen])
        found = f"not exhausted ({self.why_open}): no failure found so far"
        return "; ".join([found, *self.unseen])

    @property
    def _holds(self) -> str:
        if not self.loops:
            return "exhausted: holds"
        loops = f"loop{'s' if len(self.loops) > 1 else ''} at {', '.join(self.loops)}"
        return f"exhausted, loops cut: holds if the number of turns of the {loops} does not matter"

    @property
    def coverage(self) -> dict[str, Any] | None:
        """Source lines, as coverage.py has found them."""
        found: dict[str, Any] | None = self.result.get("coverage")
        return found

    @property
    def loops(self) -> list[str]:
        """Places of those that were left although they had not ended."""
        return [f"{one['file']}:{one['line']}" for one in self.result.get("loops") or ()]

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
    def unseen(self) -> list[str]:
        """What the verdict is not about."""
        names = self.job.subject.unseen
        return [f"not seen: {', '.join(names)}"] if names else []

    @property
    def advice(self) -> str:
        """How to declare a FIFO lock, where a context that stops in its queue stops the others."""
        subject = self.job.subject
        if self.job.scenario != WAITER or not subject.header:
            return ""
        if self.failure and self.failure.property in STUCK:
            return (
                f"{subject.shown}: if it is FIFO, a stopped waiter may stop the others: declare "
                "it, OL_FIFO in the traits of its OL_LOCK_LINE"
            )
        notes = self.result.get("notes") or {}
        if notes.get("stuck") and notes.get("fifo") is False:
            return (
                f"{subject.shown}: a stopped waiter stops the others. In a FIFO lock it may: "
                "declare it, --fifo or `.fifo = true` in its table, and its order is checked, too"
            )
        return ""

    @property
    def why_open(self) -> str:
        ended = str(self.result.get("ended", ""))
        known = ENDED.get(ended, ended or "ended early")
        left: list[str] = self.result.get("open") or []
        return "; ".join([*([] if ended == LEFT_OPEN else [known]), *left])

    @property
    def executions(self) -> int:
        return int(self.result.get("executions", 0))

    @property
    def seconds(self) -> float:
        return float(self.result.get("seconds", 0.0))

    @property
    def rate(self) -> float:
        return self.executions / self.seconds if self.seconds else 0.0
