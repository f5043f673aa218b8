# SPDX-License-Identifier: MIT
"""Samples of published tables that need no machine of their own give the same numbers again."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import table_sources
from overlock_tools.core.system import native
from overlock_tools.lab.reproduce import kept, rows
from overlock_tools.lab.reproduce.answers import Answers
from overlock_tools.lab.reproduce.run import Chosen, prepared
from overlock_tools.sim import grid, grid_campaign, resolve, runner, scenario
from simulated_grid import known as known_grid
from tests.check import claims_page
from tests.check.checking import ids, last_word, options
from tests.check.claim_cases import Run, all_runs
from tests.conftest import TOP
from tests.processes import HANG_S

PROOF = (TOP / "docs/results/proof.md").read_text()
CLAIMS = (TOP / "docs/results/claims.md").read_text()
FEW = 6_000  # executions, which take less than a tenth of a second
EVERY = 3  # of the cells with few executions
EACH = 40  # of the runs of claims


def table_of(page: str, mark: str) -> list[list[str]]:
    found = re.search(rf"<!-- {mark} -->\n(.*?)<!-- end -->", page, re.DOTALL)
    assert found
    rows = [line.strip("|").split("|") for line in found[1].splitlines()]
    return [[cell.strip() for cell in row] for row in rows]


# The checker's tables


def proven() -> Iterator[tuple[str, str, int]]:
    """Lock, size and model, executions: of the cells that are exhausted quickly."""
    head, _, *rows = table_of(PROOF, "proof: sizes")
    for lock, *cells in rows:
        for where, cell in zip(head[1:], cells, strict=True):
            if re.fullmatch(r"[\d,]+", cell) and (n := int(cell.replace(",", ""))) <= FEW:
                yield lock.strip("`"), where, n


@pytest.mark.parametrize(("lock", "where", "executions"), [*proven()][::EVERY])
def test_an_exhausted_size_takes_as_many_executions(lock: str, where: str, executions: int) -> None:
    found = last_word("--lock", lock, *options(f"{where} lock"), "--seconds", str(HANG_S))
    assert (found["verdict"], found["executions"]) == ("holds", executions)


def few(run: Run) -> bool:
    """By the page, whose row has the number unless the claim fails."""
    found = re.search(rf"`{run.lock}` \| `{re.escape(run.run)}` \| .*?exhausted, ([\d ]+)", CLAIMS)
    return found is not None and int(found[1].replace(" ", "")) <= FEW


OURS = [run for run in all_runs() if run.lock in ids("locks") and few(run)]


@pytest.mark.parametrize(
    "run", OURS[:: max(1, len(OURS) // EACH)], ids=lambda r: f"{r.lock}, {r.run}"
)
def test_a_claim_has_the_verdict_of_its_page(run: Run) -> None:
    assert claims_page.table([], [claims_page.verdict_row(run)]).splitlines()[-1] in CLAIMS


# The simulator's tables


def check(equal: bool, table: str) -> None:
    """A table may be older than the simulator, as long as its page says so."""
    if not equal and "the simulator" in table_sources.age(table):
        pytest.skip(f"{table} was made by another simulator, as its page says: repeat its command")
    assert equal


ROW = "teabe2017-table1-psp-kernbench"
ENDS = ("what", "at", "median", "least", "most", "verdict")


def test_a_papers_row_has_the_numbers_that_come_along(tmp_path: Path) -> None:
    asked = Chosen(rows.chosen(ROW, None), ["simulated"], None)
    plan = prepared(asked, Answers(), {}, tmp_path)
    plan.all()
    (new,) = plan.answers
    (kept_,) = (one for one in kept.load() if one.key == new.key)
    told = [[tuple(one[end] for end in ENDS) for one in a.found] for a in (new, kept_)]
    check(told[0] == told[1], "reproduced")


ROWS = (200, 900)  # of 2,100 scenarios: alone and with half of the CPU time, virtual CPUs


@pytest.mark.parametrize("row", ROWS)
def test_a_scenario_of_the_grid_has_its_rates(row: int) -> None:
    kept = known_grid()
    place = resolve.places(scenario.load(grid_campaign.READY, []))[row]
    program = runner.digest(native.simulator())
    for number, run in enumerate(resolve.runs(place)):
        answer = runner.simulate(run.told, program, "tables", HANG_S)
        new = grid_campaign.reduced(run.told, answer)
        check(grid._digits(new["rate"]) == kept.rate[row, number], "simulator_grid")
