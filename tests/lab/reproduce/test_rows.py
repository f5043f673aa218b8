# SPDX-License-Identifier: MIT
"""The rows of `overlock reproduce`: each can be asked, and a reader finds it."""

import json
from itertools import chain

import pytest

from overlock_tools.core.model import defs
from overlock_tools.core.model.paper_settings import CITED
from overlock_tools.core.system.errors import Fail
from overlock_tools.lab.reproduce import rows
from overlock_tools.lab.reproduce.checks import listed
from overlock_tools.lab.reproduce.rigs import measured
from overlock_tools.lab.reproduce.rigs.base import Known
from overlock_tools.lab.reproduce.rows import Row
from overlock_tools.lab.reproduce.run import asked
from overlock_tools.lab.reproduce.simulated import claims

ROWS = rows.load()


def test_there_are_more_than_the_papers_76() -> None:
    assert len(ROWS) >= 76
    assert {row.paper for row in ROWS} == set(CITED)
    assert len({row.id for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_each_row_says_what_it_needs_and_can_be_asked(row: Row) -> None:
    assert row.says.endswith((".", ")."))
    assert row.needs
    assert row.ways, "nobody can answer it"
    assert bool(row.values) == bool(row.axis)
    for way in row.ways:
        asked(row, way, Known())


def test_each_claim_of_the_simulator_is_a_row_s() -> None:
    used = chain(*(w.asked.get("claims", [row.id]) for row in ROWS if (w := row.way("simulated"))))
    assert set(used) == claims.claims().keys()


def test_each_measurement_is_of_a_row() -> None:
    known = Known()
    for row in ROWS:
        for way in row.ways:
            asked(row, way, known)
    names = {name.removeprefix("measured ") for name in known.sources if "measured" in name}
    assert names == set(measured.measurements())


def test_each_lock_of_a_check_is_measured() -> None:
    for row in ROWS:
        for way in row.ways:
            for check in way.asked.get("check", ()):
                locks = [*listed(check["of"]), *listed(check.get("by", []))]
                for name in listed(check["scenario"]):
                    words = measured.measurements()[name]["command"].replace(",", " ").split()
                    missing = [
                        lock for lock in locks if lock not in words and name != "invalidation"
                    ]
                    assert not missing, f"{row.id}: {name} does not measure {missing}"


def test_each_lock_of_a_proof_exists() -> None:
    known = defs.load().locks
    for row in ROWS:
        way = row.way("proof")
        for run in (*way.asked["runs"], *way.asked.get("shape", ())) if way else ():
            assert run["lock"] in known


@pytest.mark.parametrize(
    ("figure", "least", "some"),
    [
        ("fig5a", 3, "ouyang2013-fig5a-2"),
        ("fig5", 8, "ouyang2013-fig5c-3"),
        ("table1", 4, "ouyang2013-table1-more"),
        ("4.3", 3, "ouyang2013-bound"),
        ("tau-inf", 1, "ouyang2013-tau-inf"),
    ],
)
def test_a_reader_finds_a_figure(figure: str, least: int, some: str) -> None:
    found = [row.id for row in rows.chosen("ouyang2013", figure)]
    assert len(found) >= least
    assert some in found


def test_a_row_is_found_by_its_id() -> None:
    assert [row.id for row in rows.chosen("long-small", None)] == ["long-small"]


@pytest.mark.parametrize(
    ("paper", "figure", "words"),
    [("ouyang", None, "expected one of"), ("long", "fig9", "nothing of it")],
)
def test_what_is_not_there_is_refused(paper: str, figure: str | None, words: str) -> None:
    with pytest.raises(Fail, match=words):
        rows.chosen(paper, figure)


def test_fig5_is_not_fig5a_alone() -> None:
    assert len(rows.chosen("ouyang2013", "fig5")) > len(rows.chosen("ouyang2013", "fig5a"))


def test_the_rows_are_json() -> None:
    """What a page or another tool may want of them."""
    json.dumps([[row.id, row.says, dict(row.values)] for row in ROWS])


@pytest.mark.parametrize("row", [r for r in ROWS if r.way("proof")], ids=lambda row: row.id)
def test_a_proof_without_a_claim_says_no_more_than_it_explores(row: Row) -> None:
    """A scenario alone tells of exclusion and of waits that end; what else a row says, it lacks."""
    way = row.way("proof")
    assert way
    runs = (*way.asked["runs"], *way.asked.get("shape", ()))
    if any(run.get("claims") for run in runs) or way.lacks:
        return
    assert "exclude" in row.says
