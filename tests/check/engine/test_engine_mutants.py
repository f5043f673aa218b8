# SPDX-License-Identifier: MIT
"""Every mutant of the engine's contexts and of transactions fails the tests that it names,
which the engine and the checked world pass in sim-scripts and check-transactions."""

import subprocess
from pathlib import Path

import pytest

from tests.conftest import BUILD
from tests.mutant import Mutant, read_all

TESTS = BUILD / "tests"
MUTANTS = read_all(Path(__file__).parent / "mutants")
LONG_ENOUGH_S = 300


def failed(program: Path, test: str) -> bool:
    """Whether this test fails, or brings the program down."""
    ran = subprocess.run(
        [program, f"--gtest_filter={test}"],
        check=False,
        capture_output=True,
        text=True,
        timeout=LONG_ENOUGH_S,
    )
    assert "Running 1 test " in ran.stdout, f"{program.name}: there is no test {test}"
    return ran.returncode != 0


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_is_caught(mutant: Mutant) -> None:
    program = TESTS / "engine-mutants" / mutant.name
    missed = [test for test in mutant.says["caught-by"] if not failed(program, test)]
    assert not missed, "these tests pass, and should not"
