# SPDX-License-Identifier: MIT
"""A run as a timeline for ui.perfetto.dev: a track per CPU, per virtual CPU and per context."""

from collections.abc import Iterator
from pathlib import Path

from overlock_tools.core.render import trace_events
from overlock_tools.core.render.trace_events import Entry
from overlock_tools.core.system import files
from overlock_tools.sim.trace import PARKED, Trace

# The process of the physical CPUs; guests follow. Perfetto takes a track whose number is its
# process's for the main thread, and puts it first.
CPUS = 10_000
PS = 1000  # in a nanosecond
NS = 1000  # in a microsecond


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
        yield from _track_named(CPUS, cpu + 1, trace.cpu_name(cpu))
    for number, guest in enumerate(trace.guests):
        lock = "" if guest["lock"] == "none" else f": {guest['lock']}"
        yield trace_events.process(CPUS + 1 + number, guest["name"] + lock)
    for entity in (*trace.contexts, *trace.vcpus):
        yield from _track_named(*_track(trace, entity), trace.name(entity))


def _track_named(pid: int, tid: int, name: str) -> Iterator[Entry]:
    yield trace_events.thread(pid, tid, name)
    yield trace_events.order(pid, tid, tid)


def _cpus(trace: Trace) -> Iterator[Entry]:
    """Who runs there; a virtual CPU's track is among those of its guest."""
    for stay in trace.stays:
        virtual = stay.cpu >= trace.physical
        vcpu = trace.vcpus[stay.cpu - trace.physical] if virtual else 0
        track = _track(trace, vcpu) if virtual else (CPUS, stay.cpu + 1)
        args = {"ends": stay.why} if stay.why else {}
        yield from _span(track, trace.name(stay.who), stay.start, stay.end, cat="cpu", args=args)


def _context(trace: Trace, context: int) -> Iterator[Entry]:
    """Its states, and around them the waits: a slice must come before those that it contains."""
    track = _track(trace, context)
    waits = [
        (max(wait.start, trace.start), 0, wait.end, f"waits for {trace.lock_name(wait.lock)}")
        for wait in trace.waits_of.get(context, [])
    ]
    states = [(one.start, 1, one.end, one.state) for one in trace.segments[context]]
    for start, inner, end, name in sorted(waits + states):
        yield from _span(track, name, start, end, cat="state" if inner else "wait")


def _span(
    track: tuple[int, int], name: str, start: int, end: int, **more: object
) -> Iterator[Entry]:
    """Of whole ns: Perfetto rounds begin and length by themselves, and drops what overlaps."""
    first, last = _ns(start), _ns(end)
    if last > first:
        entry = trace_events.span(track, name, first / NS, last / NS, **more)
        yield {**entry, "dur": (last - first) / NS}


def _ns(ps: int) -> int:
    return round(ps / PS)


def _arrows(trace: Trace) -> Iterator[Entry]:
    number = 0
    for one, later in trace.handovers:
        number += 1
        last = max(one.start, trace.start, one.end - PS)  # within the slice that ends
        tail, head = _place(trace, one.who, last), _place(trace, later.who, later.start)
        yield from trace_events.arrow("hand-over", number, tail, head)
    for kick in trace.kicks:
        sleep = trace.segment_at(kick.woken, kick.at)
        if not sleep or sleep.state != PARKED or sleep.end >= trace.end:
            continue
        number += 1
        tail, head = _place(trace, kick.by, kick.at), _place(trace, kick.woken, sleep.end)
        yield from trace_events.arrow("kick", number, tail, head)


def _place(trace: Trace, entity: int, time: int) -> tuple[int, int, float]:
    return *_track(trace, entity), _ns(time) / NS
