# SPDX-License-Identifier: MIT
"""Ways to wait that are no locks: what holds in all executions, and the mutants of this folder,
which must not.

A mutant says `check`, the smallest run in which it is caught, and `holds`, a lesser run that cannot
show its fault, in the words of tests/check/mutants/test_mutants.py."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.check.checking import last_word, listed, options
from tests.conftest import BUILD, TOP
from tests.mutant import Mutant, read_all

SECONDS = 300  # ends only what is far from a smallest run
FEWEST = 4  # mutants of each
POLLS = "spin=1000"  # first; the default is to yield at once
SLEEPS = "spin=0 lease=0"  # at once

Row = dict[str, Any]
WAITS = re.findall(
    r"^OL_WAIT\((\w+),", (TOP / "include/overlock/waits.def").read_text(), re.MULTILINE
)
MUTANTS = read_all(Path(__file__).parent)
HOLDING = [mutant for mutant in MUTANTS if "holds" in mutant.says]


def scenarios(wait: str) -> list[str]:
    (found,) = (one for one in listed()["waits"] if one["id"] == wait)
    return [str(scenario["id"]) for scenario in found["scenarios"]]


def explore(wait: str, run: str, *more: str | Path) -> Row:
    return last_word("--lock", wait, *options(run), "--seconds", str(SECONDS), *more)


def exhausted(wait: str, run: str) -> None:
    result = explore(wait, run)
    assert result["failure"] is None, result["failure"]["how"]
    assert result["exhausted"], result["ended"]


@pytest.mark.parametrize("model", ["sc", "tso", "c11"])
@pytest.mark.parametrize("wait", WAITS)
def test_two_contexts_in_all_executions(wait: str, model: str) -> None:
    for scenario in scenarios(wait):
        for tuned in (POLLS, "", SLEEPS):
            exhausted(wait, f"2x1 {model} {scenario} {tuned}")


# These take minutes.
TOO_MANY = {("barrier", "completes"), ("once", "fails")}
WITHOUT_LUCK = (
    f"spurious=0 expiry=0 {SLEEPS}"  # wake-ups for no reason, and deadlines that come early
)


@pytest.mark.parametrize("wait", WAITS)
def test_again_and_with_a_third(wait: str) -> None:
    for scenario in scenarios(wait):
        if (wait, scenario) not in TOO_MANY:
            exhausted(wait, f"2x2 sc {scenario} {WITHOUT_LUCK}")
            exhausted(wait, f"3x1 sc {scenario} {WITHOUT_LUCK}")


@pytest.mark.parametrize("run", ["5x3 sc", "4x2 c11"])
@pytest.mark.parametrize("wait", WAITS)
def test_more_contexts_in_random_walks(wait: str, run: str) -> None:
    for scenario in scenarios(wait):
        asked = f"{run} {scenario} walk expiry=20 {SLEEPS}"
        result = explore(wait, asked, "--executions", "200")
        assert result["failure"] is None, result["failure"]["how"]


def library(mutant: Mutant) -> tuple[str, Path]:
    return "--load", BUILD / f"tests/check/waits/{mutant.name}.so"


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_is_caught_and_replays(mutant: Mutant) -> None:
    result = explore(mutant.of, mutant.says["check"], *library(mutant))
    failure = result["failure"]
    broken, ended = mutant.says["broken"], result["ended"]
    assert failure, f"{broken}: {ended} after {result['executions']} executions"
    assert failure["property"] in mutant.says["caught-as"], failure["how"]
    again = explore(
        mutant.of, mutant.says["check"], *library(mutant), "--replay", failure["replay"]
    )
    assert again["failure"]["how"] == failure["how"]


@pytest.mark.parametrize("mutant", HOLDING, ids=lambda mutant: mutant.name)
def test_mutant_holds_where_its_fault_cannot_show(mutant: Mutant) -> None:
    result = explore(mutant.of, mutant.says["holds"], *library(mutant))
    assert result["failure"] is None, result["failure"]["how"]
    assert result["exhausted"], result["ended"]


@pytest.mark.parametrize("wait", WAITS)
def test_each_has_mutants(wait: str) -> None:
    assert sum(mutant.of == wait for mutant in MUTANTS) >= FEWEST


def test_the_command_knows_them() -> None:
    """With its cache, and what applies to each."""
    done = subprocess.run(
        ["overlock", "check", "latch", "--json", "/dev/null"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "checks exhausted: hold" in done.stdout
