# SPDX-License-Identifier: MIT
"""A run as a timeline for ui.perfetto.dev: a track per CPU, per virtual CPU and per context."""

from collections.abc import Iterator
from pathlib import Path

from overlock_tools.render import trace_events
from overlock_tools.render.trace_events import Entry
from overlock_tools.simulate.trace import PARKED, Trace
from overlock_tools.system import files

CPUS = 1  # the process of the physical CPUs; guests follow
US = 1e6  # in ps
NS = 1000


def write_perfetto(trace: Trace, path: Path) -> None:
    files.write(path, perfetto(trace))


def perfetto(trace: Trace) -> str:
    return trace_events.document(_entries(trace), "simulated time")


def _entries(trace: Trace) -> Iterator[Entry]:
    yield from _names(trace)
    yield from _cpus(trace)
    for context in trace.contexts:
        yield from _context(trace, context)
    yield from _arrows(trace)


def _process(trace: Trace, entity: int) -> int:
    return CPUS + 1 + trace.guest_of(entity)


def _track(trace: Trace, entity: int) -> tuple[int, int]:
    return _process(trace, entity), entity + 1


def _names(trace: Trace) -> Iterator[Entry]:
    yield trace_events.process(CPUS, "CPUs")
    for cpu in range(trace.physical):
        yield trace_events.thread(CPUS, cpu + 1, trace.cpu_name(cpu))
    for number, guest in enumerate(trace.guests):
        yield trace_events.process(CPUS + 1 + number, f"{guest['name']}: {guest['lock']}")
    for entity in (*trace.contexts, *trace.vcpus):
        pid, tid = _track(trace, entity)
        yield trace_events.thread(pid, tid, trace.name(entity))
        yield trace_events.order(pid, tid, tid)


def _cpus(trace: Trace) -> Iterator[Entry]:
    """Who runs there; a virtual CPU's track is among those of its guest."""
    for stay in trace.stays:
        virtual = stay.cpu >= trace.physical
        vcpu = trace.vcpus[stay.cpu - trace.physical] if virtual else 0
        track = _track(trace, vcpu) if virtual else (CPUS, stay.cpu + 1)
        args = {"ends": stay.why} if stay.why else {}
        if stay.end > stay.start:
            yield _span(track, trace.name(stay.who), stay.start, stay.end, cat="cpu", args=args)


def _context(trace: Trace, context: int) -> Iterator[Entry]:
    """Its states, and around them the waits: a slice must come before those that it contains."""
    track = _track(trace, context)
    waits = [
        (max(wait.start, trace.start), 0, wait.end, f"waits for {trace.lock_name(wait.lock)}")
        for wait in trace.waits_of.get(context, [])
    ]
    states = [(one.start, 1, one.end, one.state) for one in trace.segments[context]]
    for start, inner, end, name in sorted(waits + states):
        if end > start:
            yield _span(track, name, start, end, cat="state" if inner else "wait")


def _span(track: tuple[int, int], name: str, start: int, end: int, **more: object) -> Entry:
    return trace_events.span(track, name, start / US, end / US, **more)


def _arrows(trace: Trace) -> Iterator[Entry]:
    number = 0
    for one, later in trace.handovers:
        number += 1
        last = max(one.start, trace.start, one.end - NS)  # within the slice that ends
        tail, head = (*_track(trace, one.who), last / US), _place(trace, later.who, later.start)
        yield from trace_events.arrow("hand-over", number, tail, head)
    for kick in trace.kicks:
        sleep = trace.segment_at(kick.woken, kick.at)
        if not sleep or sleep.state != PARKED or sleep.end >= trace.end:
            continue
        number += 1
        tail, head = _place(trace, kick.by, kick.at), _place(trace, kick.woken, sleep.end)
        yield from trace_events.arrow("kick", number, tail, head)


def _place(trace: Trace, entity: int, time: int) -> tuple[int, int, float]:
    return *_track(trace, entity), time / US
