# SPDX-License-Identifier: MIT
"""The source lines that the checker says no execution reached, against gcov's counts."""

import json
import re
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from overlock_tools.check import coverage
from overlock_tools.check.job import Subject
from tests.check.engine.test_coverage import FOLDER, data_files
from tests.conftest import BUILD, NATIVE, TOP

LOCKS = re.findall(r"^OL_LOCK\((\w+),", (TOP / "include/overlock/locks.def").read_text(), re.M)
SCENARIOS = ("lock", "try", "waiter")
Lines = set[tuple[str, int]]


def explored(program: Path, lock: str, scenario: str) -> str:
    options = ["--contexts=2", "--acquisitions=1", "--executions=3000", f"--scenario={scenario}"]
    done = subprocess.run(
        [program, f"--lock={lock}", *options], capture_output=True, text=True, check=False
    )
    return done.stdout.splitlines()[-1]


def of_gcov(lock: str, scenario: str) -> tuple[Lines, Lines]:
    """Lines with a count, and lines with none."""
    for data in data_files():
        data.unlink()
    explored(BUILD / "tests/sim-covered", lock, scenario)
    counts: dict[tuple[str, int], int] = defaultdict(int)
    for data in data_files():
        if f"overlock-sim-covered_{lock}.dir" not in str(data):
            continue
        said = subprocess.run(
            ["gcov", "--json-format", "--stdout", data],
            check=True,
            capture_output=True,
            cwd=data.parent,
        )
        for file in json.loads(said.stdout)["files"]:
            if FOLDER in file["file"]:
                for line in file["lines"]:
                    counts[Path(file["file"]).name, line["line_number"]] += line["count"]
    reached = {line for line, count in counts.items() if count}
    return reached, counts.keys() - reached


def of_checker(lock: str, scenario: str) -> tuple[Lines, Lines]:
    program = NATIVE / "overlock-check"
    result = json.loads(explored(program, lock, scenario))["result"]
    coverage.resolve(result, Subject(lock), program)
    found = coverage.Union([result["coverage"]])
    assert not found.unknown
    return found.reached, found.unreached | found.uncalled.keys()


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_line_is_reported_that_was_reached(scenario: str) -> None:
    missed = wrong = agreed = 0
    for lock in LOCKS:
        counted, uncounted = of_gcov(lock, scenario)
        reached, unreached = of_checker(lock, scenario)
        assert counted
        assert unreached & counted == set(), lock
        missed += len(uncounted)
        agreed += len(unreached & uncounted)
        wrong += len(reached & uncounted)
    # gcov also counts functions that a unit does not use, and braces. A `return` shares its code.
    assert agreed > missed / 3
    assert wrong < agreed / 50
