# SPDX-License-Identifier: MIT
"""The papers' claims of order and waiting: each holds always, or has a counterexample."""

import re

import pytest

from tests.check import claims_page as page
from tests.check.checking import ids
from tests.check.claim_cases import Run, all_runs, said
from tests.conftest import TOP

RUNS = all_runs()


def name(run: Run) -> str:
    return "-".join([run.lock, *run.run.split(), *run.claims])


@pytest.mark.parametrize("run", RUNS, ids=name)
def test_claim(run: Run) -> None:
    result = run.explore()
    failure = result["failure"]
    if run.verdict == "holds":
        assert failure is None, failure["how"]
        assert result["exhausted"], result["ended"]
        return
    assert failure, f"{result['ended']} after {result['executions']} executions"
    again = run.explore("--replay", failure["replay"])["failure"]
    assert (again["property"], again["how"]) == (failure["property"], failure["how"])


def test_the_page_draws_each_counterexample() -> None:
    assert page.counterexamples().count("\n```text\n") == sum("drawn" in case for case in said())


def test_every_claim_is_put_to_the_test() -> None:
    used = {claim.partition("=")[0] for run in RUNS for claim in run.claims}
    assert used == set(ids("claims"))


def test_every_claim_can_fail() -> None:
    """Two hold wherever they are asked for above."""
    fails = {
        claim.partition("=")[0] for run in RUNS if run.verdict == "fails" for claim in run.claims
    }
    assert set(ids("claims")) - fails <= {"fifo", "timeouts"}


@pytest.mark.parametrize("claim", ["fifo", "timeouts"])
def test_what_always_holds_would_fail(claim: str) -> None:
    """fifo where patience ends; the bound where a grant out of turn is not counted as a timeout."""
    lock, run = {
        "fifo": ("preemptable_ticket", "2x2 sc order"),
        "timeouts": ("qrw_readers_first", "2x2 sc order roles=rw"),
    }[claim]
    result = Run("", "", lock, run, (claim,), "fails").explore()
    assert result["failure"]
    assert result["failure"]["property"] == "out of order"


def orders_of_qrw() -> list[str]:
    lines = (TOP / "include/overlock/lock/qrw.h").read_text().splitlines()
    order = re.compile(r"\bol_\w+_(acquire|release)\(")
    return [f"qrw.h:{n}:{m[1]}" for n, line in enumerate(lines, 1) if (m := order.search(line))]


@pytest.mark.parametrize("site", orders_of_qrw())
def test_each_order_of_readers_and_writers_is_needed(site: str) -> None:
    """test_weakening.py has the writers alone."""
    run = Run("", "", "qrw_with_readers", "2x2 c11 order roles=rw", (), "fails")
    failure = run.explore("--weaken", site)["failure"]
    assert failure, f"nothing misses {site}"
    assert failure["property"] == "not ordered by happens-before"


@pytest.mark.parametrize("lock", ids("locks"))
def test_who_waits_behind_whoever_is_gone(lock: str) -> None:
    """A waiter that is gone stops the others of a line, and nobody else; a holder stops all."""
    row = page.gone(lock)
    holder, waiter = row.holder["notes"], row.waiter["notes"]
    assert row.waiter["exhausted"]
    assert row.holder["exhausted"]
    assert (waiter["stuck"] > 0) == row.lines_up
    assert waiter["went_on"] > 0  # it had not joined the line, or had left the lock
    assert holder["stuck"] > 0
    assert holder["went_on"] > 0  # it came last
    assert (holder["parked"] > 0) == row.parks
    # It yields before it parks, and here, where no slice ends, time may stand still meanwhile.
    assert lock == "rota" or (holder["spin"] > 0) != row.parks


@pytest.mark.parametrize("lock", page.trusting())
def test_a_host_that_lies_breaks_no_lock(lock: str) -> None:
    """The mutant i_spin_alone_without_end fails so."""
    result = page.lied_to(lock).explore()
    assert result["failure"] is None, result["failure"]["how"]
    assert result["exhausted"], result["ended"]


# They sleep without a deadline.
NEEDS_EVERY_KICK = {"pv_byte", "pv_ticket", "oticket", "pv_preemptable_ticket", "pv_qspin"}


@pytest.mark.parametrize("lock", [lock for lock in page.trusting() if page.lost_kick(lock)])
def test_which_locks_need_every_kick(lock: str) -> None:
    run = page.lost_kick(lock)
    assert run
    result = run.explore()
    if lock in NEEDS_EVERY_KICK:
        assert result["failure"]["property"] == "lost wake-up"
        return
    assert result["failure"] is None, result["failure"]["how"]
    assert result["exhausted"], result["ended"]


def test_the_page_says_what_was_found() -> None:
    """The table's verdicts are those above; that the counterexamples replay is seen there."""
    text = "".join(each.read_text() for each in page.PAGES)
    for _, part, body, _ in page.PART.findall(text):
        assert body.strip(), part
    rows = re.findall(r"^\| [^|]* \| ([^|]*) \| `(\w+)` \| `([^`]*)` \| \**(\w+)", text, re.M)
    found = {(says, lock, run, verdict) for says, lock, run, verdict in rows}
    assert found == {(run.says, run.lock, run.run, run.verdict) for run in RUNS}
