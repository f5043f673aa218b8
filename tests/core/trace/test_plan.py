# SPDX-License-Identifier: MIT
"""What is replayed of made-up traces: the same order; nothing that could wait for ever."""

import random
import struct
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from overlock_tools.core.system.errors import Fail
from overlock_tools.core.trace import fidelity, mix, plan
from overlock_tools.core.trace.format import ACQUIRE, FAIL, READ, RELEASE, WAIT, Trace
from tests.core.trace.made_up import Step, made_up


def ops_of(made: plan.Plan, thread: int) -> list[tuple[int, int, int]]:
    """Kind, the trace's lock, work."""
    return [
        (int(op["kind"]), made.locks[int(op["lock"])], int(op["work_ns"]))
        for op in made.ops[thread]
        if op["kind"] != plan.NOTHING
    ]


def test_a_thread_s_order_and_lengths_are_kept() -> None:
    steps = [(ACQUIRE, 1, 5), (ACQUIRE, 2, 6), (RELEASE, 2, 7), (RELEASE, 1, 8), (ACQUIRE, 2, 9)]
    made = plan.of(made_up([[*steps, (RELEASE, 2, 3)]]))
    assert ops_of(made, 0) == [
        (plan.ACQUIRE, 1, 5),
        (plan.ACQUIRE, 2, 6),
        (plan.RELEASE, 2, 7),
        (plan.RELEASE, 1, 8),
        (plan.ACQUIRE, 2, 9),
        (plan.RELEASE, 2, 3),
    ]
    assert not made.told()


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ([(ACQUIRE, 0, 1), (ACQUIRE, 0, 1), (RELEASE, 0, 1), (RELEASE, 0, 1)], "recursive"),
        ([(READ, 1, 1), (ACQUIRE, 0, 1), (RELEASE, 0, 1), (RELEASE, 1, 1)], "readers"),
        ([(RELEASE, 1, 2), (ACQUIRE, 0, 1), (RELEASE, 0, 1)], "unmatched"),
        ([(ACQUIRE, 1, 2), (ACQUIRE, 0, 1), (RELEASE, 0, 1)], "unmatched"),
        ([(FAIL, 1, 2), (ACQUIRE, 0, 1), (RELEASE, 0, 1)], "failed"),
    ],
)
def test_what_has_no_counterpart_is_work(steps: list[Step], why: str) -> None:
    made = plan.of(made_up([steps]))
    assert [kind for kind, _, _ in ops_of(made, 0)] == [plan.ACQUIRE, plan.RELEASE]
    assert {k: n for k, n in made.left_out.items() if n} == {why: 1}
    assert sum(int(op["work_ns"]) for op in made.ops[0]) == sum(work for _, _, work in steps)


def test_a_wait_for_a_condition_is_a_release_and_an_acquisition() -> None:
    made = plan.of(made_up([[(ACQUIRE, 0, 1), (WAIT, 0, 1), (ACQUIRE, 0, 1), (RELEASE, 0, 1)]]))
    assert [kind for kind, _, _ in ops_of(made, 0)] == [plan.ACQUIRE, plan.RELEASE] * 2


def nested(outer: int, inner: int) -> list[Step]:
    return [(ACQUIRE, outer, 1), (ACQUIRE, inner, 1), (RELEASE, inner, 1), (RELEASE, outer, 1)]


def test_locks_in_both_orders_cannot_deadlock() -> None:
    """The rarer order is left out, and with it only the inner acquisition."""
    made = plan.of(made_up([nested(0, 1) * 3, nested(1, 0) * 2]))
    assert made.left_out["against the order"] == 2
    assert len(ops_of(made, 0)) == 12
    assert [lock for _, lock, _ in ops_of(made, 1)] == [1, 1] * 2


def has_cycle(made: plan.Plan) -> bool:
    edges: dict[int, set[int]] = {}
    for ops in made.ops:
        held: list[int] = []
        for op in ops:
            lock = int(op["lock"])
            if op["kind"] == plan.ACQUIRE:
                for other in held:
                    edges.setdefault(other, set()).add(lock)
                held.append(lock)
            elif op["kind"] == plan.RELEASE:
                held.remove(lock)
    left = set(edges)
    while left:
        free = {lock for lock in left if not edges[lock] & left}
        if not free:
            return True
        left -= free
    return False


@pytest.mark.parametrize("seed", range(20))
def test_no_cycle_is_left(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - no secret
    threads = []
    for _ in range(4):
        steps: list[Step] = []
        for _ in range(60):
            locks = draw.sample(range(6), draw.randint(1, 4))
            ends = draw.sample(locks, len(locks))
            steps += [(ACQUIRE, lock, 1) for lock in locks]
            steps += [(RELEASE, lock, 1) for lock in ends]
        threads.append(steps)
    made = plan.of(made_up(threads))
    assert not has_cycle(made)
    kept = sum(len(ops_of(made, n)) for n in range(4)) // 2
    total = sum(len(steps) for steps in threads) // 2
    assert kept + made.left_out["against the order"] == total
    assert kept > total / 2


def test_ranks_of_locks_without_cycles_are_their_order() -> None:
    edges = Counter({(3, 1): 1, (1, 2): 5, (3, 2): 1})
    rank = plan.ranks(edges)
    assert all(rank[a] < rank[b] for a, b in edges)
    assert all(rank[a] < rank[b] for a, b in pairwise([3, 1, 2]))


def test_without_a_section_there_is_nothing_to_replay() -> None:
    with pytest.raises(Fail, match="no section to replay"):
        plan.of(made_up([[(ACQUIRE, 0, 1)]]))


ROWS = [
    (7, 1, 0, plan.ACQUIRE),
    (20, 1, 1, plan.ACQUIRE),
    (30, 1, 1, plan.RELEASE),
    (40, 1, 0, plan.RELEASE),
    (5, 1, 1, plan.ACQUIRE),
    (0, 1, 1, plan.RELEASE),
    (6, 0, 0, plan.NOTHING),
]


def planned(*threads: list[tuple[int, int, int, int]]) -> plan.Plan:
    return plan.Plan([], [np.array(rows, plan.OP) for rows in threads], [0, 1], 100)


def test_a_kernel_s_thread_sleeps_behind_its_sections() -> None:
    made = plan.awake_inside(planned(ROWS, ROWS[4:]))
    assert made.ops[0]["idle_ns"].tolist() == [7, 0, 0, 0, 95, 0, 6]
    assert made.ops[1]["idle_ns"].tolist() == [5, 0, 6]
    assert made.told() == ["moved behind their sections: 3 sleeps, 9e-08 s in all"]
    for name in ("work_ns", "lock", "kind"):
        assert made.ops[0][name].tolist() == planned(ROWS).ops[0][name].tolist()
    assert not plan.awake_inside(planned(ROWS[4:])).told()


def done(rows: list[tuple[int, int, int, int]], began: int, ended: int) -> list[int]:
    """As guest/loads/module/loop.c counts it."""
    hashed, n = 0, 0
    for _, _, lock, kind in rows:
        if kind != plan.NOTHING:
            step = 2 * lock + (kind == plan.RELEASE) + 1
            hashed, n = (hashed * 0x9E3779B97F4A7C15 + step) % 2**64, n + 1
    return [n, hashed, began, ended, 1]


BEFORE = fidelity.Measures(4, 1.0, 0.5, 2, 0.1, [0.5, 0.5], [1.0, 0.0])


def test_a_guest_counts_its_replay_itself() -> None:
    said = {
        "locks": [[0, 1, 1, 30], [1, 3, 1, 10]],
        "threads": [done(ROWS, 100, 300), done(ROWS[4:5], 150, 350)],
    }
    found = fidelity.in_guest(planned(ROWS, ROWS[4:]), BEFORE, said)
    assert found.in_order == 1
    assert found.replayed.waits == [0.75, 0.25]
    assert found.replayed.use == [0.25, 0.75]
    assert (found.replayed.acquisitions, found.replayed.waited) == (4, 2)
    assert found.replayed.waiting == 40 / 400
    assert found.replayed.per_second == 4 / 250e-9


def test_a_guest_s_threads_that_did_others_work_are_not_in_order() -> None:
    other = [ROWS[1], ROWS[0], *ROWS[2:]]
    for threads, share in (((other, ROWS[4:]), 2 / 8), ((ROWS * 2, ROWS[4:]), 2 / 14)):
        said = {"locks": [], "threads": [done(rows, 0, 9) for rows in threads]}
        assert fidelity.in_guest(planned(ROWS, ROWS[4:]), BEFORE, said).in_order == share


@pytest.mark.parametrize(
    "said",
    [
        {"locks": [[2, 1, 0, 0]], "threads": [done(ROWS, 0, 9)]},
        {"locks": [[-1, 1, 0, 0]], "threads": [done(ROWS, 0, 9)]},
        {"locks": [[0, 1]], "threads": [done(ROWS, 0, 9)]},
        {"locks": [[0, 1.5, 0, 0]], "threads": [done(ROWS, 0, 9)]},
        {"locks": [], "threads": [done(ROWS, 9, 0)]},
        {"locks": [], "threads": [done(ROWS, 0, 9)] * 2},
        {"locks": [[0, -1, 0, 0]], "threads": [done(ROWS, 0, 9)]},
        {"locks": [], "threads": []},
        {"locks": []},
    ],
)
def test_what_a_guest_cannot_have_counted_is_refused(said: dict[str, Any]) -> None:
    with pytest.raises((ValueError, LookupError, ArithmeticError)):
        fidelity.in_guest(planned(ROWS), BEFORE, said)


def test_the_plan_s_file() -> None:
    made = plan.of(made_up([nested(0, 1), nested(0, 1)]))
    raw = plan.packed(made)
    assert struct.unpack_from("=8sIIQQQQQ", raw) == (b"OLREPLY1", 2, 2, 10, 0, 5, 5, 5)
    assert len(raw) == 24 + 1024 * 16 + 10 * 24


def again(trace: Trace, made: plan.Plan, *swapped: int) -> Trace:
    """As a replay of it would be recorded, with two steps of thread 0 exchanged."""
    threads = [
        [
            (ACQUIRE if kind == plan.ACQUIRE else RELEASE, 10 - lock, work)
            for kind, lock, work in ops_of(made, n)
        ]
        for n in range(len(made.ops))
    ]
    for i in swapped:
        threads[0][i], threads[0][i + 2] = threads[0][i + 2], threads[0][i]
    found = made_up(threads, 11)
    named = (
        type(thread)(f"replay-{n}", *list(vars(thread).values())[1:])
        for n, thread in enumerate(found.threads)
    )
    return type(found)(**(vars(found) | {"threads": tuple(named)}))


def test_a_replay_in_order_is_found_to_be() -> None:
    steps = [
        (ACQUIRE, i % 3, 10) if not k else (RELEASE, i % 3, 5) for i in range(30) for k in (0, 1)
    ]
    trace = made_up([steps, steps])
    made = plan.of(trace)
    same = fidelity.compare(trace, made, again(trace, made))
    assert (same.in_order, same.use, same.misses()) == (1.0, 0, [])
    assert same.pace == pytest.approx(1)
    other = fidelity.compare(trace, made, again(trace, made, 20, 21))
    assert other.in_order == (20 + 60) / 120
    assert "order" in other.misses()


def test_a_trace_as_a_mix() -> None:
    """Outermost sections; lengths by doublings; what is nested is a part of its section."""
    found = mix.of(made_up([nested(0, 1) * 3 + [(ACQUIRE, 2, 100), (RELEASE, 2, 1000)]]))
    rows = {row["name"]: row for row in found["lock"]}
    assert len(rows) == 2
    assert sorted(row["weight"] for row in rows.values()) == [250_000, 750_000]
    lengths = [row["section"]["bins_ns"] for row in found["lock"]]
    assert lengths == [[[512, 1023, 10_000]], [[2, 3, 10_000]]]
    assert found["think"]["bins_ns"] == [[1, 1, 7500], [64, 127, 2500]]
    assert "wait" not in found
