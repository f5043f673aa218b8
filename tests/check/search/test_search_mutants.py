# SPDX-License-Identifier: MIT
"""Every mutant of the reduced search loses an outcome of the programs of the search suite."""

import subprocess
from pathlib import Path

import pytest

from tests.conftest import BUILD

HERE = Path(__file__).parent
TESTS = BUILD / "tests"
MUTANTS = sorted((HERE / "search_mutants").glob("*.patch"))
LONG_ENOUGH_S = 300


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda patch: patch.stem)
def test_mutant_is_noticed(mutant: Path) -> None:
    ran = subprocess.run(
        [TESTS / "search-mutants" / mutant.stem, "--programs", "760", "--seed", "442", "--first"],
        check=False,
        capture_output=True,
        text=True,
        timeout=LONG_ENOUGH_S,
    )
    assert ran.returncode == 1, f"it loses nothing: {ran.stdout}"
    assert "lost" in ran.stdout or "fails" in ran.stdout
