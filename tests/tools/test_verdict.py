# SPDX-License-Identifier: MIT
"""The words that follow from figures, for figures whose meaning is plain."""

import json
from pathlib import Path

import pytest

from overlock_tools import machine, verdict
from overlock_tools.results import Cell, Result

NOISE = (0.97, 1.0, 1.03, 0.99, 1.01)


def result(rates: dict[str, dict[int, float]], peers: list[str], kind: str = "sections") -> Result:
    """Five rounds with a little noise, the same in all variants, on 2 CPUs."""
    threads = sorted({n for by_threads in rates.values() for n in by_threads})
    cells = [
        Cell(round_number, variant, n, rate * noise, 1.0, 1.0)
        for variant, by_threads in rates.items()
        for n, rate in by_threads.items()
        for round_number, noise in enumerate(NOISE, 1)
    ]
    return Result(
        kind=kind,
        title="t",
        unit="acquisitions",
        baseline=next(iter(rates)),
        command="",
        settings={"cpus": 2, "rounds": 5},
        machine={},
        native={},
        variants=list(rates),
        threads=threads,
        peers=peers,
        cells=cells,
    )


def test_names_what_collapsed_and_where() -> None:
    found = result({"ticket": {2: 100, 4: 100, 8: 1}, "tas": {2: 100, 4: 90, 8: 90}}, [])
    assert verdict.collapsed(found, [4, 8]) == {"ticket": [8]}
    said = verdict.sentences(found)
    assert "collapse to less than 10% of the best one's rate: ticket (at 8)." in said[0]


def test_says_so_when_nothing_collapsed() -> None:
    said = verdict.sentences(result({"ticket": {8: 50}, "tas": {8: 90}}, []))
    assert said[0].startswith("Nothing collapsed at 8 threads on 2 CPUs")


def test_native_is_the_better_choice() -> None:
    said = verdict.sentences(
        result({"ticket": {8: 1}, "tas": {8: 50}, "mutex": {8: 90}}, ["mutex"])
    )
    assert any(line.startswith("The native mutex is the better choice at 8") for line in said)
    assert any(line.endswith("mutex beats ticket and tas.") for line in said)


def test_a_lock_is_the_better_choice() -> None:
    said = verdict.sentences(
        result({"ticket": {8: 1}, "tas": {8: 90}, "mutex": {8: 50}}, ["mutex"])
    )
    assert any("Fastest at 8 threads: tas, 1.80×" in line for line in said)
    assert not any("better choice" in line for line in said)


def test_equals_are_not_told_apart() -> None:
    found = result({"ticket": {8: 1}, "tas": {8: 90}, "mutex": {8: 90}}, ["mutex"])
    for cell in found.cells:  # noise of its own, so that the interval includes 1
        if cell.variant == "tas":
            cell.work = 180 - cell.work
    assert any("are not told apart" in line for line in verdict.sentences(found))


def test_cure_is_compared_where_threads_do_not_fit() -> None:
    found = result({"ticket": {2: 100, 8: 10}, "preemptable_ticket": {2: 1, 8: 50}}, [])
    said = verdict.sentences(found)
    assert any(line.startswith("preemptable_ticket reaches 5.00×") for line in said)
    assert any("With 2 threads, which fit the CPUs, ticket is the fastest." in x for x in said)


def test_wrong_results_come_first() -> None:
    found = result({"ticket": {8: 1}}, [])
    found.cells[2].wrong = "two contexts were in the critical section at once"
    assert verdict.sentences(found)[0].startswith("WRONG: ticket with 8 threads: two contexts")


def test_program_that_did_not_finish() -> None:
    found = result({"native": {8: 90}, "ticket": {8: 9}, "tas": {8: 90}}, ["native"], "program")
    found.cells = [c for c in found.cells if c.variant != "ticket" or c.round == 1]
    next(c for c in found.cells if c.variant == "ticket").cut = True
    said = " ".join(verdict.sentences(found))
    assert "Stopped, far behind the native mutex: ticket (at 8)." in said
    assert "Not told apart from the native mutex: tas (1.00×" in said
    assert "keep the native mutex" in said


def test_a_lock_that_got_nowhere_counts_as_one_acquisition() -> None:
    """In a short or busy run a collapsed lock may do nothing at all: the ratio is a bound."""
    found = result({"ticket": {8: 50}, "tas": {8: 300}}, [])
    for cell in found.cells:
        cell.work = 0 if cell.variant == "ticket" else 300
    ratio = found.ratio("tas", "ticket", [8])
    assert ratio is not None
    assert ratio.value == pytest.approx(300)
    assert "ticket (at 8)" in verdict.sentences(found)[0]
    json.loads(found.to_json(), parse_constant=pytest.fail)  # neither inf nor nan


def test_nothing_measured() -> None:
    found = result({"ticket": {8: 1}}, [])
    found.cells = []
    assert verdict.sentences(found) == ["Nothing was measured."]


def load(when: float, busy: float, own: float, stolen: float) -> machine.Load:
    return machine.Load(when, busy, own, stolen)


@pytest.mark.parametrize(
    ("busy", "own", "stolen", "words"),
    [
        (20.0, 20.0, 0.0, None),  # all of it ours
        (20.0, 19.8, 0.0, None),  # a little is always going on
        (20.0, 10.0, 0.0, "other work took 50% of the CPUs: expect noise"),
        (10.0, 10.0, 4.0, "20% of the CPUs (20% the hypervisor's): expect noise"),
    ],
)
def test_busy_machine(
    monkeypatch: pytest.MonkeyPatch, busy: float, own: float, stolen: float, words: str | None
) -> None:
    """Ten seconds on two CPUs: twenty CPU seconds to be had."""
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    said = machine.busy_warning(load(0, 0, 0, 0), load(10, busy, own, stolen))
    assert (said is None) if words is None else (said is not None and words in said)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu.cfs_quota_us": "50000\n", "cpu.cfs_period_us": "100000\n"}, 0.5),
        ({"cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "100000\n"}, None),
        ({}, None),
    ],
)
def test_quota(tmp_path: Path, files: dict[str, str], expected: float | None) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert machine._quota_of(tmp_path) == expected
