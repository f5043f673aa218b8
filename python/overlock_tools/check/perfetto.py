# SPDX-License-Identifier: MIT
"""Executions as a timeline for ui.perfetto.dev."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from overlock_tools.check.outcome import Event, Outcome
from overlock_tools.check.source import Lines
from overlock_tools.core.render import trace_events
from overlock_tools.core.render.trace_events import Entry


def trace(outcomes: Sequence[Outcome]) -> str:
    """A process for each counterexample, a thread for each context, a counter for each word."""
    entries: list[Entry] = []
    for pid, outcome in enumerate(outcomes, 1):
        entries += _execution(outcome, pid)
    return trace_events.document(entries, "one microsecond per step", indent=1)


def _execution(outcome: Outcome, pid: int) -> Iterator[Entry]:
    failure = outcome.failure
    if not failure or not failure.events:
        return
    job, events = outcome.job, failure.events
    title = f"{job.subject.shown} {job.scenario} {job.model} {job.size}: {failure.property}"
    yield trace_events.process(pid, title)
    for context in range(1, max(len(event.state) for event in events) + 1):
        yield trace_events.thread(pid, context, f"T{context}")
        yield from _states(events, pid, context)
    lines = Lines(job.subject)
    for event in events:
        yield _step(event, pid, lines)
        yield from _word(event, pid)
    last = events[-1]
    yield {
        "name": failure.property,
        "ph": "i",
        "ts": _ended(last),
        "pid": pid,
        "tid": last.number,
        "s": "p",
        "cat": "failure",
        "args": {"how": failure.how, "replay": failure.replay},
    }


def _began(event: Event) -> int:
    """Steps are counted from 1, times from 0."""
    return event.n - 1


def _ended(event: Event) -> int:
    return event.n


def _states(events: Sequence[Event], pid: int, context: int) -> Iterator[Entry]:
    """Slices of equal state; what an event says of it holds until the next event."""
    changes = [*_merged(_changes(events, context)), (_ended(events[-1]) + 1, "done")]
    for (since, state), (until, _) in pairwise(changes):
        if state != "done":
            yield trace_events.span((pid, context), state, since, until, cat="state")


def _changes(events: Sequence[Event], context: int) -> Iterator[tuple[int, str]]:
    yield _began(events[0]), "runs"
    for event in events:
        if event.by_itself and event.number == context:
            yield _began(event), "runs"  # whatever it did before: it takes a step
        if context <= len(event.state):
            yield _ended(event), event.state[context - 1]


def _merged(changes: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    """Without those that last for no time or change nothing."""
    found: list[tuple[int, str]] = []
    for time, state in changes:
        if found and found[-1][0] == time:
            found.pop()
        if not found or found[-1][1] != state:
            found.append((time, state))
    return found


def _step(event: Event, pid: int, lines: Lines) -> Entry:
    """Nested in the slice of the state."""
    name = " ".join(filter(None, [event.op or event.what, event.order, event.object]))
    told = {
        "what": event.what,
        "line": f"{event.file}:{event.line}" if event.line else "",
        "source": lines.text(event.file, event.line) if event.line else "",
        "old": event.old,
        "new": event.new,
        "mark": event.mark,
    }
    began, args = _began(event), {k: v for k, v in told.items() if v}
    return trace_events.span((pid, event.number), name, began, began + 1, cat="step", args=args)


def _word(event: Event, pid: int) -> Iterator[Entry]:
    """What the word holds after the step, where that is a number."""
    value = event.new or event.old
    if not event.object or not value:
        return
    try:
        number = int(value, 0)
    except ValueError:
        return
    at = {"ts": _ended(event), "pid": pid, "tid": 0}
    yield {"name": event.object, "ph": "C", "cat": "word", **at, "args": {"value": number}}
