# SPDX-License-Identifier: MIT
"""Every mutant must be caught for what is wrong with it, and every order that no test misses
when it is dropped must be listed, with the reason, as one that only the model checker sees.

A mutant without the line `By:` shows only to the checker: tests/check/test_mutants.py."""

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import BUILD, TOP

HERE = Path(__file__).parent
TESTS = BUILD / "tests"
SCHEDULES = 100_000
WEAK_SCHEDULES = 20_000
ORDER = "not ordered by happens-before"


@dataclass(frozen=True)
class Mutant:
    name: str
    lock: str
    broken: str
    caught_as: frozenset[str]
    by: str


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


def explore(program: str, *args: str) -> dict[str, Any]:
    ran = subprocess.run(
        [TESTS / program, "--json", *args], check=False, capture_output=True, text=True
    )
    assert ran.returncode in (0, 1), ran.stderr
    outcome = json.loads(ran.stdout)
    assert isinstance(outcome, dict)
    return outcome


@pytest.fixture(scope="module")
def table() -> Iterator[list[dict[str, Any]]]:
    """Rows for TESTS/lock-mutants.json and for the log."""
    rows: list[dict[str, Any]] = []
    yield rows
    (TESTS / "lock-mutants.json").write_text(json.dumps(rows, indent=1) + "\n")
    print(f"\n\n{'mutant':40} {'caught as':32} {'schedules':>9}")
    for row in rows:
        print(f"{row['mutant']:40} {row['caught'] or 'NOT CAUGHT':32} {row['schedules']:>9}")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_is_caught(mutant: Mutant, table: list[dict[str, Any]]) -> None:
    args = ["--lock", mutant.name, "--schedules", str(SCHEDULES)]
    if mutant.by != "seeded":
        args += ["--kind", mutant.by]
    if ORDER not in mutant.caught_as:  # caught for what it does, not for the orders it lacks too
        args += ["--no-order"]
    outcome = explore("overlock-mutants", *args)
    table.append(
        {
            "mutant": mutant.name,
            "lock": mutant.lock,
            "broken": mutant.broken,
            "caught": outcome["caught"],
            "schedules": outcome["schedules"],
            "how": outcome["how"],
            "replay": outcome["replay"],
        }
    )
    assert outcome["caught"] in mutant.caught_as, outcome


def locks() -> list[str]:
    definitions = (TOP / "include/overlock/locks.def").read_text()
    return re.findall(r"^OL_LOCK\((\w+),", definitions, re.MULTILINE)


@dataclass(frozen=True)
class Weakening:
    """`order` dropped from one line, which is known by its text: numbers change."""

    lock: str
    file: str
    order: str
    text: str

    def __str__(self) -> str:
        return f"{self.lock} | {self.file} | {self.order} | {self.text}"


def unseen() -> dict[str, str]:
    """The lines of unseen.txt: `lock | file | order | text of the line | reason`."""
    entries = {}
    for line in (HERE / "unseen.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            key, _, reason = line.rpartition(" | ")
            assert reason, f"unseen.txt: no reason: {line}"
            entries[key] = reason
    return entries


def weaken(lock: str) -> Iterator[tuple[Weakening, dict[str, Any]]]:
    ran = subprocess.run(
        [TESTS / "overlock-sim", "--sites", lock], check=False, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    for site in sorted(ran.stdout.split()):
        file, line, order = site.split(":")
        (source,) = (TOP / "include/overlock/lock").rglob(file)
        lines = source.read_text().splitlines()
        text = re.sub(r"\s*/\*.*", "", lines[int(line) - 1].strip())
        args = ["--lock", lock, "--schedules", str(WEAK_SCHEDULES), "--weaken", site]
        yield Weakening(lock, file, order, text), explore("overlock-sim", *args)


def test_dropped_orders_are_caught_or_listed() -> None:
    missed: set[str] = set()
    rows = []
    for lock in locks():
        for weakening, outcome in weaken(lock):
            rows.append(
                {
                    "weakening": str(weakening),
                    "caught": outcome["caught"],
                    "schedules": outcome["schedules"],
                }
            )
            if outcome["caught"] is None:
                missed.add(str(weakening))
            else:
                assert outcome["caught"] == ORDER, outcome
    (TESTS / "weakenings.json").write_text(json.dumps(rows, indent=1) + "\n")
    print()
    for row in rows:
        caught = f"caught after {row['schedules']}" if row["caught"] else "unseen"
        print(f"{caught:20} {row['weakening']}")
    listed = set(unseen())
    assert missed - listed == set(), "orders that can be dropped unseen, and are not in unseen.txt"
    assert listed - missed == set(), "in unseen.txt, but caught or gone: remove them there"
