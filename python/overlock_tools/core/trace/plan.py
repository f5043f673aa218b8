# SPDX-License-Identifier: MIT
"""What is replayed of a trace: the locks that each thread takes, how long, and what is in between.

A replay must neither wait for ever nor for what is not there. So what has no counterpart is left
out, and its time is kept as work: acquisitions that are never released, or by another thread; those
of a mutex that the thread holds already; readers; and nested acquisitions against the order of most
others, with which two threads could wait for each other.
"""

import struct
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from overlock_tools.core.system.errors import Fail
from overlock_tools.core.trace import format as traces
from overlock_tools.core.trace.format import Thread, Trace

MAGIC = b"OLREPLY1"  # bench/workload/replay_format.h
MOST_THREADS = 1024
OP = np.dtype([("idle_ns", "u8"), ("work_ns", "u8"), ("lock", "u4"), ("kind", "u4")])
ACQUIRE, RELEASE, NOTHING = range(3)
LEFT_OUT = {
    "recursive": "acquisitions of a mutex that the thread held already",
    "readers": "acquisitions for reading",
    "failed": "attempts that failed",
    "unmatched": "acquisitions or releases without a counterpart in the thread",
    "against the order": "nested acquisitions that could deadlock",
}
Ops = npt.NDArray[np.void]
Edges = Counter[tuple[int, int]]  # (held, acquired)


@dataclass(frozen=True)
class Plan:
    threads: list[Thread]  # of the trace, in the order of `ops`
    ops: list[Ops]
    locks: list[int]  # the trace's numbers, in the plan's order
    duration_ns: int
    left_out: Counter[str] = field(default_factory=Counter)
    moved: tuple[int, int] = (0, 0)  # sleeps out of sections: how many, and ns

    def introduced(self, path: Path, trace: Trace) -> list[str]:
        head = (
            f"{path}: {trace.program}, {len(self.ops)} threads, {len(self.locks)} locks, "
            f"{trace.duration_ns / 1e9:.3g} s"
        )
        return [head, *self.told()]

    def told(self) -> list[str]:
        """What of the trace is replayed otherwise than it was."""
        lines = [
            f"left out, and replayed as work: {n} {LEFT_OUT[why]}"
            for why, n in self.left_out.items()
            if n and why != "failed"
        ]
        if self.moved[0]:
            n, ns = self.moved
            lines.append(f"moved behind their sections: {n} sleeps, {ns / 1e9:.3g} s in all")
        return lines


def _matched(kinds: list[int], locks: list[int], left_out: Counter[str]) -> dict[int, int]:
    """Where each acquisition that is kept is released."""
    held: dict[int, list[tuple[int, str]]] = {}
    pairs: dict[int, int] = {}
    for i, (kind, lock) in enumerate(zip(kinds, locks, strict=True)):
        if kind == traces.FAIL:
            left_out["failed"] += 1
        elif kind in (traces.ACQUIRE, traces.READ):
            why = "readers" if kind == traces.READ else "recursive" if held.get(lock) else ""
            held.setdefault(lock, []).append((i, why))
        elif not held.get(lock):
            left_out["unmatched"] += 1
        else:
            start, why = held[lock].pop()
            if why:
                left_out[why] += 1
            else:
                pairs[start] = i
    left_out["unmatched"] += sum(map(len, held.values()))
    return pairs


def _nested(pairs: dict[int, int], locks: list[int]) -> Iterator[tuple[int, list[int]]]:
    """Each acquisition, and the locks that the thread holds then."""
    held: list[int] = []
    ends = {end: start for start, end in pairs.items()}
    for i in sorted([*pairs, *ends]):
        if i in ends:
            held.remove(locks[i])
        else:
            yield i, held
            held.append(locks[i])


def ranks(edges: Edges) -> dict[int, int]:
    """An order of the locks that few acquisitions are against (Eades, Lin, Smyth 1993)."""
    after: dict[int, Counter[int]] = {}
    weight: Counter[int] = Counter()
    into: Counter[int] = Counter()
    for (held, acquired), n in edges.items():
        after.setdefault(held, Counter())[acquired] += n
        weight[held] += n
        weight[acquired] -= n
        into[acquired] += 1
    left = dict.fromkeys(sorted(weight))
    found: dict[int, int] = {}
    while left:
        free = [lock for lock in left if not into[lock]]
        for lock in free or [max(left, key=lambda lock: (weight[lock], -lock))]:
            del left[lock]
            found[lock] = len(found)
            for acquired, n in after.get(lock, Counter()).items():
                weight[acquired] += n
                into[acquired] -= 1
    return found


def _in_order(
    pairs: dict[int, int], locks: list[int], rank: dict[int, int], left_out: Counter[str]
) -> dict[int, int]:
    kept = dict(pairs)
    for i, held in _nested(pairs, locks):
        if any(rank[locks[i]] < rank[other] for other in held):
            del kept[i]
            left_out["against the order"] += 1
    return kept


@dataclass
class _Threaded:
    thread: Thread
    kinds: list[int]
    locks: list[int]
    pairs: dict[int, int]


def _ops(trace: Trace, one: _Threaded, number: Callable[[int], int]) -> Ops:
    events = trace.events_of(one.thread)
    idle, work, wait, at = (
        events[name].tolist() for name in ("idle_ns", "work_ns", "wait_ns", "at_ns")
    )
    ends = set(one.pairs.values())
    rows: list[tuple[int, int, int, int]] = []
    asleep, busy = one.thread.began_ns, 0
    for i, kind in enumerate(one.kinds):
        asleep += idle[i] + (wait[i] if kind == traces.FAIL else 0)
        busy += work[i]
        if i in one.pairs or i in ends:
            rows.append(
                (asleep, busy, number(one.locks[i]), ACQUIRE if i in one.pairs else RELEASE)
            )
            asleep = busy = 0
    if rows:
        rows.append((asleep + trace.duration_ns - min(at[-1], trace.duration_ns), busy, 0, NOTHING))
    return np.array(rows, OP)


def of(trace: Trace) -> Plan:
    left_out: Counter[str] = Counter()
    chosen = sorted(trace.threads, key=lambda t: -t.events)[:MOST_THREADS]
    threads = []
    edges: Edges = Counter()
    for thread in sorted(chosen, key=lambda t: t.first):
        events = trace.events_of(thread)
        kinds, locks = events["kind"].tolist(), events["lock"].tolist()
        pairs = _matched(kinds, locks, left_out)
        threads.append(_Threaded(thread, kinds, locks, pairs))
        for i, held in _nested(pairs, locks):
            edges.update((other, locks[i]) for other in held)
    rank = ranks(edges)
    numbers: dict[int, int] = {}
    plan = Plan([], [], [], trace.duration_ns, left_out)
    for one in threads:
        one.pairs = _in_order(one.pairs, one.locks, rank, left_out)
        ops = _ops(trace, one, lambda lock: numbers.setdefault(lock, len(numbers)))
        if len(ops):
            plan.threads.append(one.thread)
            plan.ops.append(ops)
    plan.locks.extend(numbers)
    if not plan.ops:
        raise Fail(f"the trace of {trace.program} has no section to replay: no lock is released")
    return plan


def _awake(ops: Ops) -> tuple[Ops, int, int]:
    """Sleeps within sections come after the outermost one; and how many, and how long they are."""
    found = ops.copy()
    steps = np.where(ops["kind"] == ACQUIRE, 1, np.where(ops["kind"] == RELEASE, -1, 0))
    held = np.cumsum(steps) - steps  # before each operation
    outside = np.flatnonzero(held == 0)
    asleep = np.flatnonzero((held > 0) & (ops["idle_ns"] > 0))
    found["idle_ns"][asleep] = 0
    behind = outside[np.searchsorted(outside, asleep)]
    np.add.at(found["idle_ns"], behind, ops["idle_ns"][asleep])
    return found, len(asleep), int(ops["idle_ns"][asleep].sum())


def awake_inside(plan: Plan) -> Plan:
    """For a kernel, whose threads must not sleep while they hold a spinlock."""
    made = [_awake(ops) for ops in plan.ops]
    moved = (sum(n for _, n, _ in made), sum(ns for _, _, ns in made))
    return replace(plan, ops=[ops for ops, _, _ in made], moved=moved)


def packed(plan: Plan) -> bytes:
    """As bench/workload/replay_format.h has it."""
    firsts, first = [], 0
    for ops in plan.ops:
        firsts += [first, len(ops)]
        first += len(ops)
    firsts += [0] * (2 * MOST_THREADS - len(firsts))
    head = MAGIC + struct.pack("=IIQ", len(plan.ops), len(plan.locks), first)
    return head + struct.pack(f"={len(firsts)}Q", *firsts) + b"".join(o.tobytes() for o in plan.ops)
