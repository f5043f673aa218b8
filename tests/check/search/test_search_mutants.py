# SPDX-License-Identifier: MIT
"""Every mutant of the reduced search loses an outcome of the programs of the search suite."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import BUILD
from tests.mutant import Mutant, read

TESTS = BUILD / "tests"
MUTANTS = read(Path(__file__).parent / "mutants.toml")
LONG_ENOUGH_S = 300


SEEDS = ("9000", "5000")  # of programs of which some notice each mutant
RARE = {"waits_for_what_it_need_not": ("10258",)}  # which the search suite runs, too


def first_difference(program: Path, seed: str) -> str:
    """What it prints of the first program in which it finds other outcomes; nothing if in none."""
    command = [str(program), "--programs", "900", "--seed", seed, "--first"]
    ran = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=LONG_ENOUGH_S
    )
    return ran.stdout if ran.returncode == 1 else ""


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_is_noticed(mutant: Mutant) -> None:
    program = TESTS / "search-mutants" / mutant.name
    seeds = RARE.get(mutant.name, SEEDS)
    said = next(filter(None, (first_difference(program, seed) for seed in seeds)), "")
    assert re.search("lost|made up|fails", said)
