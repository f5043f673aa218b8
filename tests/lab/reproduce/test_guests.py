# SPDX-License-Identifier: MIT
"""The papers' experiments: each can be run, and its sentences are judged by ranges."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from overlock_tools.core.analyze import paper_claims
from overlock_tools.core.analyze.paper_claims import Verdict
from overlock_tools.core.model import histograms
from overlock_tools.core.model.measures import MEASURES, Cell
from overlock_tools.core.model.results import Result
from overlock_tools.guest import loads, locks
from overlock_tools.lab.reproduce.guests.experiment import I_SPIN, OFF, ON_NOPV, STEALING, TICKET
from overlock_tools.lab.reproduce.guests.papers import EXPERIMENTS
from tests.command import Overlock
from tests.guest.command.conftest import Fake

LOCK = TICKET
EVENTS = {"ACQUIRE": 1_000_000, "STALL": 9, "LHP": 0, "LWP": 0}


def cell(variant: str, threads: int, number: int, rate: float = 100, **more: object) -> Cell:
    plain = Cell(number, variant, threads, rate, 1.0, 1.0)
    for name, value in more.items():
        setattr(plain, name, value)
    return plain


def result(load: str, cells: Sequence[Cell], guests: int = 1, cpus: int = 2) -> Result:
    for one in cells:
        one.copies = [1] * guests if guests > 1 else []
    return Result(
        kind=f"guest-{load}",
        title="",
        unit="acquisitions",
        baseline=cells[0].variant,
        command="",
        settings={"cpus": cpus, "rounds": 3, "seconds": 1.0},
        machine={},
        native={},
        variants=list(dict.fromkeys(c.variant for c in cells)),
        threads=sorted({c.threads for c in cells}),
        parameters={"guests": guests},
        scenario={"settings": {"neighbours": str(guests)}} if guests > 1 else {},
        cells=list(cells),
    )


def stalled(load: str, guests: int, pairs_of: Sequence[tuple[int, int]]) -> Result:
    cells = [
        cell(LOCK, 2, i, events={**EVENTS, "STALL_HELD": held, "STALL_FREE": free})
        for i, (held, free) in enumerate(pairs_of, 1)
    ]
    return result(load, cells, guests)


def verdicts(name: str, results: Mapping[str, Result]) -> dict[str, str]:
    return {claim.sentence: claim.verdict for claim in EXPERIMENTS[name].claims(results)}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_names_what_there_is(name: str) -> None:
    known = EXPERIMENTS[name]
    assert known.paper == name.partition("-")[0]
    for part in known.parts:
        loads.known(part.load).parameters(part.parameters)
    for lock in known.locks:
        locks.checked(lock)
    assert set(known.columns) <= {measure.name for measure in MEASURES}
    assert len({part.name for part in known.parts}) == len(known.parts)  # a file each
    about = result(known.parts[0].load, [cell(lock, 1, 1) for lock in known.locks])
    assert known.questions or paper_claims.claims(about)
    for claim in known.claims({}):
        assert claim.verdict == Verdict.NOT_MEASURED


def test_ouyang_and_lange_stalls_are_told_by_ranges() -> None:
    few, many, mixed = [(9, 1), (8, 2), (9, 2)], [(5, 95), (4, 99), (9, 91)], [(1, 0), (5, 95)]
    sentence = "With two VMs, more of hackbench's acquisitions stall."
    share = "The waiters' share of hackbench's stalls grows with the second VM."

    def told(two: Sequence[tuple[int, int]], one: Sequence[tuple[int, int]]) -> dict[str, str]:
        parts = {
            "hackbench-1": stalled("hackbench", 1, one),
            "hackbench-2": stalled("hackbench", 2, two),
        }
        return verdicts("ouyang2013-table1", parts)

    assert told(many, few)[sentence] == Verdict.SEEN
    assert told(many, few)[share] == Verdict.SEEN
    assert told(few, many)[sentence] == Verdict.NOT_SEEN
    assert told(mixed, few)[sentence] == Verdict.OPEN
    assert told(many[:1], few)[sentence] == Verdict.OPEN  # one round is no range
    assert told(many, few)["With two VMs, most of hackbench's stalls are behind a waiter."] == (
        Verdict.SEEN
    )
    assert "ebizzy" in next(s for s, v in told(many, few).items() if v == Verdict.NOT_MEASURED)


def preempted(lock: str, n: int, each: Sequence[int], rate: float) -> list[Cell]:
    return [
        cell(lock, n, i, rate, events={**EVENTS, "LHP": psp}, spin_ns=round(0.8e9 * n * 2))
        for i, psp in enumerate(each, 1)
    ]


def test_teabe_preemptions_grow_and_are_fewer() -> None:
    cells = preempted(LOCK, 2, [5, 6], 10) + preempted(LOCK, 8, [50, 60], 10)
    told = verdicts("teabe2017-table1", {"kernbench-2": result("kernbench", cells, 2)})
    assert told[
        "kernbench: preemptions of holders and waiters increase with the number of vCPUs."
    ] == (Verdict.SEEN)
    assert told["kernbench: with the most vCPUs, the guest spins most of the time."] == Verdict.SEEN
    cells += preempted(I_SPIN, 8, [1, 2], 5)
    told = verdicts("teabe2017-fig7", {"kernbench-2": result("kernbench", cells, 2)})
    assert told["i_spin: fewer holders and waiters are preempted than with tickets."] == (
        Verdict.SEEN
    )
    assert told["i_spin: throughput is higher than with tickets."] == Verdict.NOT_SEEN


def test_teabe_queues_and_sections() -> None:
    cells = [cell("ticket", 8, i, queue_max=7) for i in (1, 2)]
    cells += [cell("i_spin", 8, i, queue_max=3) for i in (1, 2)]
    told = verdicts("teabe2017-fig6", {"loop-2": result("loop", cells, 2)})
    assert list(told.values()) == [Verdict.SEEN, Verdict.NOT_SEEN]

    def sections(ns: Sequence[float], weights: Sequence[float]) -> list[str]:
        holds = [cell(LOCK, 2, 1, hold=histograms.packed(ns, weights))]
        return list(verdicts("teabe2017-fig3", {"ebizzy-1": result("ebizzy", holds)}).values())

    assert sections([1500], [10_000]) == [Verdict.SEEN, Verdict.SEEN]
    assert sections([100, 9000], [990, 10]) == [Verdict.NOT_SEEN, Verdict.NOT_SEEN]


def test_long_thefts_by_their_place() -> None:
    def told(*places: int) -> list[str]:
        events = {f"STEAL@{i}": count for i, count in enumerate(places)}
        events |= {**EVENTS, "STEAL": sum(places)}
        cells = [cell(STEALING, 4, 1, events=events)]
        return list(verdicts("long-steals", {"boot-1": result("boot", cells)}).values())

    assert told(172219, 2377, 425, 118) == [Verdict.SEEN, Verdict.SEEN]
    assert told(10, 20, 5, 1) == [Verdict.NOT_SEEN, Verdict.SEEN]
    assert told(100, 1, 5, 7) == [Verdict.SEEN, Verdict.NOT_SEEN]
    assert told(100, 0, 0, 0) == [Verdict.SEEN, Verdict.NOT_MEASURED]


def test_rao_and_dunlap_a_penalty_is_one_that_ministat_proves() -> None:
    def told(slower: float, noise: float = 0.001) -> str:
        cells = [
            cell(kernel, 2, i, rate * (1 + noise * (i % 3)))
            for kernel, rate in (
                (OFF, 100.0),
                ("native", 100.0 - slower),
                (ON_NOPV, 101.0),
            )
            for i in range(1, 11)
        ]
        found = verdicts("rao2012", {"pbzip2-1": result("pbzip2", cells)})
        return found["The patch costs nothing, with or without PARAVIRT_SPINLOCKS."]

    assert told(0.0) == Verdict.SEEN
    assert told(2.0) == Verdict.NOT_SEEN
    assert told(1.0, noise=0.02) == Verdict.SEEN  # less than five percent, if anything
    assert told(0.0, noise=0.2) == Verdict.OPEN  # a fifth would not have been proven


def test_dice_and_kogan_is_asked_of_vcpus_that_have_a_cpu() -> None:
    cells = [
        cell(lock, n, i, rate + i)
        for lock, rate in (("native", 1000), ("ticket", 1000), ("twa", 1100))
        for n in (1, 2, 4)
        for i in range(1, 8)
    ]
    found = [
        c for c in paper_claims.claims(result("torture-dice2019", cells)) if c.figure == "Fig. 7"
    ]
    assert [c.verdict for c in found] == [Verdict.SEEN, Verdict.SEEN, "needs 8 CPUs"]
    assert "with 4" not in found[0].reason


RUN = ("guest", "paper", "dice2019-fig7", "--accel", "tcg", "--seconds", "0.1", "--vcpus", "1,2")


def test_an_experiment_from_end_to_end(
    overlock: Overlock, fake: Fake, home: Path, tmp_path: Path
) -> None:
    fake("good")
    listed = overlock("guest", "paper")
    assert listed.returncode == 0
    assert all(name in listed.stdout for name in EXPERIMENTS)
    asked = (*RUN, "--dir", home, "--rounds", "3", "-o", "r")
    done = overlock(*asked)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (
        "Dice & Kogan 2019, Fig. 7, torture-dice2019-1: TWA is as fast as the kernel's qspinlock"
        in done.stdout
    )
    assert "1×2" in done.stdout
    body = json.loads((tmp_path / "r/dice2019-fig7-torture-dice2019-1.json").read_text())
    assert body["complete"]
    assert body["threads"] == [1, 2]
    assert "0 cells" in overlock(*asked).stdout
    assert overlock("guest", "paper", "dice2019-fig8").returncode == 2
