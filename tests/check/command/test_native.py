# SPDX-License-Identifier: MIT
"""A counterexample on real threads: the same failure, on planted mistakes."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.check.command.conftest import HERE, Command
from tests.command import schema
from tests.conftest import TOP

SCHEMA = schema("check")
MUTANTS = HERE / "native"
BY_SELF = TOP / "tests/check/mutants/mcs_by_self.h"

PLANTED = [
    (MUTANTS / "looks_then_sets.h", "lock", "exclusion", "exclusion"),
    (MUTANTS / "reads_after.h", "frees", "use after release", "use after release"),
    (MUTANTS / "sleeps_late.h", "lock", "lost wake-up", "stuck"),
    (BY_SELF, "chain", "deadlock", "stuck"),
]


def failing(real: Command, lock: Path, scenario: str) -> dict[str, Any]:
    done = real(lock, "--scenario", scenario, "--size", "2x1", "--json", "out.json")
    assert done.returncode == 1, done.stdout + done.stderr
    found: dict[str, Any] = json.loads((real.folder / "out.json").read_text())["results"][0]
    return found


def on_threads(real: Command, words: list[str]) -> tuple[dict[str, Any], str]:
    done = real(*words, "--native", "--json", "native.json")
    assert done.returncode == 1, done.stdout + done.stderr
    document = json.loads((real.folder / "native.json").read_text())
    Draft202012Validator(SCHEMA).validate(document)
    found: dict[str, Any] = document["results"][0]["native"]
    return found, done.stdout


@pytest.mark.parametrize(
    ("lock", "scenario", "failure", "shown"), PLANTED, ids=[p[0].stem for p in PLANTED]
)
def test_real_threads_fail_alike(
    real: Command, lock: Path, scenario: str, failure: str, shown: str
) -> None:
    found = failing(real, lock, scenario)["failure"]
    assert found["property"] == failure
    at = f"{lock}@{found['replay']}"
    words = ["--replay", at, "--size", "2x1", "--model", "sc", "--scenario", scenario]
    native, said = on_threads(real, words)
    assert (native["property"], native["left"]) == (shown, "")
    assert f"On real threads: {shown}, after " in said


def test_an_execution_that_holds_holds_on_threads(real: Command) -> None:
    done = real("--replay", "ticket@1*6.2*6", "--size", "2x1", "--model", "sc", "--native")
    assert (done.returncode, done.stderr) == (0, "")
    assert "steps, and nothing failed." in done.stdout


ERRORS = [
    (("ticket", "--native"), "--native needs --replay LOCK@SCHEDULE"),
    (
        ("--replay", "ticket@1*4.2*3", "--model", "tso", "--size", "2x1", "--native"),
        "--native is for the model sc",
    ),
    (
        ("--replay", "ticket@1*4.2*3", "--scenario", "try", "--size", "2x1", "--native"),
        "in the scenarios lock, order, chain and frees",
    ),
]


@pytest.mark.parametrize(("words", "said"), ERRORS)
def test_what_it_is_not_for(real: Command, words: tuple[str, ...], said: str) -> None:
    done = real(*words)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
