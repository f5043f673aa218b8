# SPDX-License-Identifier: MIT
"""The changes that overlock-profiler sent, by threads and locks. Times are in ns."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import TypeVar

from overlock_tools.profile import report
from overlock_tools.profile.naming import Names
from overlock_tools.profile.seen import HOLDER, NEXT, UNKNOWN, Seen

RUNS, ENDED = "running", "ended"


@dataclass(frozen=True)
class State:
    """What a thread does, until the next."""

    at: int
    thread: int
    name: str
    does: str
    lock: int  # that it waits for; 0: none
    call: str
    taker: str
    sibling: bool
    end: int = 0


@dataclass(frozen=True)
class Turn:
    """Who has to do something before anybody gets the lock; until the next."""

    at: int
    lock: int
    role: str
    thread: int  # 0: nobody knows
    by: int  # who made it so
    waiters: int
    end: int = 0


@dataclass(frozen=True)
class Wait:
    thread: int
    lock: int
    at: int
    end: int


@dataclass
class Story:
    began: int
    locks: dict[int, tuple[str, bool]]  # their names, and whether they are locks
    names: dict[int, str]  # of threads
    states: dict[int, list[State]]
    turns: dict[int, list[Turn]]
    waits: dict[int, list[Wait]] = field(default_factory=dict)
    holds: dict[int, list[Wait]] = field(default_factory=lambda: defaultdict(list))

    def lock(self, address: int) -> str:
        return self.locks.get(address, (f"{address:#x}", True))[0]

    def thread(self, number: int) -> str:
        return f"{self.names.get(number, '?')} {number}"


def overlapping(spans: Sequence[State | Turn], at: int, end: int) -> Iterator[int]:
    """Those that have something of that time; each ends where the next begins."""
    number = max(0, bisect_right(spans, at, key=lambda span: span.at) - 1)
    while number < len(spans) and spans[number].at < end:
        if spans[number].end > at:
            yield number
        number += 1


def read(seen: Seen, names: Names) -> Story:
    states: dict[int, list[State]] = defaultdict(list)
    turns: dict[int, list[Turn]] = defaultdict(list)
    changes = sorted(seen.changes, key=lambda change: change[1])
    end = changes[-1][1] if changes else 0
    for kind, *rest in changes:
        if kind == "state":
            states[rest[1]].append(State(*rest))
        else:
            turns[rest[1]].append(Turn(*rest))
    story = Story(
        changes[0][1] if changes else 0,
        report.lock_names(seen, names),
        {thread: found[-1].name for thread, found in states.items()},
        {thread: _until_next(found, end) for thread, found in states.items()},
        {lock: _known_later(_until_next(found, end)) for lock, found in turns.items()},
    )
    story.waits = {thread: list(_waits(found)) for thread, found in story.states.items()}
    for found in story.turns.values():
        for hold in _holds(found):
            story.holds[hold.thread].append(hold)
    for holds in story.holds.values():
        holds.sort(key=lambda hold: hold.at)
    return story


Span = TypeVar("Span", State, Turn)


def _until_next(spans: list[Span], end: int) -> list[Span]:
    ends = [span.at for span in spans[1:]] + [end]
    return [replace(span, end=end) for span, end in zip(spans, ends, strict=True)]


def _known_later(turns: list[Turn]) -> list[Turn]:
    """Who released it had it, since nobody knew who."""
    found: list[Turn] = []
    holder = 0
    for turn in reversed(turns):
        if turn.role == NEXT and not turn.thread:
            holder = turn.by
        elif turn.role != UNKNOWN:
            holder = 0
        held = turn.role == UNKNOWN and holder
        found.append(replace(turn, role=HOLDER, thread=holder) if held else turn)
    return found[::-1]


def _waits(states: Iterable[State]) -> Iterator[Wait]:
    """Until the thread runs: it may have been woken and have no CPU."""
    wait: Wait | None = None
    for state in states:
        waits = state.lock and state.does not in (RUNS, ENDED)
        if wait and waits and wait.lock == state.lock:
            wait = replace(wait, end=state.end)
            continue
        if wait:
            yield wait
        wait = Wait(state.thread, state.lock, state.at, state.end) if waits else None
    if wait:
        yield wait


def _holds(turns: list[Turn]) -> Iterator[Wait]:
    """Known while somebody waits, and after that if the holder itself ended it."""
    hold: Wait | None = None
    for turn, later in zip_longest(turns, turns[1:]):
        ended = later and later.by == turn.thread
        holds = turn.role == HOLDER and turn.thread and (turn.waiters or ended)
        if hold and holds and hold.thread == turn.thread:
            hold = replace(hold, end=turn.end)
            continue
        if hold:
            yield hold
        hold = Wait(turn.thread, turn.lock, turn.at, turn.end) if holds else None
    if hold:
        yield hold
