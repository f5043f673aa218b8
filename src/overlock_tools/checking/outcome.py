# SPDX-License-Identifier: MIT
"""What became of a job, and what may be said of it."""

from dataclasses import dataclass, field
from typing import Any

from overlock_tools.checking.job import Job

HOLDS, FAILS, OPEN = "holds", "fails", "open"

# Why a search ended before it had seen everything.
ENDED = {
    "time": "time was up",
    "executions": "executions were up",
    "interrupted": "interrupted",
    "exhausted": "the search is bounded",
}


@dataclass(frozen=True)
class Event:
    """One step of an execution."""

    n: int
    context: int  # from 1; 0 is the world outside
    what: str
    file: str = ""
    line: int = 0
    op: str = ""
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
        return cls(**known)


@dataclass(frozen=True)
class Failure:
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
    def failure(self) -> Failure | None:
        raw = self.result.get("failure")
        if not raw:
            return None
        events = tuple(Event.read(event) for event in raw.get("events") or ())
        return Failure(raw["property"], raw.get("how", ""), raw.get("replay", ""), events)

    @property
    def words(self) -> str:
        if self.error:
            return f"does not apply: {self.error}" if self.refused else f"no answer: {self.error}"
        if self.job.replay and self.verdict != FAILS:
            return "this execution does not fail"
        if self.failure:
            return f"FAILS: {self.failure.property}"
        if self.verdict == HOLDS:
            return "exhausted: holds"
        return f"not exhausted ({self.why_open}): nothing found so far"

    @property
    def why_open(self) -> str:
        ended = str(self.result.get("ended", ""))
        return ENDED.get(ended, ended or "it ended early")

    @property
    def executions(self) -> int:
        return int(self.result.get("executions", 0))

    @property
    def seconds(self) -> float:
        return float(self.result.get("seconds", 0.0))

    @property
    def rate(self) -> float:
        return self.executions / self.seconds if self.seconds else 0.0
