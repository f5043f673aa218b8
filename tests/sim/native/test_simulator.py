# SPDX-License-Identifier: MIT
"""The simulator's tests pass, and each of its mutants fails the tests that it names."""

import subprocess
from pathlib import Path

import pytest

from tests.conftest import BUILD, TOP
from tests.mutant import Mutant, read_all

TESTS = BUILD / "tests"
MUTANTS = read_all(TOP / "tests/sim/mutants")
LONG_ENOUGH_S = 300


def run(program: Path, tests: str = "*") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, f"--gtest_filter={tests}"],
        check=False,
        capture_output=True,
        text=True,
        timeout=LONG_ENOUGH_S,
    )


def test_all_pass() -> None:
    ran = run(TESTS / "simulator-tests")
    assert ran.returncode == 0, ran.stdout[-4000:]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_is_caught(mutant: Mutant) -> None:
    for test in mutant.says["caught-by"]:
        ran = run(TESTS / "simulator-mutants" / mutant.name, test)
        assert "Running 1 test " in ran.stdout, f"there is no test {test}"
        assert ran.returncode != 0, f"{test} passes, and should not"
