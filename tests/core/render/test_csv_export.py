# SPDX-License-Identifier: MIT
"""CSV, read back as other programs would."""

import csv
import io
from pathlib import Path

import pytest

from overlock_tools.core.model.measures import MEASURES
from overlock_tools.core.model.results import Result
from overlock_tools.core.render import csv_export
from tests.command import Overlock
from tests.core.analyze.test_compare import ROUNDS, SPEEDS, measured


@pytest.fixture
def result() -> Result:
    found = measured(31)
    found.scenario = {"settings": {"neighbours": 2}, "proof": {}}
    found.cells[3].wrong = 'two, "at once"\nor more'
    found.cells[4].per_thread = [1, 3]
    return found


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_line_for_each_cell(result: Result) -> None:
    found = rows(csv_export.cells([result, measured(32)]))
    assert len(found) == 2 * len(result.cells)
    for row, cell in zip(found, result.cells, strict=False):
        assert (row["lock"], int(row["threads"]), int(row["round"])) == (
            cell.variant,
            cell.threads,
            cell.round,
        )
        assert float(row["rate_per_second"]) == pytest.approx(cell.rate)
        assert row["wrong"] == cell.wrong
    first, last = found[0], found[-1]
    assert (first["workload"], first["parameters"]) == ("sections", "cs=70 ncs=330")
    assert (first["scenario"], last["scenario"]) == ("neighbours=2", "")
    assert {row["lock"] for row in found if row["peer"] == "True"} == set(result.peers)
    assert float(found[4]["jain"]) == pytest.approx(0.8)
    assert found[5]["jain"] == ""  # unknown is not a number


def test_a_line_for_each_lock_and_number_of_threads(result: Result) -> None:
    found = rows(csv_export.summary([result]))
    assert len(found) == len(SPEEDS) * 2
    for row in found:
        ratio = result.ratio(row["lock"], "ticket", [int(row["threads"])])
        assert ratio
        values = [float(row[key]) for key in ("ratio", "ratio_low", "ratio_high")]
        assert values == pytest.approx([ratio.value, ratio.low, ratio.high])
        assert float(row["least"]) <= float(row["rate_per_second"]) <= float(row["most"])
        assert (row["rounds"], row["baseline"]) == (str(ROUNDS), "ticket")


def test_too_few_rounds_leave_the_interval_empty() -> None:
    for row in rows(csv_export.summary([measured(33, rounds=2)])):
        assert (row["ratio_low"], row["ratio_high"]) == ("", "")
        assert float(row["ratio"]) > 0


def test_every_measure_has_a_column(result: Result) -> None:
    for text in (csv_export.cells([result]), csv_export.summary([result])):
        headings = text.splitlines()[0].split(",")
        assert len(headings) == len(set(headings))
        for measure in MEASURES:
            assert [h for h in headings if h.startswith(measure.name)]


def test_what_is_per_million_says_so_and_the_longest_queue_is_of_all_rounds(result: Result) -> None:
    for cell in result.cells:
        cell.cpu_seconds, cell.work, cell.queue_max = 2.0, 1e6, cell.round
    (row, *_) = rows(csv_export.summary([result]))
    assert float(row["cpu_s_per_million"]) == pytest.approx(2.0)
    assert float(row["queue_max"]) == ROUNDS


def test_report_writes_both(overlock: Overlock, tmp_path: Path, result: Result) -> None:
    (tmp_path / "result.json").write_text(result.to_json())
    done = overlock("report", "result.json", "--csv", "cells.csv", "--csv-summary", "locks.csv")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "cells.csv").read_text() == csv_export.cells([result])
    assert (tmp_path / "locks.csv").read_text() == csv_export.summary([result])
