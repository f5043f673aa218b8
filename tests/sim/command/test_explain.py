# SPDX-License-Identifier: MIT
"""Explanations are true: each claim is checked against the events, and lies are caught."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from overlock_tools.core.system.errors import Fail
from overlock_tools.sim import explain, resolve, scenario, svg, telling
from overlock_tools.sim import trace as traces_of
from overlock_tools.sim.trace import Trace
from tests.conftest import TOP
from tests.sim.command.traces import US, answer, story, vm
from tests.sim.command.witness import Witness

LONG = {"sections_cs": 200_000, "sections_ncs": 300_000, "sections_shape": 2}
CASES: dict[str, Callable[[], Any]] = {
    "fifo": lambda: answer([vm("ticket", 4, parameters=LONG)], cpus=3, ms=80),
    "parks": lambda: answer([vm("pv_ticket", 5, parameters=LONG)], ms=80),
    "unfair": lambda: answer([vm("tas", 5, parameters=LONG)], ms=80),
    "overtakes": lambda: answer([vm("preemptable_ticket", 4, parameters=LONG)], cpus=3, ms=80),
    "yields": lambda: answer([vm("tas_yield", 5, kind="threads", parameters=LONG)], ms=80),
    "quota": lambda: answer(
        [vm("ticket", 2, quota_us=20_000, period_us=50_000, parameters=LONG)], ms=120
    ),
    "guests": lambda: answer(
        [vm("ticket", 3, parameters=LONG), {"name": "neighbour", "contexts": 2}], cpus=3, ms=80
    ),
    "two levels": lambda: answer(
        [
            vm("ticket", 4, kind="users", vcpus=2, parameters=LONG),
            {"name": "neighbour", "contexts": 1},
        ],
        ms=120,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_explanations_are_true(case: str) -> None:
    told = CASES[case]()["trace"]
    trace, witness = Trace(told), Witness(told)
    for wait in explain.worst(trace, 4):
        witness.check(explain.story(trace, wait))


def test_the_words() -> None:
    text = explain.explain(Trace(story()))
    assert text == (
        "vCPU 3 waited 96.0 µs for lock 0 (ticket), from 0.003 ms to 0.099 ms. "
        "When it came, vCPU 1 held the lock, and 1 other waited.\n"
        "- At 0.003 ms vCPU 1 held the lock and ran, for 7.00 µs.\n"
        "- At 0.005 ms vCPU 2, next in line from 0.010 ms, lost CPU 1 to vCPU 4 (its slice "
        "ended), and got CPU 1 back 90.0 µs later. That took 85.0 µs of the wait; the lock was "
        "free meanwhile.\n"
        "- At 0.095 ms vCPU 2 was next; it took 1.00 µs to get the free lock.\n"
        "- At 0.096 ms vCPU 2 held the lock and ran, for 2.00 µs.\n"
        "- At 0.098 ms vCPU 3 was next; it took 1.00 µs to get the free lock.\n"
        "The wait was 88.5 % lock-waiter preemption, 9.4 % queueing and "
        "2.1 % hand-overs and wake-ups.\n"
    )
    Witness(story()).check(text)


def test_a_wait_is_found_by_its_time() -> None:
    trace = Trace(story())
    assert explain.waiting_at(trace, 50 * US).who == 2
    assert explain.explain(trace, at=int(2.5 * US)).startswith("vCPU 2 waited")
    with pytest.raises(Fail, match=r"no context waits for a lock at 0\.105 ms"):
        explain.explain(trace, at=105 * US)


def test_the_k_worst_are_told_apart() -> None:
    told = explain.explain(Trace(story()), 3).split("\n\n")
    assert [text.split(" waited")[0] for text in told] == ["vCPU 3", "vCPU 2"]


def test_causes_fill_the_wait() -> None:
    for case in CASES.values():
        trace = traces_of.of(case())
        for wait in explain.worst(trace, 4):
            parts = explain.pieces(trace, wait)
            assert [p.start for p in parts] == [wait.start, *(p.end for p in parts[:-1])]
            assert parts[-1].end == wait.end


@pytest.mark.parametrize(
    ("ps", "said"),
    [
        (0, "0"),
        (999, "999 ps"),
        (74_000, "74.0 ns"),
        (9_995_000_000, "9.99 ms"),
        (10**12, "1.00 s"),
        (123_456_000_000, "123 ms"),
    ],
)
def test_durations_have_three_digits(ps: int, said: str) -> None:
    assert explain.duration(ps) == said


# Explanations that are wrong in one way each.


def _names_the_next(patch: pytest.MonkeyPatch) -> None:
    right = Trace.name
    patch.setattr(Trace, "name", lambda t, e: right(t, (e + 1) % len(t.contexts)))


def _blames_another_cpu(patch: pytest.MonkeyPatch) -> None:
    right = Trace._loss
    patch.setattr(Trace, "_loss", lambda t, w, s: replace(right(t, w, s), cpu=(s.cpu + 1) % 3))


def _names_another_taker(patch: pytest.MonkeyPatch) -> None:
    right = Trace._loss
    patch.setattr(Trace, "_loss", lambda t, w, s: replace(right(t, w, s), by=0))


def _gives_another_reason(patch: pytest.MonkeyPatch) -> None:
    right = Trace._loss
    patch.setattr(Trace, "_loss", lambda t, w, s: replace(right(t, w, s), why="preempted"))


def _is_back_too_early(patch: pytest.MonkeyPatch) -> None:
    right = Trace._loss
    patch.setattr(Trace, "_loss", lambda t, w, s: replace(right(t, w, s), until=s.end + US))


def _takes_waiters_for_holders(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(explain, "_next", lambda waiter, itself: explain._holding(waiter))


def _calls_everything_queueing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(explain, "_next", lambda waiter, itself: explain.QUEUE)


def _counts_nobody(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(explain, "_found", lambda t, w: "When it came, the lock was free, and no other")


def _picks_another_wait(patch: pytest.MonkeyPatch) -> None:
    right = explain._opening
    patch.setattr(explain, "_opening", lambda t, w: right(t, replace(w, start=w.start + US)))


LIES = [
    _names_the_next,
    _blames_another_cpu,
    _names_another_taker,
    _gives_another_reason,
    _is_back_too_early,
    _takes_waiters_for_holders,
    _calls_everything_queueing,
    _counts_nobody,
    _picks_another_wait,
]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__.lstrip("_"))
def test_lies_are_caught(lie: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    lie(monkeypatch)
    text = explain.explain(Trace(story()))
    with pytest.raises((AssertionError, ValueError)):
        Witness(story()).check(text)


@pytest.mark.parametrize("lock", ["ticket", "preemptable_ticket"])
def test_the_ready_scenario_shows_what_the_docs_say(lock: str) -> None:
    """If this fails, because costs or schedulers have changed: another seed, and the docs anew."""
    said = [("locks", [lock], "--lock")]
    places = resolve.places(scenario.load("waiter-preemption", said))
    traced = traces_of.of(telling._simulated(telling._only(places), (10, 22), 60))
    [wait] = explain.worst(traced)
    cause = next(iter(explain.shares(explain.pieces(traced, wait))))
    assert cause == (explain.WAITER if lock == "ticket" else explain.OWN)
    text = (TOP / "docs/simulator.md").read_text()
    assert explain.story(traced, wait) in text
    assert svg.svg(traced, title=lock) == (TOP / f"docs/img/simulator-{lock}.svg").read_text()
