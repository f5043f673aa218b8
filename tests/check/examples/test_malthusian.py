# SPDX-License-Identifier: MIT
"""The Malthusian lock that `rota` is compared with is correct, and its mutants are not."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import TOP
from tests.mutant import changed

TEXT = (TOP / "examples/malthusian.h").read_text()
# One release in two, at random, serves the eldest: one in a thousand cannot be explored.
OFTEN = ("#define OL_MALT_ELDEST\t\t1000u", "#define OL_MALT_ELDEST\t\t2u")
WALKS = ("--search", "walk", "--executions", "3000", "--seed", "1", "--scenario", "lock")

MUTANTS = {
    "kicks nobody": ("\t\tol_kick(wait, OL_ANY, 1);\n", ""),
    "forgets who was passive": ("ol_store_relaxed(&first->next, passive);", ""),
    "the eldest has nobody behind it": ("\t\tol_store_relaxed(&passive->next, first);\n", ""),
    "frees the lock beside the passive": ("if (!passive)", "if (true)"),
    "serves both": ("return second;", "ol_malt_serve(first);\n\treturn second;"),
}


def check(folder: Path, *changes: tuple[str, str]) -> subprocess.CompletedProcess[str]:
    header = folder / "malthusian.h"
    header.write_text(changed(TEXT, OFTEN, *changes))
    command = [sys.executable, "-m", "overlock_tools", "check", str(header), "--size", "4x3"]
    return subprocess.run([*command, *WALKS], capture_output=True, text=True, check=False)


def test_it_keeps_exclusion_and_loses_nobody(tmp_path: Path) -> None:
    done = check(tmp_path)
    assert done.returncode == 3, done.stdout + done.stderr  # 3: nothing failed, more is possible
    assert "fails" not in done.stdout


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_caught(tmp_path: Path, name: str) -> None:
    done = check(tmp_path, MUTANTS[name])
    assert done.returncode == 1, done.stdout + done.stderr
