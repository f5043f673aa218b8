# SPDX-License-Identifier: MIT
"""Seeded walks catch every mutant for what is wrong with it.

A mutant without the line `By:` shows only to an exhaustive search: tests/check/test_mutants.py."""

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import BUILD

HERE = Path(__file__).parent
WALKS = 100_000
ORDER = "not ordered by happens-before"


@dataclass(frozen=True)
class Mutant:
    name: str
    lock: str
    broken: str
    caught_as: frozenset[str]
    by: str

    @property
    def library(self) -> Path:
        return BUILD / f"tests/mutants/{self.name}.so"


def header(text: str, field: str) -> str:
    found = re.search(rf"^(?: \* )?{field}: (.*)$", text, re.MULTILINE)
    assert found, f"a mutant's first lines say '{field}: ...'"
    return found[1]


def read(path: Path) -> Mutant:
    text = path.read_text()
    return Mutant(
        path.stem,
        header(text, "Mutant of"),
        header(text, "Broken"),
        frozenset(header(text, "Caught as").split("|")),
        header(text, "By"),
    )


def seeded(path: Path) -> bool:
    return re.search(r"^(?: \* )?By: ", path.read_text(), re.MULTILINE) is not None


MUTANTS = [
    read(path) for path in sorted([*HERE.glob("*.patch"), *HERE.glob("*.h")]) if seeded(path)
]
WALKED = [mutant for mutant in MUTANTS if mutant.by in ("seeded", "crowd")]
NAPS = [mutant for mutant in MUTANTS if mutant.by == "nap"]


def walk(mutant: Mutant) -> dict[str, Any]:
    # Caught for what it does, not for the orders that it lacks too.
    model = "c11" if ORDER in mutant.caught_as else "sc"
    options = ["--scenario=any", "--contexts=5", "--acquisitions=3"]
    if mutant.by == "crowd":
        options = ["--contexts=36", "--acquisitions=1", "--budget=late=0", "--tune=spin=0"]
    ran = subprocess.run(
        [
            BUILD / "native/overlock-check",
            "--load",
            mutant.library,
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
            "lock": mutant.lock,
            "broken": mutant.broken,
            "caught": failure.get("property"),
            "walks": result["executions"],
            "how": failure.get("how"),
            "replay": failure.get("replay"),
        }
    )
    assert failure, f"{mutant.broken}: nothing in {result['executions']} walks"
    assert failure["property"] in mutant.caught_as, failure["how"]


@pytest.mark.parametrize("mutant", NAPS, ids=lambda mutant: mutant.name)
def test_mutant_does_not_notice_who_passed(mutant: Mutant) -> None:
    ran = subprocess.run(
        [BUILD / "tests/sim-nap", mutant.library], check=False, capture_output=True, text=True
    )
    assert ran.returncode == 1, ran.stderr
    assert ran.stdout.startswith(f"{mutant.name}: overtaken unnoticed: ")


def test_every_mutant_has_its_test() -> None:
    assert len(WALKED) + len(NAPS) == len(MUTANTS)
