# SPDX-License-Identifier: MIT
"""What a cell's answer says, on locks whose faults are planted and known."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bench.measuring.conftest import STRIDE, Answer, Bench, started
from tests.processes import until

Planted = Callable[[str], str]
SLOW_NS = 2000  # what every_eighth.h adds
# It grants nothing after its first moments. A machine that stood still for a second of the two
# would be an alarm for nothing.
DEAD_END = "workload=sections variant=dead_end threads=2 seconds=2"


def slow_share(latency: dict[str, list[int]]) -> float:
    """The part of all acquisitions that took as long as the planted ones."""
    pairs = list(zip(latency["ns"], latency["weight"], strict=True))
    return sum(weight for ns, weight in pairs if ns >= SLOW_NS) / sum(latency["weight"])


def sampled(planted: Planted, program: Path | None = None) -> Answer:
    chosen = {"program": program} if program else {}
    with started(planted("every_eighth"), **chosen) as bench:
        return bench.ask(
            "workload=sections variant=every_eighth threads=1 turns=1000000 seconds=600 seed=1"
        )


def test_a_periodic_tail_is_seen(planted: Planted) -> None:
    """A million turns take a quarter of a second at least, and a sample is due every 50 us. Of 4000
    samples, the eighth is beyond these bounds once in 10^10."""
    latency = sampled(planted)["latency"]
    assert len(latency["ns"]) > 4000
    assert 0.09 < slow_share(latency) < 0.17


def test_a_sampler_with_a_stride_misses_it(planted: Planted) -> None:
    latency = sampled(planted, STRIDE)["latency"]
    assert len(latency["ns"]) > 4000
    assert slow_share(latency) < 0.02


def test_weights_stand_for_all_acquisitions(bench: Bench) -> None:
    cell = bench.ask("workload=sections variant=tas_yield threads=2 turns=500000 seed=1")
    assert 0.8 < sum(cell["latency"]["weight"]) / cell["acquisitions"] < 1.25


def test_samples_are_bounded_however_long_it_takes(planted: Planted) -> None:
    """By its work alone this takes some 20 ms, but the lock makes it ten times as long."""
    line = "workload=sections variant=every_eighth turns=1000000 seconds=60 cs=10 ncs=10 seed=1"
    with started(planted("every_eighth")) as bench:
        cell = bench.ask(line)
    expected = 1e6 * cell["turn_ns"] / 50_000  # samples, 50 us apart
    assert 0.9 * expected < len(cell["latency"]["ns"]) <= 2 * expected + 16
    assert 0.75 < sum(cell["latency"]["weight"]) / cell["acquisitions"] < 1.33


def test_the_longest_gap(planted: Planted) -> None:
    with started(planted("napper")) as bench:
        cell = bench.ask("workload=sections variant=napper threads=1 turns=60000 seconds=600")
        assert cell["gap_ns"] >= 100e6


def test_a_gap_that_never_ends_counts(planted: Planted) -> None:
    with started(planted("dead_end")) as bench:
        cell = bench.ask(DEAD_END)
        assert (cell["acquisitions"], cell["drained"], cell["wrong"]) == (0, False, "")
        assert cell["gap_ns"] >= 1e9


def test_a_wait_that_never_ends_counts(planted: Planted) -> None:
    """If it is sampled: whether one of the two is, is chance."""
    with started(planted("dead_end")) as bench:
        waits = until(lambda: bench.ask(DEAD_END)["latency"]["ns"])
    assert min(waits) >= 1e9  # there are no others


def test_hand_over_is_from_before_the_release(planted: Planted) -> None:
    ask = "workload=sections variant=slow_release threads=2 seconds=0.3 ncs=0"
    seen: list[int] = []
    with started(planted("slow_release")) as bench:
        while len(seen) <= 10:  # whoever released may be the next, while the other has no CPU
            seen += until(lambda: bench.ask(ask)["handover"]["ns"])
    assert min(seen) >= 4900


def test_queue_and_hand_over(bench: Bench) -> None:
    """A lock that is always held: whoever comes finds the others waiting, and is handed it."""
    cell = bench.ask("workload=sections variant=ticket threads=2 seconds=0.3 cs=200000 ncs=0")
    assert cell["queue"]["max"] <= 1
    assert len(cell["handover"]["ns"]) == len(cell["handover"]["weight"]) > 0
    assert max(cell["handover"]["ns"]) <= max(cell["latency"]["ns"])
    cell = bench.ask("workload=sections variant=pthread_mutex threads=8 seconds=0.3 cs=20000 ncs=0")
    assert 1 < cell["queue"]["max"] <= 7
    assert 0.5 < cell["queue"]["mean"] <= cell["queue"]["max"]


def test_measuring_can_be_left_out(bench: Bench) -> None:
    assert bench.facts["measure_ns"] >= 0  # 0: noise was more than the difference
    cell = bench.ask("workload=sections variant=ticket threads=1 seconds=0.1 measure=0")
    assert not {"gap_ns", "latency", "handover", "queue"} & cell.keys()
    assert cell["acquisitions"] > 0


def test_own_work_of_turns(bench: Bench) -> None:
    """Twice the work is twice the turn; each is work, so it is no more than the CPU time."""
    ask = "workload=sections variant=ticket threads=1 seconds=0.1 cs={0} ncs={0}"
    short, long = (bench.ask(ask.format(ns)) for ns in (1000, 2000))
    assert 1.5 < long["turn_ns"] / short["turn_ns"] < 2.5
    assert short["work_seconds"] == pytest.approx(
        short["acquisitions"] * short["turn_ns"] * 1e-9, rel=1e-4
    )


def test_lost_exclusion_is_told(planted: Planted) -> None:
    with started(planted("in_step")) as bench:
        cell = bench.ask("workload=sections variant=in_step threads=2 turns=100 seconds=600")
        assert cell["wrong"]
        assert bench.end() == 1


@pytest.mark.parametrize("parameters", ["", "locks=100 zipf=0.9", "locks=7 nested=1 shape=pareto"])
def test_exclusion_holds(bench: Bench, parameters: str) -> None:
    cell = bench.ask(f"workload=sections variant=mcs threads=4 seconds=0.1 {parameters}")
    assert cell["wrong"] == ""
    assert cell["acquisitions"] > 0
    assert bench.end() == 0


def test_turns(bench: Bench) -> None:
    cell = bench.ask("workload=sections variant=tas_yield threads=3 turns=2000 seconds=60")
    assert cell["per_thread"] == [2000] * 3
    assert (cell["cut"], cell["drained"]) == (False, True)
    assert all(0 < ns <= cell["seconds"] * 1e9 + 1e6 for ns in cell["finish_ns"])


def test_turns_are_cut(planted: Planted) -> None:
    """At the limit, and the cell after is none the worse."""
    with started(planted("dead_end")) as bench:
        cell = bench.ask("workload=sections variant=dead_end threads=2 turns=1000 seconds=2")
        assert cell["cut"]
        assert cell["finish_ns"] == [None, None]
        assert cell["acquisitions"] == 100
        assert not bench.ask("workload=sections variant=ticket threads=1 turns=9")["cut"]


def test_many_threads(bench: Bench) -> None:
    cell = bench.ask("workload=sections variant=tas_yield threads=500 seconds=0.2")
    assert len(cell["per_thread"]) == 500
    assert len(cell["latency"]["ns"]) < 50_000


def test_counted() -> None:
    program = STRIDE.parents[3] / "native/overlock-bench-counted"
    with started(program=program) as bench:
        cell = bench.ask("workload=sections variant=ticket threads=1 turns=500 copies=2")
        assert cell["events"]["ACQUIRE"] == cell["acquisitions"] == 1000


def test_facts(bench: Bench) -> None:
    sections = bench.facts["workloads"][0]
    assert sections["id"] == "sections"
    cs = next(p for p in sections["parameters"] if p["name"] == "cs")
    assert (cs["unit"], cs["preset"], cs["least"]) == ("ns", 70, 0)
    kinds = {subject["id"]: subject["kind"] for subject in bench.facts["subjects"]}
    assert (kinds["ticket"], kinds["pthread_mutex"]) == ("lock", "peer")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "expected workload=NAME variant=LOCK NAME=VALUE ... in one line"),
        ("workload=sections", "expected workload=NAME variant=LOCK NAME=VALUE ... in one line"),
        ("workload=nope", "there is no workload 'nope'"),
        ("workload=sections variant=no", "there is no lock 'no'; `overlock locks` lists them"),
        ("workload=sections nope=1", "sections has no parameter 'nope'"),
        ("workload=sections cs=-1", "cs=-1 is not a number from 0 to 1e+09"),
        ("workload=sections threads=nan", "threads=nan is not a whole number from 1 to 1e+06"),
        ("workload=sections threads=1.5", "threads=1.5 is not a whole number from 1 to 1e+06"),
        (
            "workload=sections shape=flat",
            "shape=flat: expected one of fixed|uniform|exponential|pareto",
        ),
        (
            "workload=sections variant=ticket turns=9 phases=2",
            "turns= and phases= exclude each other: phases divide the measured time",
        ),
        (
            "workload=sections variant=ticket@tau=x",
            "tau=x: expected a time of 0 to 1000000000 ns, or inf",
        ),
    ],
)
def test_errors_are_answers(bench: Bench, line: str, message: str) -> None:
    answer = bench.ask(line)
    assert (answer["type"], answer["kind"]) == ("error", "usage")
    assert answer["message"] == message
    assert bench.ask("workload=sections variant=ticket threads=1 turns=9")["type"] == "cell"
