# SPDX-License-Identifier: MIT
"""What overlock-sim recorded, event by event, and what follows: who had a CPU, held or waited when.

Times are picoseconds since the run began. An entity is a context or a virtual CPU; sim/trace.cpp
numbers the contexts first, and the physical CPUs before the virtual ones.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from overlock_tools.core.system.errors import Fail

RUNNING = "running"
HOLDING = "holding"
SPINNING = "spinning"
PREEMPTED = "preempted"
PREEMPTED_HOLDING = "preempted while holding"
PREEMPTED_WAITING = "preempted while waiting"
YIELDED = "yielded"
PARKED = "parked"
THROTTLED = "throttled"
ON_CPU = (RUNNING, HOLDING, SPINNING)


class Event(NamedTuple):
    at: int
    what: str
    who: int
    other: int
    why: str = ""


@dataclass(frozen=True)
class Stay:
    """An entity on a CPU, and how that ended."""

    who: int
    cpu: int
    start: int
    end: int
    why: str = ""  # empty: the trace ended first


@dataclass(frozen=True)
class Segment:
    """A context in one state."""

    start: int
    end: int
    state: str


@dataclass(frozen=True)
class Wait:
    who: int
    lock: int
    start: int
    end: int
    acquired: bool = True  # else the trace ended first


@dataclass(frozen=True)
class Hold:
    who: int
    lock: int
    start: int
    end: int
    waited_from: int
    released: bool = True


@dataclass(frozen=True)
class Kick:
    at: int
    by: int
    woken: int


@dataclass(frozen=True)
class Loss:
    """An entity lost a CPU that another entity got, if any did, and ran again at `until`."""

    who: int
    cpu: int
    at: int
    why: str
    by: int | None
    until: int
    back_on: int | None


@dataclass
class _Context:
    """While the events are read."""

    cpu: int | None = None
    runnable: bool = False
    parked: bool = False
    yielded: bool = False
    waits: tuple[int, int] | None = None  # since when, for which lock
    holds: dict[int, tuple[int, int]] = field(default_factory=dict)  # since when, waited from when
    state: str = ""
    since: int = 0


class Trace:
    def __init__(self, told: Mapping[str, Any]) -> None:
        self.start: int = told["from"]
        self.end: int = told["until"]
        self.full: bool = told["full"]
        self.physical: int = told["cpus"]
        self.guests: list[dict[str, str]] = told["guests"]
        self._contexts: list[dict[str, int]] = told["contexts"]
        self._vcpus: list[dict[str, int]] = told["vcpus"]
        self._locks: list[dict[str, int]] = told["locks"]
        kinds, reasons = told["kinds"], told["reasons"]
        self.events = [
            Event(at, kinds[what], who, other, *(reasons[i] for i in why))
            for at, what, who, other, *why in told["events"]
        ]
        self.stays: list[Stay] = []
        self.segments: list[list[Segment]] = [[] for _ in self._contexts]
        self.waits: list[Wait] = []
        self.holds: list[Hold] = []
        self.kicks: list[Kick] = []
        self.throttled: list[tuple[int, int, int]] = []  # guest, from, until
        _Reading(self)

    # Names.

    @property
    def contexts(self) -> range:
        return range(len(self._contexts))

    @property
    def vcpus(self) -> range:
        return range(len(self._contexts), len(self._contexts) + len(self._vcpus))

    def guest_of(self, entity: int) -> int:
        return [*self._contexts, *self._vcpus][entity]["guest"]

    def name(self, entity: int) -> str:
        """With its guest's name where there are several."""
        virtual = entity >= len(self._contexts)
        said = self._vcpus[entity - len(self._contexts)] if virtual else self._contexts[entity]
        guest = self.guests[said["guest"]]
        noun = "vCPU" if virtual or guest["kind"] == "kernel" else "context"
        return self._owned(said["guest"], f"{noun} {said['number']}")

    def lock_name(self, lock: int) -> str:
        said = self._locks[lock]
        return self._owned(said["guest"], f"lock {said['number']}")

    def lock_kind(self, lock: int) -> str:
        return self.guests[self._locks[lock]["guest"]]["lock"]

    def cpu_name(self, cpu: int) -> str:
        virtual = cpu >= self.physical
        return self.name(self.vcpus[cpu - self.physical]) if virtual else f"CPU {cpu}"

    def _owned(self, guest: int, name: str) -> str:
        return f"{self.guests[guest]['name']} {name}" if len(self.guests) > 1 else name

    # What follows.

    @cached_property
    def stays_of(self) -> dict[int, list[Stay]]:
        return _by(self.stays, "who")

    @cached_property
    def stays_on(self) -> dict[int, list[Stay]]:
        return _by(self.stays, "cpu")

    @cached_property
    def waits_of(self) -> dict[int, list[Wait]]:
        return _by(self.waits, "who")

    @cached_property
    def holds_of(self) -> dict[int, list[Hold]]:
        """By lock."""
        return _by(self.holds, "lock")

    @cached_property
    def handovers(self) -> list[tuple[Hold, Hold]]:
        """A release, and the acquisition by a context that was already waiting."""
        return [
            (one, later)
            for holds in self.holds_of.values()
            for one, later in pairwise(holds)
            if one.released and later.waited_from < one.end
        ]

    def segment_at(self, context: int, time: int) -> Segment | None:
        segment: Segment | None = _at(self.segments[context], time)
        return segment

    def segments_between(self, context: int, start: int, end: int) -> list[Segment]:
        segments = self.segments[context]
        first = max(0, bisect_right(segments, start, key=_start) - 1)
        return segments[first : bisect_left(segments, end, key=_start)]

    @cached_property
    def contended(self) -> dict[int, list[tuple[int, int]]]:
        """By lock: when some context waited for it."""
        found: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for wait in sorted(self.waits, key=_start):
            spans = found[wait.lock]
            if spans and wait.start <= spans[-1][1]:
                spans[-1] = spans[-1][0], max(spans[-1][1], wait.end)
            else:
                spans.append((wait.start, wait.end))
        return found

    def loss_at(self, context: int, time: int) -> Loss | None:
        """How a context that has no CPU lost it: it, or the virtual CPU that it is on."""
        stay = _at(self.stays_of.get(context, []), time)
        if stay is None:
            return None
        if time >= stay.end:
            return self._loss(context, stay)
        if stay.cpu < self.physical:
            return None
        vcpu = self.vcpus[stay.cpu - self.physical]
        below = _at(self.stays_of.get(vcpu, []), time)
        return self._loss(vcpu, below) if below and time >= below.end else None

    def _loss(self, who: int, lost: Stay) -> Loss:
        after = self.stays_on[lost.cpu]
        next_on_it = next(iter(after[bisect_right(after, lost.start, key=_start) :]), None)
        own = self.stays_of[who]
        back = next(iter(own[bisect_right(own, lost.start, key=_start) :]), None)
        return Loss(
            who,
            lost.cpu,
            lost.end,
            lost.why,
            next_on_it.who if next_on_it and next_on_it is not back else None,
            back.start if back else self.end,
            back.cpu if back else None,
        )


def of(answer: Mapping[str, Any]) -> Trace:
    """Of overlock-sim's answer to a scenario that asked for a trace."""
    if "trace" not in answer:
        raise Fail('the run has no trace; give the scenario "trace": true')
    return Trace(answer["trace"])


def _start(span: Any) -> int:
    start: int = span.start
    return start


def _at(spans: list[Any], time: int) -> Any:
    """The last that began by then."""
    place = bisect_right(spans, time, key=_start)
    return spans[place - 1] if place else None


def _by(found: list[Any], key: str) -> dict[int, list[Any]]:
    grouped: dict[int, list[Any]] = defaultdict(list)
    for one in sorted(found, key=_start):
        grouped[getattr(one, key)].append(one)
    return grouped


class _Reading:
    """One pass over the events."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.contexts = [_Context(since=trace.start) for _ in trace.contexts]
        self.cpu_of: dict[int, tuple[int, int]] = {}  # by entity: since when, which
        self.throttled: dict[int, int] = {}  # by guest: since when
        for event in trace.events:
            getattr(self, f"_{event.what}")(event)
            for context in self._concerned(event):
                self._settle(context, event.at)
        self._end()

    def _concerned(self, event: Event) -> Iterator[int]:
        """The contexts whose state it may change."""
        if event.what in ("throttle", "refill"):
            yield from (c for c in self.trace.contexts if self.trace.guest_of(c) == event.who)
        elif event.who in self.trace.contexts:
            yield event.who
        else:
            cpu = self.trace.physical + event.who - self.trace.vcpus.start
            yield from (c for c in self.trace.contexts if self.contexts[c].cpu == cpu)

    def _settle(self, context: int, now: int) -> None:
        c = self.contexts[context]
        now = max(now, self.trace.start)
        state = self._state(context)
        if state == c.state:
            return
        if c.state and now > c.since:
            self.trace.segments[context].append(Segment(c.since, now, c.state))
        c.state, c.since = state, now

    def _state(self, context: int) -> str:
        c = self.contexts[context]
        if self._has_cpu(c):
            return SPINNING if c.waits else HOLDING if c.holds else RUNNING
        if c.parked or not c.runnable:
            return PARKED
        if self.trace.guest_of(context) in self.throttled:
            return THROTTLED
        if c.yielded:
            return YIELDED
        return PREEMPTED_HOLDING if c.holds else PREEMPTED_WAITING if c.waits else PREEMPTED

    def _has_cpu(self, c: _Context) -> bool:
        if c.cpu is None or c.cpu < self.trace.physical:
            return c.cpu is not None
        return self.trace.vcpus[c.cpu - self.trace.physical] in self.cpu_of

    def _run(self, event: Event) -> None:
        self.cpu_of[event.who] = event.at, event.other
        if event.who in self.trace.contexts:
            self.contexts[event.who].cpu = event.other
            self.contexts[event.who].yielded = False

    def _lose(self, event: Event) -> None:
        since, cpu = self.cpu_of.pop(event.who)
        self.trace.stays.append(Stay(event.who, cpu, since, event.at, event.why))
        if event.who in self.trace.contexts:
            self.contexts[event.who].cpu = None
            self.contexts[event.who].runnable &= event.why != "blocked"
            self.contexts[event.who].yielded = event.why == "yielded"

    def _ready(self, event: Event) -> None:
        if event.who in self.trace.contexts:
            self.contexts[event.who].runnable = True
            self.contexts[event.who].parked = False

    def _wait(self, event: Event) -> None:
        self.contexts[event.who].waits = event.at, event.other

    def _acquire(self, event: Event) -> None:
        c = self.contexts[event.who]
        since, lock = c.waits or (event.at, event.other)
        c.waits = None
        c.holds[lock] = event.at, since
        self.trace.waits.append(Wait(event.who, lock, since, event.at))

    def _release(self, event: Event) -> None:
        since, waited_from = self.contexts[event.who].holds.pop(event.other)
        self.trace.holds.append(Hold(event.who, event.other, since, event.at, waited_from))

    def _park(self, event: Event) -> None:
        self.contexts[event.who].parked = True

    def _kick(self, event: Event) -> None:
        self.trace.kicks.append(Kick(event.at, event.who, event.other))

    def _throttle(self, event: Event) -> None:
        self.throttled[event.who] = event.at

    def _refill(self, event: Event) -> None:
        since = self.throttled.pop(event.who, event.at)
        self.trace.throttled.append((event.who, since, event.at))

    def _end(self) -> None:
        end = self.trace.end
        for who, (since, cpu) in self.cpu_of.items():
            self.trace.stays.append(Stay(who, cpu, since, end))
        for guest, since in self.throttled.items():
            self.trace.throttled.append((guest, since, end))
        for i, c in enumerate(self.contexts):
            if c.state and end > c.since:
                self.trace.segments[i].append(Segment(c.since, end, c.state))
            if c.waits:
                since, lock = c.waits
                self.trace.waits.append(Wait(i, lock, since, end, acquired=False))
            for lock, (since, waited_from) in c.holds.items():
                self.trace.holds.append(Hold(i, lock, since, end, waited_from, released=False))
