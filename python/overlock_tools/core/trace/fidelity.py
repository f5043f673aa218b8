# SPDX-License-Identifier: MIT
"""A replay, recorded again, beside the trace it was made of: order of locks, and shares of waiting.

Of the replay, each thread's first pass through the trace is compared.

What was left out of the replay is left out here, too. Bounds are stated before anything is
measured; a replay is within them or it is not.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from overlock_tools.core.trace import format as traces
from overlock_tools.core.trace import plan as plans
from overlock_tools.core.trace.format import Thread, Trace
from overlock_tools.core.trace.plan import Plan

NAME = "replay-"  # of a context's thread: bench/replay.h
FACTOR = np.uint64(0x9E3779B97F4A7C15)  # of the hash of guest/loads/module/loop.c
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Bounds:
    """Within these a replay reproduces its program."""

    in_order: float = 1.0  # least share of operations that are the trace's, in its order, by thread
    use: float = 0.05  # most that a lock's share of the acquisitions may differ
    waits: float = 0.15  # most that a lock's share of all waiting may differ
    waiting_factor: float = 2.0  # most that the share of time spent waiting may differ,
    waiting: float = 0.02  # unless by no more than this
    pace_factor: float = 1.5  # most that acquisitions per second may differ
    fewest_waits: int = 100  # in the recording and the replay: else their shares are left to chance


BOUNDS = Bounds()


@dataclass(frozen=True)
class Measures:
    acquisitions: int
    per_second: float
    contended: float  # share of the acquisitions that found the lock taken
    waited: int  # so many
    waiting: float  # share of the threads' time
    use: list[float]  # by lock, of the plan
    waits: list[float]


@dataclass(frozen=True)
class Compared:
    recorded: Measures
    replayed: Measures
    in_order: float

    @property
    def use(self) -> float:
        return _largest(self.recorded.use, self.replayed.use)

    @property
    def waits(self) -> float:
        return _largest(self.recorded.waits, self.replayed.waits)

    @property
    def pace(self) -> float:
        return self.replayed.per_second / max(self.recorded.per_second, 1e-9)

    def few_waits(self, bounds: Bounds = BOUNDS) -> bool:
        return min(self.recorded.waited, self.replayed.waited) < bounds.fewest_waits

    def misses(self, bounds: Bounds = BOUNDS) -> list[str]:
        """What is outside of the bounds."""
        a, b = self.recorded.waiting, self.replayed.waiting
        factor = max(a, b) / max(min(a, b), 1e-12)
        said = {
            "order": self.in_order >= bounds.in_order,
            "use": self.use <= bounds.use,
            "wait shares": self.waits <= bounds.waits or self.few_waits(bounds),
            "waiting": abs(a - b) <= bounds.waiting or factor <= bounds.waiting_factor,
            "pace": 1 / bounds.pace_factor <= self.pace <= bounds.pace_factor,
        }
        return [what for what, fine in said.items() if not fine]

    def to_json(self, shown: int) -> dict[str, Any]:
        """With the shares of the locks that were waited for longest."""
        found = asdict(self)
        longest = np.argsort(-np.array(self.recorded.waits), kind="stable")[:shown]
        for side in ("recorded", "replayed"):
            for shares in ("use", "waits"):
                found[side][shares] = [round(found[side][shares][i], 5) for i in longest]
        few = self.few_waits()
        return {**found, "use": self.use, "waits": self.waits, "pace": self.pace, "few": few}


def _largest(a: list[float], b: list[float]) -> float:
    return max((abs(x - y) for x, y in zip(a, b, strict=True)), default=0.0)


def _shares(of: Array) -> list[float]:
    total = float(of.sum())
    return [float(x) / total if total else 0.0 for x in of]


def _measures(acquired: Array, locks: Array, n: int, thread_ns: float, ns: float) -> Measures:
    """`locks` are the plan's numbers; waits are those for somebody, and no call's own time."""
    waits = np.where(acquired["whom"] != 0, acquired["wait_ns"], 0).astype(np.float64)
    return Measures(
        len(acquired),
        len(acquired) / ns * 1e9 if ns else 0.0,
        float((acquired["whom"] != 0).mean()) if len(acquired) else 0.0,
        int((acquired["whom"] != 0).sum()),
        float(waits.sum()) / thread_ns if thread_ns else 0.0,
        _shares(np.bincount(locks, minlength=n)),
        _shares(np.bincount(locks, weights=waits, minlength=n)),
    )


def recorded(trace: Trace, plan: Plan) -> Measures:
    """All acquisitions of the plan's locks by its threads."""
    number = np.full(max(len(trace.locks), 1), -1)
    number[plan.locks] = np.arange(len(plan.locks))
    parts, alive = [], 0.0
    for thread in plan.threads:
        events = trace.events_of(thread)
        parts.append(events[events["kind"] == traces.ACQUIRE])
        alive += float(events["at_ns"][-1]) - thread.began_ns
    acquired = np.concatenate(parts)
    locks = number[acquired["lock"]]
    kept = locks >= 0
    return _measures(acquired[kept], locks[kept], len(plan.locks), alive, float(trace.duration_ns))


def alone(trace: Trace) -> Measures:
    """All acquisitions."""
    acquired = trace.events[trace.events["kind"] == traces.ACQUIRE]
    lives = (
        float(trace.events_of(thread)["at_ns"][-1]) - thread.began_ns
        for thread in trace.threads
        if thread.events
    )
    return _measures(
        acquired, acquired["lock"], len(trace.locks), sum(lives), float(trace.duration_ns)
    )


def _matched(trace: Trace, plan: Plan) -> list[Thread | None]:
    named = {thread.name: thread for thread in trace.threads if thread.events}
    return [named.get(f"{NAME}{i}") for i in range(len(plan.threads))]


def _first_pass(trace: Trace, thread: Thread, ops: Array) -> Array:
    return trace.events_of(thread)[: int((ops["kind"] != plans.NOTHING).sum())]


def _prefix(events: Array, ops: Array, found: dict[int, int]) -> tuple[int, int]:
    """How many operations are the plan's, in its order; and how many there are."""
    wanted = ops[ops["kind"] != plans.NOTHING]
    repeated = np.resize(wanted, len(events))
    kinds = np.where(events["kind"] == traces.ACQUIRE, plans.ACQUIRE, plans.RELEASE)
    same = (repeated["kind"] == kinds) & (events["kind"] != traces.FAIL)
    taken = set(found.values())
    for lock, there in dict.fromkeys(
        zip(repeated["lock"].tolist(), events["lock"].tolist(), strict=True)
    ):
        if lock not in found and there not in taken:
            found[lock] = there
            taken.add(there)
    is_now = np.array([found.get(lock, -1) for lock in range(int(wanted["lock"].max()) + 1)])
    same &= is_now[repeated["lock"]] == events["lock"]
    wrong = np.flatnonzero(~same)
    return int(wrong[0]) if len(wrong) else len(events), len(events)


def compare(trace: Trace, plan: Plan, again: Trace) -> Compared:
    """`again` is the recording of a replay of the plan."""
    found: dict[int, int] = {}  # the lock of `again` for each of the plan's
    fine = total = 0
    parts, began, ended, alive = [], [], [], 0.0
    for thread, ops in zip(_matched(again, plan), plan.ops, strict=True):
        if not thread:
            total += len(ops)
            continue
        events = _first_pass(again, thread, ops)
        good, n = _prefix(events, ops, found)
        fine, total = fine + good, total + n
        parts.append(events[events["kind"] == traces.ACQUIRE])
        began.append(thread.began_ns)
        ended.append(int(events["at_ns"][-1]))
        alive += ended[-1] - began[-1]
    number = np.full(max(len(again.locks), 1), -1)
    for lock, there in found.items():
        number[there] = lock
    acquired = np.concatenate(parts) if parts else again.events[:0]
    locks = number[acquired["lock"]]
    kept = locks >= 0
    span = float(max(ended, default=0) - min(began, default=0))
    replayed = _measures(acquired[kept], locks[kept], len(plan.locks), alive, span)
    return Compared(recorded(trace, plan), replayed, fine / total if total else 0.0)


# Replays in a guest's kernel, which counts itself: guest/loads/module/telling.c.


def hash_of(ops: Array) -> int:
    """Of locks and releases in their order, modulo 2^64."""
    steps = 2 * ops["lock"].astype(np.uint64) + (ops["kind"] == plans.RELEASE) + np.uint64(1)
    powers = np.ones(len(ops), np.uint64)
    powers[1:] = np.multiply.accumulate(np.full(max(len(ops) - 1, 0), FACTOR))
    return int((steps * powers[::-1]).sum(dtype=np.uint64))


def _in_order(plan: Plan, done: list[list[int]]) -> float:
    """Share of the operations that were done by threads which did theirs, in order."""
    fine = total = 0
    for ops, (n, hashed, *_) in zip(plan.ops, done, strict=True):
        wanted = ops[ops["kind"] != plans.NOTHING]
        total += n
        if n <= len(wanted) and hash_of(wanted[:n]) == hashed:
            fine += n
    return fine / total if total else 0.0


def _check_counts(rows: list[list[int]]) -> None:
    if any(type(n) is not int or n < 0 for row in rows for n in row):
        raise ValueError("a count or time of a replay is no whole number")


def in_guest(plan: Plan, before: Measures, said: Mapping[str, Any]) -> Compared:
    """Of first passes; `before` is recorded(). A ValueError or so says that the guest is wrong."""
    done = said["threads"]
    _check_counts([*said["locks"], *(thread[:4] for thread in done)])
    if any(thread[3] < thread[2] for thread in done):
        raise ValueError("a thread of a replay ended before it began")
    taken, waits, waited = (np.zeros(len(plan.locks), np.uint64) for _ in range(3))
    for lock, *counts in said["locks"]:
        if lock >= len(plan.locks):
            raise ValueError(f"there is no lock {lock}")
        taken[lock], waits[lock], waited[lock] = counts
    n, span = int(taken.sum()), max(t[3] for t in done) - min(t[2] for t in done)
    alive = sum(t[3] - t[2] for t in done)
    after = Measures(
        n,
        n / span * 1e9 if span else 0.0,
        int(waits.sum()) / n if n else 0.0,
        int(waits.sum()),
        int(waited.sum()) / alive if alive else 0.0,
        _shares(taken),
        _shares(waited),
    )
    return Compared(before, after, _in_order(plan, done))
