# SPDX-License-Identifier: MIT
"""The simulator's tests pass, and each of its mutants fails the tests that its patch names."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import BUILD

HERE = Path(__file__).parent
TESTS = BUILD / "tests"
PATCHES = sorted((HERE / "mutants").glob("*.patch"))
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


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_mutant_is_caught(patch: Path) -> None:
    named = re.search("^Caught by: (.*)$", patch.read_text(), re.MULTILINE)
    assert named, f"{patch.name}: its first lines say 'Caught by: ...'"
    for test in named[1].split("|"):
        ran = run(TESTS / "simulator-mutants" / patch.stem, test)
        assert "Running 1 test " in ran.stdout, f"there is no test {test}"
        assert ran.returncode != 0, f"{test} passes, and should not"
