# SPDX-License-Identifier: MIT
"""A lock from outside the tree gets the same schedules; a broken one is caught and replays."""

import os
import re
import subprocess
from pathlib import Path

from tests.conftest import BUILD, TOP

HERE = Path(__file__).parent


def outside(*args: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [HERE / "outside", *args],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "BUILD": str(BUILD)},
    )


def test_a_sound_lock_passes(tmp_path: Path) -> None:
    text = (TOP / "include/overlock/lock/ttas.h").read_text()
    text = text.replace("ttas", "mine").replace("TTAS", "MINE")
    header = tmp_path / "mine.h"
    header.write_text(
        '#define OL_LOCK_LINE OL_LOCK(mine, timed, OL_FITS4, "outside", "a test")\n' + text
    )
    ran = outside(header, "--schedules", "2000")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert re.search(r"^mine +2000 schedules .* fine$", ran.stdout, re.MULTILINE)


def test_a_broken_lock_is_caught_and_replays() -> None:
    mutant = TOP / "tests/mutants/mcs_by_self.h"
    kind = ["--kind", "hand-over-hand"]
    ran = outside(mutant, *kind)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    found = re.search(r"--replay (mcs_by_self@\d+)", ran.stdout)
    assert found
    told = outside(mutant, *kind, "--replay", found[1])
    assert told.returncode == 1
    assert "FAILURE: deadlock" in told.stdout
    assert "mcs_by_self.h:" in told.stdout


def test_bad_use_is_refused_in_a_line() -> None:
    ran = outside("mine.c")
    assert ran.returncode == 2
    assert ran.stderr.startswith("usage: ")
    program = BUILD / "tests/overlock-sim"
    for args in (
        ["--lock", "none"],
        ["--schedules", "many"],
        ["--weaken", "here"],
        ["--replay", "ticket"],
        ["--kind", "none"],
        ["--seed"],
    ):
        ran = subprocess.run([program, *args], check=False, capture_output=True, text=True)
        assert ran.returncode == 2, args
        assert ran.stderr.startswith("overlock-sim: "), args
