# SPDX-License-Identifier: MIT
"""Every mutant of the engine's contexts and of transactions fails the tests that its patch names,
which the engine and the checked world pass in sim-scripts and check-transactions."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import BUILD

HERE = Path(__file__).parent
TESTS = BUILD / "tests"
PATCHES = sorted((HERE / "engine_mutants").glob("*.patch"))
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


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_mutant_is_caught(patch: Path) -> None:
    named = re.search("^Caught by: (.*)$", patch.read_text(), re.MULTILINE)
    assert named, f"{patch.name}: its first lines say 'Caught by: ...'"
    missed = [
        test
        for test in named[1].split("|")
        if not failed(TESTS / "engine-mutants" / patch.stem, test)
    ]
    assert not missed, "these tests pass, and should not"
