# SPDX-License-Identifier: MIT
"""What the papers say, asked of results in which it is plainly so, plainly not so, or unknown."""

import numpy as np
import pytest

from overlock_tools.core.analyze import paper_claims
from overlock_tools.core.analyze.paper_claims import Claim, Verdict
from overlock_tools.core.model.measures import Cell
from overlock_tools.core.model.results import Result

Rates = dict[str, dict[int, float]]


def result(kind: str, rates: Rates, cpus: int, noise: float = 0.01) -> Result:
    draw = np.random.default_rng(21)
    cells = [
        Cell(r, variant, n, rate * draw.lognormal(0, noise), 1.0, 1.0)
        for r in range(1, 16)
        for variant, by_threads in rates.items()
        for n, rate in by_threads.items()
    ]
    return Result(
        kind=kind,
        title="t",
        unit="acquisitions",
        baseline=next(iter(rates)),
        command="",
        settings={"cpus": cpus},
        machine={},
        native={},
        variants=list(rates),
        threads=sorted({n for by_threads in rates.values() for n in by_threads}),
        cells=cells,
    )


def claim(found: Result, words: str) -> Claim:
    [only] = [c for c in paper_claims.claims(found) if words in c.sentence]
    return only


@pytest.mark.parametrize(
    ("kind", "words", "so", "not_so"),
    [
        ("invalidation", "A writer slows down", {"a": {1: 9, 2: 5}}, {"a": {1: 5, 2: 9}}),
        (
            "mutexbench",
            "ticket is the fastest",
            {"ticket": {1: 5, 2: 9}, "twa": {1: 4, 2: 8}, "mcs": {1: 3, 2: 7}},
            {"ticket": {1: 5, 2: 7}, "twa": {1: 4, 2: 8}, "mcs": {1: 3, 2: 6}},
        ),
        (
            "mutexbench",
            "TWA outperforms MCS",
            {"twa": {1: 5, 2: 6}, "mcs": {1: 4, 2: 5}},
            {"twa": {1: 5, 2: 4}, "mcs": {1: 4, 2: 5}},
        ),
        ("throw", "drops from 1 to 2", {"mcs": {1: 9, 2: 5}}, {"mcs": {1: 5, 2: 6}}),
        (
            "stress_latency",
            "comparable to ticket",
            {"twa": {1: 100}, "ticket": {1: 101}},
            {"twa": {1: 80}, "ticket": {1: 101}},
        ),
        (
            "sections",
            "cost less than 6 %",
            {"preemptable_ticket": {2: 99}, "ticket": {2: 100}},
            {"preemptable_ticket": {2: 90}, "ticket": {2: 100}},
        ),
    ],
)
def test_seen_and_not_seen(kind: str, words: str, so: Rates, not_so: Rates) -> None:
    assert claim(result(kind, so, 2), words).verdict == "seen here"
    assert claim(result(kind, not_so, 2), words).verdict == "not seen here"


def test_locktorture_is_asked_of_vcpus_that_have_a_cpu() -> None:
    rates = {
        lock: {1: rate, 2: rate, 4: rate}
        for lock, rate in (("native", 1000.0), ("ticket", 1000.0), ("twa", 1100.0))
    }
    guests = result("guest-torture-dice2019", rates, 2)
    guests.parameters = {"guests": 1}
    found = [c for c in paper_claims.claims(guests) if c.figure == "Fig. 7"]
    assert [c.verdict for c in found] == [Verdict.SEEN, Verdict.SEEN, "needs 8 CPUs"]
    assert "with 4" not in found[0].reason


MUTEXBENCH: Rates = {
    "ticket": {1: 9, 6: 9, 24: 3},
    "twa": {1: 8, 6: 8, 24: 8},
    "mcs": {1: 7, 6: 7, 24: 7},
}


def test_all_of_fig_2_on_enough_cpus() -> None:
    found = paper_claims.claims(result("mutexbench", MUTEXBENCH, 72))
    assert [c.verdict for c in found if c.figure == "Fig. 2"] == ["seen here"] * 4
    assert (
        "mcs ÷ ticket with 24 threads: 2.3"
        in claim(result("mutexbench", MUTEXBENCH, 72), "24 threads").reason
    )


def test_threads_that_take_turns_show_nothing() -> None:
    """24 threads on 2 CPUs are not what the paper speaks of."""
    found = result("mutexbench", MUTEXBENCH, 2)
    assert claim(found, "fails to scale").verdict == "needs 7 CPUs"
    assert claim(found, "MCS surpasses").verdict == "needs 24 CPUs"
    assert "24" not in claim(found, "TWA outperforms").reason


def test_equals_cannot_be_told_apart() -> None:
    found = result("mutexbench", {"twa": {1: 5}, "mcs": {1: 5}}, 2, noise=0.2)
    assert claim(found, "TWA outperforms").verdict == "undecided"
    found.cells = [cell for cell in found.cells if cell.round < 4]
    assert claim(found, "TWA outperforms").verdict == "undecided"
    assert "too few rounds" in claim(found, "TWA outperforms").reason


def test_five_rounds_as_the_papers_have_suffice() -> None:
    found = result("mutexbench", {"twa": {1: 5}, "mcs": {1: 4}}, 2)
    found.cells = [cell for cell in found.cells if cell.round <= 5]
    assert claim(found, "TWA outperforms").verdict == "seen here"


def test_everywhere_means_everywhere() -> None:
    found = result("mutexbench", {"twa": {1: 9, 2: 5}, "mcs": {1: 5, 2: 5}}, 2, noise=0.2)
    assert claim(found, "TWA outperforms").verdict == "undecided"


def test_locks_that_are_missing_are_named() -> None:
    found = claim(result("mutexbench", {"twa": {1: 5}}, 2), "TWA outperforms")
    assert (found.verdict, found.reason) == ("not measured here", "needs twa and mcs")
    assert claim(result("mutexbench", {"ticket": {1: 5}}, 2), "fastest").reason.endswith("twa")


def with_run_times(means: dict[int, float], sd: float, cpus: int, kind: str) -> Result:
    lock = "byte" if kind == "lockloop" else "ticket"
    found = result(kind, {lock: dict.fromkeys(means, 1.0)}, cpus)
    draw = np.random.default_rng(22)
    for cell in found.cells:
        mean = means[cell.threads] * 1e9 * draw.lognormal(0, 0.01)
        half = cell.threads // 2
        spread = sd * mean * ((cell.threads - 1) / cell.threads) ** 0.5
        cell.finish_ns = [round(mean - spread)] * half + [round(mean + spread)] * half
        cell.queue_max = cell.threads - 1
    return found


def test_long_run_times() -> None:
    steep = with_run_times({2: 0.1, 4: 0.4, 8: 1.6}, 0.3, 32, "lockloop")
    assert claim(steep, "grows faster").verdict == "seen here"
    assert claim(steep, "vary by a tenth").verdict == "seen here"
    level = with_run_times({2: 0.1, 4: 0.15, 8: 0.2}, 0.01, 32, "lockloop")
    assert claim(level, "grows faster").verdict == "not seen here"
    assert claim(level, "vary by a tenth").verdict == "not seen here"
    assert claim(with_run_times({2: 0.1}, 0.3, 2, "lockloop"), "grows").verdict == "needs 8 CPUs"


def test_long_table_is_for_a_million_pairs() -> None:
    found = with_run_times({4: 0.2, 8: 0.4}, 0.3, 2, "lockloop")
    found.settings["turns"] = 500_000
    four, eight = paper_claims.byte_run_times(found)
    assert (four.threads, eight.threads) == (4, 8)
    assert (four.mean_ms, eight.mean_ms) == pytest.approx((400, 800), rel=0.05)
    assert (four.sd_ms, eight.sd_ms) == pytest.approx((120, 240), rel=0.15)
    assert [(row.threads, row.mean_ms, row.sd_ms) for row in paper_claims.BYTE_OF_LONG] == [
        (4, 386, 153),
        (8, 940, 117),
        (16, 6046, 1747),
        (32, 37028, 10136),
    ]


def test_teabe_fairness() -> None:
    fair = with_run_times({2: 0.1, 8: 0.4}, 0.001, 2, "fairness")
    assert claim(fair, "almost the same time").verdict == "seen here"
    assert claim(fair, "hold all threads").verdict == "seen here"
    unfair = with_run_times({2: 0.1, 8: 0.4}, 0.5, 2, "fairness")
    for cell in unfair.cells:
        cell.queue_max = 1
    assert claim(unfair, "almost the same time").verdict == "not seen here"
    assert claim(unfair, "hold all threads").verdict == "not seen here"


def unfair_queued(by_threads: dict[int, float], sd: float) -> Result:
    """byte as in Long's table, and beside it a lock that takes so many times as long."""
    table = {row.threads: (row.mean_ms / 1e3, row.sd_ms / 1e3) for row in paper_claims.BYTE_OF_LONG}
    found = result(
        "lockloop", {lock: dict.fromkeys(table, 1.0) for lock in ("byte", "unfair_qspin")}, 2
    )
    for cell in found.cells:
        mean, spread = table[cell.threads]
        if cell.variant == "unfair_qspin":
            mean, spread = mean * by_threads[cell.threads], spread * sd
        half = cell.threads // 2
        cell.finish_ns = [round(1e9 * (mean - spread))] * half + [
            round(1e9 * (mean + spread))
        ] * half
    return found


def test_long_unfair_queued_beside_byte() -> None:
    papers_own = unfair_queued({4: 1.18, 8: 1.2, 16: 0.6, 32: 0.19}, 0.5)
    otherwise = unfair_queued({4: 0.9, 8: 0.9, 16: 1.2, 32: 1.2}, 2.0)
    for words in ("is slower than byte", "5.2 times as fast", "vary less than byte's"):
        assert claim(papers_own, words).verdict == "seen here", words
        assert claim(otherwise, words).verdict == "not seen here", words


def test_teabe_i_spin_is_asked_where_it_was_measured() -> None:
    rates: Rates = {
        lock: {4: 100.0} for lock in ("ticket", "pv_ticket", "preemptable_ticket", "oticket")
    }
    for rate, verdict in ((500.0, "seen here"), (20.0, "not seen here")):
        found = result("sections", {**rates, "i_spin": {4: rate}}, 2)
        for cell in found.cells:
            cell.copies = [round(cell.work / 2)] * 2
        assert claim(found, "I-Spinlock outperforms").verdict == verdict


def test_ouyang_and_lange_ask_for_one_copy_and_for_all() -> None:
    found = result("sections", {"preemptable_ticket": {4: 500}, "ticket": {4: 100}}, 2)
    assert not [c for c in paper_claims.claims(found) if c.figure == "Fig. 5, 2 VMs and more"]
    for cell in found.cells:
        cell.copies = [round(cell.work / 2)] * 2
    seen = claim(found, "faster than tickets")
    assert seen.verdict == "seen here"
    assert "one copy at random: 5.0" in seen.reason
    assert not [c for c in paper_claims.claims(found) if c.figure == "Fig. 5, one VM"]
    for cell in found.cells:
        if cell.variant == "preemptable_ticket":  # the copies starve, whatever the sum says
            cell.copies = [0, 0]
    assert claim(found, "faster than tickets").verdict == "not seen here"


def test_what_did_nothing_counts_as_one_turn() -> None:
    """A rate of 0 is a bound, not a ratio of a hundred digits; so is a starved copy."""
    found = result("sections", {"preemptable_ticket": {4: 500}, "ticket": {4: 0}}, 2)
    for cell in found.cells:
        cell.copies = [round(cell.work / 2)] * 2
    reason = claim(found, "faster than tickets").reason
    assert reason.count("×") == 2
    assert max(map(len, reason.split())) < 20


def test_a_workload_that_no_paper_has() -> None:
    assert paper_claims.claims(result("conditions", {"ticket": {1: 1}}, 2)) == []


def test_every_statement_fits_its_check() -> None:
    """A check or an argument that is misspelt in paper_claims.toml fails here."""
    for statement in paper_claims.statements():
        asked = statement.claim(result(statement.workloads[0], {"ticket": {1: 1}}, 64))
        assert asked.verdict in list(Verdict), statement
