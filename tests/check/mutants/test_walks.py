# SPDX-License-Identifier: MIT
"""Seeded walks catch every mutant for what is wrong with it.

A mutant that does not say `by` shows only to an exhaustive search: test_mutants.py. `tune` has
tunables of the walks, where the default times are too long for them."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import BUILD
from tests.mutant import Mutant, read_all

WALKS = 100_000
ORDER = "not ordered by happens-before"

MUTANTS = [mutant for mutant in read_all(Path(__file__).parent) if "by" in mutant.says]
WALKED = [mutant for mutant in MUTANTS if mutant.says["by"] in ("seeded", "crowd")]
NAPS = [mutant for mutant in MUTANTS if mutant.says["by"] == "nap"]


def library(mutant: Mutant) -> Path:
    return BUILD / f"tests/check/mutants/{mutant.name}.so"


def walk(mutant: Mutant) -> dict[str, Any]:
    # Caught for what it does, not for the orders that it lacks too.
    model = "c11" if ORDER in mutant.says["caught-as"] else "sc"
    options = ["--scenario=any", "--contexts=5", "--acquisitions=3"]
    if mutant.says["by"] == "crowd":
        options = ["--contexts=36", "--acquisitions=1", "--budget=late=0", "--tune=spin=0"]
    options += [f"--tune={word}" for word in mutant.says.get("tune", ())]
    ran = subprocess.run(
        [
            BUILD / "native/overlock-check",
            "--load",
            library(mutant),
            "--model",
            model,
            *options,
            "--search=walk",
            "--seed=1",
            f"--executions={WALKS}",
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    assert ran.returncode in (1, 3), ran.stderr
    result = json.loads(ran.stdout.splitlines()[-1])["result"]
    assert isinstance(result, dict)
    return result


@pytest.fixture(scope="module")
def table() -> Iterator[list[dict[str, Any]]]:
    """Rows for TESTS/lock-mutants.json and for the log."""
    rows: list[dict[str, Any]] = []
    yield rows
    (BUILD / "tests/lock-mutants.json").write_text(json.dumps(rows, indent=1) + "\n")
    print(f"\n\n{'mutant':40} {'caught as':32} {'walks':>9}")
    for row in rows:
        print(f"{row['mutant']:40} {row['caught'] or 'NOT CAUGHT':32} {row['walks']:>9}")


@pytest.mark.parametrize("mutant", WALKED, ids=lambda mutant: mutant.name)
def test_mutant_is_caught(mutant: Mutant, table: list[dict[str, Any]]) -> None:
    result = walk(mutant)
    failure = result["failure"] or {}
    table.append(
        {
            "mutant": mutant.name,
            "lock": mutant.of,
            "broken": mutant.says["broken"],
            "caught": failure.get("property"),
            "walks": result["executions"],
            "how": failure.get("how"),
            "replay": failure.get("replay"),
        }
    )
    assert failure, f"{mutant.says['broken']}: nothing in {result['executions']} walks"
    assert failure["property"] in mutant.says["caught-as"], failure["how"]


@pytest.mark.parametrize("mutant", NAPS, ids=lambda mutant: mutant.name)
def test_mutant_does_not_notice_who_passed(mutant: Mutant) -> None:
    ran = subprocess.run(
        [BUILD / "tests/sim-nap", library(mutant)], check=False, capture_output=True, text=True
    )
    assert ran.returncode == 1, ran.stderr
    assert ran.stdout.startswith(f"{mutant.name}: overtaken unnoticed: ")


def test_every_mutant_has_its_test() -> None:
    assert len(WALKED) + len(NAPS) == len(MUTANTS)
