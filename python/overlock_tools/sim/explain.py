# SPDX-License-Identifier: MIT
"""Why a wait took so long, in words: who held the lock or was next, and had a CPU or not.

Every moment of a wait has one cause. It is that of the context which the lock was waiting for: its
holder, or, while it is free, the context that acquires it next.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from overlock_tools.core.system.errors import Fail
from overlock_tools.sim.trace import (
    ON_CPU,
    PARKED,
    THROTTLED,
    YIELDED,
    Hold,
    Loss,
    Segment,
    Trace,
    Wait,
)

HOLDER = "lock-holder preemption"
WAITER = "lock-waiter preemption"
OWN = "own preemption"
QUEUE = "queueing"
OVERTAKEN = "being overtaken"
HANDOVER = "hand-overs and wake-ups"
YIELD = "yielding"
QUOTA = "quota"

MOST_STEPS = 8
SHORT = 0.01  # of a wait: shorter parts are told together
REASONS = {
    "slice": "its slice ended",
    "preempted": "the scheduler preempted it",
    "yielded": "it yielded",
    "exited": "the host saw it spin",
    "blocked": "it slept",
    "throttled": "the quota was used",
    "": "the trace ends there",
}


@dataclass(frozen=True)
class Piece:
    """A part of a wait with one cause."""

    start: int
    end: int
    cause: str
    whose: int  # holds the lock or acquires it next; the waiter, where that missed its turn
    held: bool
    served: int = 0  # sections of others in it

    @property
    def length(self) -> int:
        return self.end - self.start


def duration(ps: int) -> str:
    """Three digits and a unit."""
    for unit, one in (("s", 10**12), ("ms", 10**9), ("µs", 10**6), ("ns", 10**3)):
        if ps >= one:
            value = ps / one
            return f"{value:#.3g} {unit}" if value < 99.95 else f"{value:.0f} {unit}"
    return f"{ps} ps" if ps else "0"


def moment(ps: int) -> str:
    return f"{ps / 1e9:,.3f} ms"


def worst(trace: Trace, number: int = 1) -> list[Wait]:
    long = [wait for wait in trace.waits if wait.end > max(wait.start, trace.start)]
    return sorted(long, key=lambda w: (w.start - w.end, w.start, w.who))[:number]


def waiting_at(trace: Trace, time: int) -> Wait:
    """The longest of those then under way."""
    found = [wait for wait in trace.waits if wait.start <= time < wait.end]
    if not found:
        raise Fail(f"no context waits for a lock at {moment(time)}; name another time")
    return max(found, key=lambda w: (w.end - w.start, -w.who))


def explain(trace: Trace, number: int = 1, at: int | None = None) -> str:
    """Of the worst waits, or of the one at a time in ps."""
    waits = [waiting_at(trace, at)] if at is not None else worst(trace, number)
    if not waits:
        raise Fail("no context waited for a lock in the trace; trace a longer time")
    return "\n\n".join(story(trace, wait) for wait in waits) + "\n"


def story(trace: Trace, wait: Wait) -> str:
    parts = pieces(trace, wait)
    told = [_opening(trace, wait), *_steps(trace, wait, parts), _conclusion(wait, parts)]
    return "\n".join(told)


def shares(parts: Sequence[Piece]) -> dict[str, int]:
    """Time by cause, the greatest first."""
    found: dict[str, int] = defaultdict(int)
    for piece in parts:
        found[piece.cause] += piece.length
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


# Causes.


def pieces(trace: Trace, wait: Wait) -> list[Piece]:
    """From its beginning to its end, without a gap."""
    found = [piece for tenure in _tenures(trace, wait) for piece in _parts(trace, wait, tenure)]
    return [_merged(list(group)) for _, group in groupby(found, lambda p: (p.cause, p.whose))]


def _merged(group: list[Piece]) -> Piece:
    """Held, if it was at any time of it."""
    first, last = group[0], group[-1]
    served = sum(piece.served for piece in group)
    held = any(piece.held for piece in group)
    return Piece(first.start, last.end, first.cause, first.whose, held, served)


@dataclass(frozen=True)
class _Tenure:
    """A context holds the lock, or is the next to acquire it."""

    start: int
    end: int
    hold: Hold | None  # none: the trace ends before
    held: bool


def _tenures(trace: Trace, wait: Wait) -> Iterator[_Tenure]:
    holds = trace.holds_of.get(wait.lock, [])
    now = max(wait.start, trace.start)
    place = bisect_right(holds, now, key=lambda hold: hold.end)
    while now < wait.end:
        hold = holds[place] if place < len(holds) else None
        if hold is None or hold.start >= wait.end:
            yield _Tenure(now, wait.end, hold, held=False)
            return
        if hold.start > now:
            yield _Tenure(now, hold.start, hold, held=False)
            now = hold.start
        until = min(hold.end, wait.end)
        if until > now:
            yield _Tenure(now, until, hold, held=True)
        now, place = until, place + 1


def _parts(trace: Trace, wait: Wait, at: _Tenure) -> Iterator[Piece]:
    """Wherever the waiter or the context that it waits for changes its state."""
    hold, served = at.hold, int(at.held)
    whose = hold.who if hold else wait.who
    overtook = hold is not None and hold.waited_from > wait.start
    edges = {at.start, at.end}
    for context in {whose, wait.who}:
        segments = trace.segments_between(context, at.start, at.end)
        edges.update(segment.start for segment in segments if segment.start > at.start)
    for start, end in pairwise(sorted(edges)):
        if overtook:
            cause = _passed_over(trace.segment_at(wait.who, start))
        elif at.held:
            cause = _holding(trace.segment_at(whose, start))
        else:
            cause = _next(trace.segment_at(whose, start), whose == wait.who)
        blamed = wait.who if overtook and cause != OVERTAKEN else whose
        yield Piece(start, end, cause, blamed, at.held, served)
        served = 0


def _passed_over(own: Segment | None) -> str:
    """Others came later, and were served: while it had no CPU, or though it had one."""
    if own is None or own.state in ON_CPU:
        return OVERTAKEN
    return {YIELDED: YIELD, THROTTLED: QUOTA, PARKED: OVERTAKEN}.get(own.state, OWN)


def _holding(holder: Segment | None) -> str:
    if holder is None or holder.state in ON_CPU:
        return QUEUE
    return QUOTA if holder.state == THROTTLED else HOLDER


def _next(waiter: Segment | None, itself: bool) -> str:
    if waiter is None or waiter.state in (*ON_CPU, PARKED):
        return HANDOVER
    usual = OWN if itself else WAITER
    return {YIELDED: YIELD, THROTTLED: QUOTA}.get(waiter.state, usual)


# Words.


def _opening(trace: Trace, wait: Wait) -> str:
    ended = "" if wait.acquired else " and still waited when the trace ended"
    return (
        f"{trace.name(wait.who)} waited {duration(wait.end - wait.start)} for "
        f"{trace.lock_name(wait.lock)} ({trace.lock_kind(wait.lock)}), from {moment(wait.start)} "
        f"to {moment(wait.end)}{ended}. {_found(trace, wait)}"
    )


def _found(trace: Trace, wait: Wait) -> str:
    """What it met when it came."""
    holds = trace.holds_of.get(wait.lock, [])
    holder = next((h for h in holds if h.start <= wait.start < h.end), None)
    others = {
        w.who
        for w in trace.waits
        if w.lock == wait.lock and w.start < wait.start < w.end and w.who != wait.who
    }
    queue = f"{_count(len(others), 'other')} waited" if others else "no other waited"
    if holder:
        return f"When it came, {trace.name(holder.who)} held the lock, and {queue}."
    return f"When it came, the lock was free, and {queue}."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _steps(trace: Trace, wait: Wait, parts: Sequence[Piece]) -> Iterator[str]:
    """The long parts one by one, in their order; the others together, where they were."""
    least = (wait.end - wait.start) * SHORT
    ranked = sorted(parts, key=lambda piece: -piece.length)
    chosen = {id(p) for p in ranked[:MOST_STEPS] if p.length >= least or p is ranked[0]}
    for told, group in groupby(parts, lambda piece: id(piece) in chosen):
        if told:
            yield from (f"- {_step(trace, wait, piece)}" for piece in group)
        else:
            yield f"- {_together(list(group))}"


def _together(group: Sequence[Piece]) -> str:
    whole = sum(piece.length for piece in group)
    said = ", ".join(f"{cause} {duration(time)}" for cause, time in shares(group).items())
    return f"From {moment(group[0].start)}, for {duration(whole)}: {said}."


def _step(trace: Trace, wait: Wait, piece: Piece) -> str:
    name = trace.name(piece.whose)
    length = duration(piece.length)
    when = f"At {moment(piece.start)}"
    if piece.cause == QUEUE:
        return f"{when} {name} held the lock and ran, for {length}."
    if piece.cause == OVERTAKEN:
        return f"{when} {name}, which came later, got the lock first: {length}."
    if piece.cause == HANDOVER:
        return f"{when} {name} was next; it took {length} to get the free lock."
    if piece.cause == YIELD:
        return f"{when} {name} had yielded its CPU, for {length}."
    loss = trace.loss_at(piece.whose, piece.start)
    return _lost(trace, _role(piece, loss, wait), loss, piece)


def _role(piece: Piece, loss: Loss | None, wait: Wait) -> str:
    itself = piece.whose == wait.who
    if piece.held:
        return "the waiter itself" if itself else "which held the lock"
    at_once = loss is None or moment(loss.at) == moment(piece.start)
    since = "" if at_once else f" from {moment(piece.start)}"
    return ("the waiter itself, " if itself else "") + f"next in line{since}"


def _lost(trace: Trace, role: str, loss: Loss | None, piece: Piece) -> str:
    name, length = trace.name(piece.whose), duration(piece.length)
    if loss is None:
        return f"From {moment(piece.start)} {name}, {role}, had no CPU, for {length}."
    below = f"; {trace.name(loss.who)} carries it" if loss.who != piece.whose else ""
    to = f" to {trace.name(loss.by)}" if loss.by is not None else ""
    cpu = trace.cpu_name(loss.cpu)
    told = f"At {moment(loss.at)} {name}, {role}, lost {cpu}{to} ({REASONS[loss.why]}{below})"
    if loss.back_on is None:
        told += ", and had not got one back when the trace ended"
    else:
        back = trace.cpu_name(loss.back_on)
        told += f", and got {back} back" if back == cpu else f", and got {back}"
        told += f" {duration(loss.until - loss.at)} later"
    return f"{told}. That took {length} of the wait{_meanwhile(piece)}."


def _meanwhile(piece: Piece) -> str:
    if not piece.held:
        return "; the lock was free meanwhile"
    if piece.cause != OWN:
        return ""
    return f"; meanwhile others got the lock {_count(piece.served, 'time')}"


def _conclusion(wait: Wait, parts: Sequence[Piece]) -> str:
    whole = sum(piece.length for piece in parts) or 1
    said = [f"{_percent(time / whole)} {cause}" for cause, time in shares(parts).items()]
    listed = said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
    return f"The wait was {listed}."


def _percent(share: float) -> str:
    if share < 0.001:
        return "under 0.1 %"
    return f"{share * 100:.1f} %" if share < 0.995 else f"{share * 100:.4g} %"
