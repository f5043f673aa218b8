# SPDX-License-Identifier: MIT
"""The words that follow from figures, for figures whose meaning is plain.

Each sentence has a result that brings it about, and one like it that must not.
"""

import json
import re
from collections.abc import Callable

import pytest

from overlock_tools.apps import demo
from overlock_tools.core.analyze import qualities, verdict
from overlock_tools.core.analyze.derived import View
from overlock_tools.core.model.histograms import packed
from overlock_tools.core.model.results import GivenUp, Result
from overlock_tools.core.render import figures
from overlock_tools.core.system import machine
from tests.core import planted
from tests.core.planted import give, result

THREE = {"ticket": {8: 1.0}, "tas": {8: 50.0}, "mutex": {8: 90.0}}


def three() -> Result:
    """All of one rate, a peer among them: what differs is what a test plants."""
    return result({"ticket": {8: 90.0}, "tas": {8: 90.0}, "mutex": {8: 90.0}}, ["mutex"])


def about(what: Callable[[View], list[str]], found: Result) -> str:
    return " ".join(what(View(found)))


def own_noise(found: Result, variant: str) -> Result:
    """Rounds of its own, so that the interval of a ratio includes 1."""
    for cell in found.cells:
        if cell.variant == variant:
            cell.work = 2 * 90 - cell.work
    return found


# What was not measured as it was named


@pytest.mark.parametrize("lock", ["tx", "elided", "elided@tx_retries=0", "ticket", "hle"])
@pytest.mark.parametrize("works", [False, True])
def test_says_that_nothing_elides(lock: str, works: bool) -> None:
    found = result({"ttas": {8: 1.0}, lock: {8: 1.0}}, [])
    found.native["htm"] = works
    said = any(line.startswith("No transaction commits") for line in verdict.about_locks(found))
    assert said == (not works and lock.startswith(("tx", "elided")))


# Rates


def test_names_what_collapsed_and_where() -> None:
    found = result({"ticket": {2: 100, 4: 100, 8: 1}, "tas": {2: 100, 4: 90, 8: 90}}, [])
    assert View(found).collapsed == {"ticket": [8]}
    said = verdict.sentences(found)
    assert "collapse to less than 10% of the best lock's rate: ticket (at 8)." in said[0]
    assert not any("Not in every round" in line for line in said)


def test_says_so_when_nothing_collapsed() -> None:
    said = verdict.sentences(result({"ticket": {8: 50}, "tas": {8: 90}}, []))
    assert said[0].startswith("No lock collapsed beside the best at 8 threads on 2 CPUs")
    assert "Whether all of them did is unknown" in said[0]
    fits: dict[str, dict[int, float]] = {"ticket": {2: 100, 8: 50}, "tas": {2: 100, 8: 90}}
    assert "unknown" not in verdict.sentences(result(fits, []))[0]


def test_says_so_when_all_collapsed() -> None:
    """The least bad of them is a tenth of the best by definition."""
    found = result({"ticket": {2: 100, 8: 0.4}, "mcs": {2: 100, 8: 0.5}}, [])
    said = verdict.sentences(found)
    assert said[0] == (
        "Every lock collapsed at 8 threads: of the best rate at 2 threads, the best has 0.50% at 8."
    )
    assert not any("No lock collapsed" in line for line in said)


def test_a_wrong_lock_is_not_the_best() -> None:
    found = result({"broken": {8: 900}, "ticket": {8: 50}, "mutex": {8: 40}}, ["mutex"])
    found.cells[3].wrong = "the sum is wrong"
    view = View(found)
    assert (view.best_lock, view.best_of_all) == ("ticket", "ticket")
    assert not any("broken is" in line for line in verdict.sentences(found))
    assert {j.ours for j in view.judgements} == {"ticket"}


def test_a_lock_that_starves_threads_is_not_the_best() -> None:
    found = result({"greedy": {8: 900}, "ticket": {8: 50}}, [])
    for cell in found.cells:
        cell.per_thread = [10, 0] if cell.variant == "greedy" else [5, 5]
    assert View(found).best_lock == "ticket"
    said = " ".join(verdict.sentences(found))
    assert "Not taken for the best, for in every round a thread had no turn: greedy (at 8)." in said
    found.cells[0].per_thread = [10, 1]  # in one round it had
    assert View(found).best_lock == "greedy"


@pytest.mark.parametrize(
    ("rounds", "words"),
    [
        (3, "Far below tas in each of them, at 8 threads: ticket (at least 4,"),
        (1, "Far below tas in it; repeat it, at 8 threads: ticket (at least 4,"),
    ],
)
def test_few_rounds_do_not_hide_what_is_far_apart(rounds: int, words: str) -> None:
    found = result({"ticket": {8: 0.1}, "mcs": {8: 300}, "tas": {8: 470}}, [])
    found.cells = [cell for cell in found.cells if cell.round <= rounds]
    said = verdict.few_rounds(View(found))
    assert said[0].endswith("intervals, so no difference is proven.")
    assert said[1].startswith(words)
    assert "mcs" not in said[1]


def test_a_collapse_that_is_not_steady_is_said() -> None:
    found = result({"ticket": {8: 1}, "tas": {8: 90}}, [])
    found.cells[2].work = 80
    assert "Not in every round: ticket." in about(verdict.about_rates, found)


@pytest.mark.parametrize(
    ("settings", "fitting"),
    [({}, [1, 2]), ({"neighbours": "2"}, [1]), ({"quota": "1:20"}, [1]), ({"phases": "4"}, [1, 2])],
)
def test_what_fits_is_what_a_copy_has_to_itself(
    settings: dict[str, str], fitting: list[int]
) -> None:
    found = result({"ticket": {1: 9, 2: 9, 4: 9}}, [])
    found.scenario = {"settings": settings}
    assert View(found).fitting == fitting
    assert View(found).over == [n for n in (1, 2, 4) if n not in fitting]


def test_cells_that_hardly_outlast_an_absence_are_said_to_be_short() -> None:
    away = {"ticket": 0.2e9, "tas": 0.6e9, "mutex": 0.9e9}
    found = give(three(), "gap_ns", away)
    assert "too short at 8 threads" in about(verdict.too_short, found)
    assert "for 600 ms. Use --seconds 6." in about(verdict.too_short, found)
    assert verdict.too_short(View(give(three(), "gap_ns", {**away, "tas": 0.4e9}))) == []
    assert verdict.too_short(View(three())) == []


def test_what_was_given_up_is_no_example_of_little_waiting() -> None:
    found = give(three(), "gap_ns", {"ticket": 1e3, "tas": 1e6, "mutex": 2e6})
    assert "least with ticket" in about(qualities.about_gap, found)
    found.collapsed = [GivenUp("ticket", 8, "a tenth of the best")]
    assert "least with tas" in about(qualities.about_gap, found)


def test_what_was_given_up_has_collapsed() -> None:
    found = result({"ticket": {8: 20}, "tas": {8: 90}}, [])
    assert View(found).collapsed == {}
    found.cells = [c for c in found.cells if c.variant == "tas" or c.round == 1]
    found.collapsed = [GivenUp("ticket", 8, "a tenth of the best")]
    assert View(found).collapsed == {"ticket": [8]}


def test_a_peer_is_the_better_choice() -> None:
    said = verdict.sentences(result(THREE, ["mutex"]))
    assert any("tas is worse than mutex, the best peer" in line for line in said)
    assert any(
        line.startswith("mutex is faster than ticket and tas at 8 threads.") for line in said
    )


def test_a_lock_is_the_better_choice() -> None:
    said = verdict.sentences(result({**THREE, "tas": {8: 90.0}, "mutex": {8: 50.0}}, ["mutex"]))
    assert any("tas is better than mutex, the best peer: 1.80×" in line for line in said)
    assert any("mutex is faster than ticket at 8" in line for line in said)


def test_equals_are_as_good() -> None:
    said = verdict.sentences(result({**THREE, "tas": {8: 90.0}}, ["mutex"]))
    assert any("tas is as good as mutex, the best peer" in line for line in said)


def test_cure_is_compared_where_threads_do_not_fit() -> None:
    found = result({"ticket": {2: 100, 8: 10}, "preemptable_ticket": {2: 1, 8: 50}}, [])
    said = about(verdict.about_ratios, found)
    assert "Faster than ticket at 8 threads: preemptable_ticket (5.00×" in said
    said = about(verdict.about_rates, found)
    assert "With 2 threads, one per CPU at most, ticket is the fastest." in said


def test_cure_that_is_slower_and_cure_that_is_not_told_apart() -> None:
    slower = result({"ticket": {8: 50}, "tas": {8: 51}, "preemptable_ticket": {8: 20}}, [])
    assert "Slower than ticket at 8 threads: preemptable_ticket (0.40×" in about(
        verdict.about_ratios, slower
    )
    alike = own_noise(result({"ticket": {8: 90}, "preemptable_ticket": {8: 90}}, []), "ticket")
    said = about(verdict.about_ratios, alike)
    assert "No significant difference from ticket at 8 threads: preemptable_ticket (1.00×" in said
    assert "Slower" not in said


def test_without_peers_the_fastest_is_named_with_its_equals() -> None:
    found = result({"ticket": {8: 10}, "tas": {8: 90}, "ttas": {8: 90}}, [])
    said = about(verdict.about_ratios, own_noise(found, "ttas"))
    assert re.search(
        r"At 8 threads (tas|ttas) is the fastest; no significant difference from it: t?tas\.", said
    )


def test_too_few_rounds_prove_nothing() -> None:
    found = result(THREE, ["mutex"])
    found.cells = [cell for cell in found.cells if cell.round <= 3]
    give(found, "gap_ns", {"ticket": 1e6, "tas": 2e6, "mutex": 3e6})
    for kind in figures.of(View(found)):
        assert kind.said(View(found))[0].startswith("3 rounds: too few for 95 % intervals")
    said = verdict.sentences(found)
    assert any(
        "there are too few rounds to compare tas with mutex, the best peer" in line for line in said
    )
    assert not any("is faster than" in line for line in said)
    assert not any("too few for" in line for line in verdict.sentences(result(THREE, ["mutex"])))


def given_up(found: Result, *variants: str) -> Result:
    """As a pilot round leaves what collapsed in it."""
    found.cells = [c for c in found.cells if c.variant not in variants or c.round == 1]
    found.collapsed = [GivenUp(v, n, "slow") for v in variants for n in found.threads]
    return found


def test_one_round_beside_a_baseline_that_collapsed_is_no_likeness() -> None:
    rates = {"ticket": {8: 1.0}, "preemptable_ticket": {8: 5e3}, "tas": {8: 9e3}}
    said = about(verdict.about_ratios, given_up(result(rates, []), "ticket"))
    assert (
        "Too few rounds for an interval against ticket (collapsed) at 8 threads: tas 8,730× and "
        "preemptable_ticket 4,850×." in said
    )
    assert "significant difference" not in said


def test_what_collapsed_is_named_as_that_beside_the_best() -> None:
    found = give(
        given_up(result(THREE, ["mutex"]), "ticket"), "gap_ns", {"tas": 1e6, "ticket": 9e6}
    )
    said = about(verdict.about_ratios, found)
    assert "mutex is faster than tas at 8 threads." in said
    assert "Too few rounds for an interval against mutex: ticket (collapsed) 0.01×." in said
    for what, ratio in ((qualities.about_gap, "9.00"), (verdict.about_rates, "")):
        said = about(what, found)
        assert "significant difference" not in said
        assert (
            not ratio or f"with too few rounds for an interval: ticket (collapsed) {ratio}×" in said
        )
    fitting = given_up(
        result({"ticket": {2: 1.0}, "tas": {2: 90.0}, "ttas": {2: 50.0}}, []), "ticket"
    )
    assert about(verdict.about_rates, fitting) == (
        "With 2 threads, one per CPU at most, tas is the fastest; with too few rounds for an "
        "interval: ticket (collapsed) 0.01×."
    )


def test_who_is_better_round_by_round_is_not_called_alike() -> None:
    """tas has the greater median, but is behind in all rounds save one."""
    found = result({"tas": {8: 1}, "ttas": {8: 1}}, [])
    tas = (10, 10, 10, 100, 10, 1000, 1000, 100, 100)
    ttas = (11, 11, 11, 1, 11, 1100, 1100, 110, 110)
    for cell, work in zip(found.cells, (*tas, *ttas), strict=True):
        cell.work = work
    assert about(verdict.about_ratios, found).endswith(
        "At 8 threads tas is the fastest; better within rounds: ttas."
    )
    said = about(qualities.about_cost, found)
    assert "least with tas, 10 ms; better within rounds: ttas." in said


def test_what_takes_no_lock_is_compared_with_fewer_threads() -> None:
    found = result({"none": {1: 100.0, 4: 50.0, 8: 25.0}}, [])
    said = verdict.sentences(found)
    assert said[0] == (
        "100 acquisitions/s at 1 thread; relative to that: 0.50× [0.50 – 0.50] at 4 and "
        "0.25× [0.25 – 0.25] at 8."
    )
    assert not any("fastest" in line or "none" in line for line in said)
    assert [kind.name for kind in figures.of(View(found))] == ["rate", "cost"]


def test_wrong_results_come_first() -> None:
    found = result({"ticket": {8: 1}}, [])
    found.cells[2].wrong = "two contexts were in the critical section at once"
    assert verdict.sentences(found)[0].startswith("WRONG: ticket with 8 threads: two contexts")


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


# Programs


def program() -> Result:
    return result({"native": {8: 90}, "ticket": {8: 9}, "tas": {8: 90}}, ["native"], "program")


def test_program_that_did_not_finish() -> None:
    found = program()
    found.cells = [c for c in found.cells if c.variant != "ticket" or c.round == 1]
    next(c for c in found.cells if c.variant == "ticket").cut = True
    said = " ".join(verdict.sentences(found))
    assert "Stopped because they were far behind the program's own lock: ticket (at 8)." in said
    assert "No significant difference from the program's own lock: tas (1.00×" in said
    assert "keep the program's own lock" in said


def test_program_that_a_lock_makes_faster() -> None:
    found = program()
    for cell in found.cells:
        cell.work *= 2 if cell.variant == "tas" else 1
    said = " ".join(verdict.sentences(found))
    assert "Faster than the program's own lock: tas (2.00×" in said
    assert "Slower than the program's own lock: ticket (0.10×" in said
    assert "keep the program's own lock" not in said


def test_program_of_which_too_little_is_known_gets_no_advice() -> None:
    found = program()
    found.cells = [c for c in found.cells if c.round <= 5]
    said = " ".join(verdict.sentences(found))
    assert "5 rounds: too few for 95 % intervals, so no difference is proven." in said
    assert (
        "Too few rounds for an interval against the program's own lock: ticket (0.10×) and" in said
    )
    assert "significant difference" not in said
    assert "keep the program's own lock" not in said


def test_one_copy_at_random() -> None:
    found = three()
    assert "picked at random" not in " ".join(verdict.sentences(found))
    for cell in found.cells:
        one = {"ticket": 10, "tas": 40, "mutex": 20}[cell.variant]
        cell.copies = [one, one]
    said = " ".join(verdict.sentences(found))
    assert (
        "One of 2 copies, picked at random, has its highest rate with tas at 8 threads: 40" in said
    )
    assert "40 acquisitions/s." in said


# Less is better


def test_least_is_named_with_those_not_told_apart_from_it() -> None:
    """The same in all rounds but for noise: tas is 10 % over ticket, mutex jumps around both."""
    found = give(three(), "gap_ns", {"ticket": 1e6, "tas": 1.1e6, "mutex": 1.05e6})
    for cell in found.cells:
        if cell.variant == "mutex":
            cell.gap_ns = 0.9e6 if cell.round % 2 else 1.5e6
    said = about(qualities.about_gap, found)
    assert (
        "at 8 threads: least with ticket, 1.03 ms; no significant difference from it: mutex."
        in said
    )
    assert "The longest gap of all: 1.5 ms, with mutex." in said


def test_least_is_alone_when_all_others_have_more() -> None:
    found = give(three(), "gap_ns", {"ticket": 1e6, "tas": 2e6, "mutex": 3e6})
    assert "least with ticket, 1.03 ms; all others have more." in about(qualities.about_gap, found)


def test_fastest_lock_beside_fastest_peer() -> None:
    found = give(result(THREE, ["mutex"]), "gap_ns", {"ticket": 1e6, "tas": 2e6, "mutex": 4e6})
    said = about(qualities.about_gap, found)
    assert "The value of tas, the fastest lock, is 0.50× [0.50 – 0.50] that of mutex" in said
    found = give(result(THREE, ["mutex"]), "gap_ns", {"ticket": 1e6, "tas": 4e6, "mutex": 4e6})
    assert (
        "Longest gap between two acquisitions of one thread: no significant difference between the "
        "fastest lock and the fastest peer, tas and mutex." in about(qualities.about_gap, found)
    )


def waits(found: Result, times: dict[str, list[float]]) -> Result:
    for cell in found.cells:
        if cell.variant in times:
            cell.latency = packed(times[cell.variant], [1] * len(times[cell.variant]))
    return found


def test_long_tail_of_the_fastest() -> None:
    usual = [100.0] * 999
    found = waits(result(THREE, ["mutex"]), {"tas": [*usual, 2e5], "mutex": [*usual, 5e4]})
    said = about(qualities.about_latency, found)
    assert "The longest of 10,000 waits (p99.99): tas 200 µs (median 100 ns)." in said


def test_one_long_wait_in_one_round_is_no_tail() -> None:
    usual = [100.0] * 999
    found = waits(result(THREE, ["mutex"]), {"tas": [*usual, 100.0], "mutex": usual})
    found.cells[10].latency = packed([*usual, 2e9], [1] * 1000)
    assert "The longest of 10,000" not in about(qualities.about_latency, found)


def shares(found: Result, given: dict[str, list[int]]) -> Result:
    for cell in found.cells:
        cell.per_thread = given[cell.variant]
    return found


def test_unfair_even_and_alone() -> None:
    even, alone = [10] * 8, [80] + [0] * 7
    found = shares(three(), {"ticket": even, "tas": alone, "mutex": even})
    said = about(qualities.about_fairness, found)
    assert "Fair in every round (Jain above 0.95) at 8 threads: ticket and mutex." in said
    assert "Unfair in every round (Jain below 0.8): tas (0.12)." in said
    assert "The rate of tas comes from a few threads that run alone" in said


def test_slow_and_unfair_is_not_running_alone() -> None:
    even, alone = [10] * 8, [80] + [0] * 7
    found = shares(result(THREE, ["mutex"]), {"ticket": even, "tas": alone, "mutex": even})
    assert "run alone" not in about(qualities.about_fairness, found)


def test_unfair_in_all_rounds_but_one_is_not_unfair() -> None:
    even, alone = [10] * 8, [80] + [0] * 7
    found = shares(three(), {"ticket": even, "tas": even, "mutex": alone})
    found.cells[-1].per_thread = even
    said = about(qualities.about_fairness, found)
    assert "No lock is unfair in every round" in said
    assert "at 8 threads: ticket and tas." in said


def test_spinning_in_every_round() -> None:
    found = three()
    for cell in found.cells:
        cell.work_seconds = {"ticket": 0.1, "tas": 0.9, "mutex": 0.9}[cell.variant]
    said = about(qualities.about_cost, found)
    assert "is not the workload's own work: ticket 90%." in said
    found.cells[0].work_seconds = 0.9
    assert "No lock spends more than half" in about(qualities.about_cost, found)


def test_cost_is_per_unit() -> None:
    found = give(three(), "cpu_seconds", {"ticket": 0.9, "tas": 1.8, "mutex": 1.8})
    said = about(qualities.about_cost, found)
    assert "CPU time per unit of work at 8 threads: least with ticket, 10 ms" in said


def test_queues() -> None:
    found = give(three(), "queue_mean", {"ticket": 6.5, "tas": 1.0, "mutex": 3.0})
    said = about(qualities.about_queue, found)
    assert "Mean queue length at 8 threads: 6.5 waiters with ticket, 1 with tas." in said
    found = give(three(), "queue_mean", {"ticket": 3.0, "tas": 3.0, "mutex": 3.01})
    assert "the ranges of all locks overlap" in about(qualities.about_queue, found)


def test_run_times_and_their_deviation() -> None:
    found = three()
    for cell in found.cells:
        mean, spread = {"ticket": (2e9, 1e6), "tas": (1e9, 5e8), "mutex": (3e9, 2e9)}[cell.variant]
        noise = planted.NOISE[cell.round - 1]
        cell.finish_ns = [round(noise * (mean - spread)), round(noise * (mean + spread))]
    said = about(qualities.about_run_times, found)
    assert "Mean run time at 8 threads: least with tas, 996 ms; all others have more." in said
    assert re.search(r"Standard deviation .* least with ticket, [\d.]+ ms; all others", said)


def test_measures_that_are_not_there_say_nothing() -> None:
    view = View(three())
    names = [kind.name for kind in figures.of(view)]
    assert names == ["ratio", "cost"]
    for kind in figures.FIGURES:
        assert kind.name in (*names, "rate") or kind.verdict(view) == []


# All of it


def test_every_figure_has_a_verdict() -> None:
    for kind in ("sections", "fairness"):
        view = View(planted.world(kind))
        drawn = figures.of(view)
        assert len(drawn) == (9 if kind == "fairness" else 8)
        for figure in drawn:
            assert figure.said(view), figure.name
            assert all(line.endswith((".", ").")) for line in figure.said(view))


def test_many_results_at_once() -> None:
    better = result({**THREE, "tas": {8: 90.0}, "mutex": {8: 50.0}}, ["mutex"], "one")
    worse = result(THREE, ["mutex"], "other")
    said = verdict.overall([View(better), View(worse)])
    assert said == [
        "On 1 of 2 workloads with more threads than CPUs, the best lock is better than the best "
        "peer: one.",
        "On 1 of 2 workloads with more threads than CPUs, the best lock is worse than the best "
        "peer: other.",
        "Collapsed on every workload with more threads than CPUs: ticket.",
    ]
    mild = result({**THREE, "ticket": {8: 40.0}}, ["mutex"])
    assert verdict.overall([View(better), View(mild)])[-1] == "No lock collapses on every workload."
    assert verdict.overall([View(better)]) == []


def test_a_gap_of_nothing_is_no_ratio_of_a_hundred_digits() -> None:
    found = give(result(THREE, ["mutex"]), "gap_ns", {"ticket": 9.0, "tas": 8.0, "mutex": 0.0})
    assert re.search(r"is [78]\.\d\d× \[7\..* that of mutex", about(qualities.about_gap, found))


@pytest.mark.parametrize(("rate", "words"), [(50.0, "collapses."), (1.0, "does not prove it")])
def test_a_demo_says_what_stopped_only_if_it_did(rate: float, words: str) -> None:
    found = result(
        {"ticket": {8: 1.0}, "tas_yield": {8: 50.0}, "preemptable_ticket": {8: rate}}, []
    )
    assert words in demo.conclusions([found])[0]


# The machine


def load(when: float, busy: float, own: float, stolen: float) -> machine.Load:
    return machine.Load(when, busy, own, stolen)


@pytest.mark.parametrize(
    ("busy", "own", "stolen", "words"),
    [
        (20.0, 20.0, 0.0, None),  # all of it ours
        (20.0, 19.8, 0.0, None),  # a little is always going on
        (20.0, 10.0, 0.0, "other work took 50% of the CPUs: expect noise"),
        (10.0, 10.0, 4.0, "20% of the CPUs (20% stolen by the hypervisor): expect noise"),
    ],
)
def test_busy_machine(
    monkeypatch: pytest.MonkeyPatch, busy: float, own: float, stolen: float, words: str | None
) -> None:
    """Ten seconds on two CPUs: twenty CPU seconds to be had."""
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    said = machine.busy_warning(load(0, 0, 0, 0), load(10, busy, own, stolen))
    assert (said is None) if words is None else (said is not None and words in said)
