# SPDX-License-Identifier: MIT
"""Every broken twin of the reduced search loses an outcome of the programs of the search suite."""

import os
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent.parent
TESTS = ROOT / os.environ.get("BUILD", "build") / "tests"
TWINS = sorted((HERE / "search_twins").glob("*.patch"))
LONG_ENOUGH_S = 60


@pytest.mark.parametrize("twin", TWINS, ids=lambda patch: patch.stem)
def test_twin_is_noticed(twin: Path) -> None:
    ran = subprocess.run(
        [TESTS / "search-twins" / twin.stem, "--programs", "760", "--seed", "442", "--first"],
        check=False,
        capture_output=True,
        text=True,
        timeout=LONG_ENOUGH_S,
    )
    assert ran.returncode == 1, f"it loses nothing: {ran.stdout}"
    assert "lost" in ran.stdout or "fails" in ran.stdout
