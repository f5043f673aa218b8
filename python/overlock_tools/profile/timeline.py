# SPDX-License-Identifier: MIT
"""What threads did, when, as a timeline for ui.perfetto.dev: a track for each thread.

A wait for a lock contains what its holder was doing meanwhile. An arrow leads from the
release of a lock to the end of the wait that it ended. Who holds a lock is known while
somebody waits for it, and after a wait.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest

from overlock_tools.core.render import trace_events
from overlock_tools.core.render.trace_events import Entry
from overlock_tools.profile import causes, show, story
from overlock_tools.profile.naming import Names
from overlock_tools.profile.seen import HOLDER, NEXT, UNKNOWN, Seen
from overlock_tools.profile.story import ENDED, RUNS, State, Story, Turn, Wait, overlapping

MOST = 300_000  # changes that are kept, the first ones
US = 1000  # in ns


@dataclass(frozen=True)
class Part:
    """Of a wait."""

    name: str
    at: int
    end: int
    args: dict[str, str]


def parts(told: Story, wait: Wait) -> Iterator[Part]:
    """Those of a kind that follow each other are one."""
    last: Part | None = None
    for part in _all_parts(told, wait):
        if last and (last.name, last.args, last.end) == (part.name, part.args, part.at):
            last = replace(last, end=part.end)
            continue
        if last:
            yield last
        last = part
    if last:
        yield last


def _all_parts(told: Story, wait: Wait) -> Iterator[Part]:
    turns = told.turns.get(wait.lock, [])
    for number in overlapping(turns, wait.at, wait.end):
        turn = turns[number]
        at, end = max(turn.at, wait.at), min(turn.end, wait.end)
        states = told.states.get(turn.thread, [])
        if turn.role == UNKNOWN or not turn.thread:
            yield Part(_cause(turn.role, RUNS), at, end, {})
            continue
        for place in overlapping(states, at, end):
            state = states[place]
            yield Part(
                _cause(turn.role, state.does),
                max(state.at, at),
                min(state.end, end),
                {"of": told.thread(turn.thread), **_why(state)},
            )


def _cause(role: str, does: str) -> str:
    cause = causes.BY_PART.get((role, does))
    return show.column(cause.name) if cause else does


def _why(state: State) -> dict[str, str]:
    of = "same" if state.sibling else "another"
    by = {"by": f"{state.taker}, of {of} program" if not state.sibling else state.taker}
    call = {"in": f"{state.call}()"}
    return (by if state.taker else {}) | (call if state.call and state.does != RUNS else {})


# Tracks.


def _pieces(states: list[State], holds: list[Wait]) -> Iterator[tuple[State, list[int]]]:
    """States, cut where locks are taken and released; and the locks held."""
    events = sorted([(h.at, 1, h.lock) for h in holds] + [(h.end, 0, h.lock) for h in holds])
    held: list[int] = []
    events.reverse()
    for state in states:
        at = state.at
        while events and events[-1][0] < state.end:
            cut, begins, lock = events.pop()
            if cut > at:
                yield replace(state, at=at, end=cut), list(held)
                at = cut
            if begins:
                held.append(lock)
            elif lock in held:
                held.remove(lock)
        if state.end > at:
            yield replace(state, at=at), list(held)


def _thread(told: Story, pid: int, thread: int) -> Iterator[Entry]:
    track = (pid, thread)
    for wait in told.waits[thread]:
        name, is_lock = told.locks.get(wait.lock, (f"{wait.lock:#x}", True))
        kind = "waits for" if is_lock else "waits on purpose:"
        yield _span(told, track, f"{kind} {name}", wait, cat="wait")
        for part in parts(told, wait) if is_lock else ():
            yield _span(told, track, part.name, part, cat="cause", args=part.args)
    for state, held in _pieces(told.states[thread], told.holds[thread]):
        if state.does == ENDED or (state.lock and state.does != RUNS):
            continue
        yield _span(told, track, _does(told, state, held), state, cat="state", args=_why(state))


def _does(told: Story, state: State, held: list[int]) -> str:
    if not held:
        return state.does
    holds = "holds " + ", ".join(map(told.lock, held))
    return holds if state.does == RUNS else f"{holds}; {state.does}"


def _span(
    told: Story, track: tuple[int, int], name: str, span: State | Wait | Part, **more: object
) -> Entry:
    at, end = ((time - told.began) / US for time in (span.at, span.end))
    return trace_events.span(track, name, at, end, **more)


def _arrows(told: Story, pid: int) -> Iterator[Entry]:
    number = 0
    for waits in told.waits.values():
        for wait, later in zip_longest(waits, waits[1:]):
            turn = _ended_by(told, wait)
            if not turn or _in_vain(told, wait, later):
                continue
            number += 1
            tail, head = (
                (time - told.began) / US for time in (_released(told, turn), _taken(told, wait))
            )
            yield from trace_events.arrow(
                "release", number, (pid, turn.by, tail), (pid, wait.thread, head)
            )


def _ended_by(told: Story, wait: Wait) -> Turn | None:
    """The last release, by a thread that ran, after which it was this one's turn."""
    turns = told.turns.get(wait.lock, [])
    found = [
        turn
        for turn in (turns[number] for number in overlapping(turns, wait.at, wait.end))
        if turn.role == NEXT and turn.thread == wait.thread and turn.at >= wait.at
    ]
    ran = [turn for turn in found if _runs(told, turn.by, turn.at)]
    goes_on = _runs(told, wait.thread, wait.end)
    return ran[-1] if ran and goes_on else None


def _released(told: Story, turn: Turn) -> int:
    """Within the slice of who held the lock, not in the next."""
    holds = told.holds.get(turn.by, [])
    number = bisect_left(holds, turn.at, key=lambda hold: hold.at) - 1
    if number < 0 or holds[number].lock != turn.lock:
        return turn.at
    last = min(turn.at, holds[number].end - 1)
    states = overlapping(told.states[turn.by], last, turn.at + 1)
    return last if len(list(states)) == 1 else turn.at


def _taken(told: Story, wait: Wait) -> int:
    """When the lock was, as far as that was seen: soon after the wait."""
    holds = told.holds.get(wait.thread, [])
    number = bisect_left(holds, wait.end, key=lambda hold: hold.at)
    found = holds[number : number + 1]
    if not found or found[0].lock != wait.lock:
        return wait.end
    states = overlapping(told.states[wait.thread], wait.end, found[0].at + 1)
    return found[0].at if len(list(states)) == 1 else wait.end


def _runs(told: Story, thread: int, at: int) -> bool:
    states = told.states.get(thread, [])
    return any(states[number].does == RUNS for number in overlapping(states, at, at + 1))


def _in_vain(told: Story, wait: Wait, later: Wait | None) -> bool:
    """It found the lock taken, and waits again at once: it did not release it meanwhile."""
    if not later or later.lock != wait.lock:
        return False
    states = told.states[wait.thread]
    between = list(overlapping(states, wait.end, later.at))
    if len(between) != 1:
        return False
    turns = told.turns[wait.lock]
    return not any(
        turns[number].by == wait.thread and turns[number].role != HOLDER
        for number in overlapping(turns, wait.end, later.at)
    )


def entries(told: Story, pid: int, program: str) -> Iterator[Entry]:
    yield trace_events.process(pid, program)
    for place, thread in enumerate(sorted(told.states)):
        yield trace_events.thread(pid, thread, told.names[thread])
        yield trace_events.order(pid, thread, place)
        yield from _in_order(_thread(told, pid, thread))
    yield from _arrows(told, pid)


def _in_order(spans: Iterable[Entry]) -> list[Entry]:
    """A slice comes before those that it contains."""
    return sorted((one for one in spans if one["dur"] > 0), key=lambda e: (e["ts"], -e["dur"]))


def text(seen: Seen, names: Names, program: str) -> str:
    return trace_events.document(entries(story.read(seen, names), seen.pid, program), "real time")


def lacks(seen: Seen) -> str:
    """What is not in it, in words."""
    if seen.by == "looks":
        return f"the timeline is empty: {seen.why}"
    lost = seen.lost.get("changes", 0)
    if not lost:
        return ""
    kept = len(seen.changes)
    if kept < MOST:
        return f"the timeline lacks {lost} of {kept + lost} changes, lost for want of space"
    seconds = (seen.changes[-1][1] - seen.changes[0][1]) / 1e9
    return f"the timeline ends after {seconds:.1f} s: it keeps {MOST} changes"
