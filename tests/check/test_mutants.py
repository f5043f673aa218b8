# SPDX-License-Identifier: MIT
"""The checker must catch every mutant of tests/mutants for what is wrong with it, in the
smallest run that its line `Check: SIZE MODEL SCENARIO [WORD | KIND=N | TUNABLE=VALUE | clock=N]...`
names, tell the same when it replays, and find nothing in the lesser run of its line `Holds:`,
which shows what it takes to see the fault. A WORD is `no-timeouts`,
`no-transactions`, or `pct` or `walk`: by random schedules, where the fault lies too deep for all.

build/tests/mutants.json is what was found."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.check.checking import last_word, options
from tests.conftest import BUILD, TOP

FOLDER = TOP / "tests/mutants"
SECONDS = 300  # ends only what is far from a smallest run
FEWEST = 3  # caught by the checker, of each lock
# Those that no exhaustive run can show, for it would need too many contexts or acquisitions.
BEYOND = "none: "

Row = dict[str, Any]


@dataclass(frozen=True)
class Mutant:
    name: str
    lock: str
    broken: str
    famous: str
    caught_as: frozenset[str]
    check: str
    holds: str | None


LOCKS = re.findall(
    r"^OL_LOCK\((\w+),", (TOP / "include/overlock/locks.def").read_text(), re.MULTILINE
)


def headers(path: Path) -> dict[str, str]:
    """The lines `Field: value` of a mutant's first lines."""
    head = path.read_text().split("\n--- ")[0]
    return dict(re.findall(r"^(?: \* )?([A-Z][a-z ]+): (.*)$", head, re.MULTILINE))


def read(path: Path) -> Mutant:
    fields = headers(path)
    return Mutant(
        path.stem,
        fields["Mutant of"],
        fields["Broken"],
        fields.get("Famous", ""),
        frozenset(fields["Caught as"].split("|")),
        fields["Check"],
        fields.get("Holds"),
    )


ALL = [read(path) for path in sorted([*FOLDER.glob("*.patch"), *FOLDER.glob("*.h")])]
MUTANTS = [mutant for mutant in ALL if not mutant.check.startswith(BEYOND)]
HOLDING = [mutant for mutant in MUTANTS if mutant.holds]


def explore(mutant: Mutant, run: str, *more: str) -> Row:
    """The last line of overlock-check, which says how it ended whatever it was."""
    library = BUILD / f"tests/mutants/{mutant.name}.so"
    return last_word("--load", library, *options(run), "--seconds", str(SECONDS), *more)


def row(mutant: Mutant, result: Row) -> Row:
    failure = result["failure"] or {}
    return {
        "mutant": mutant.name,
        "lock": mutant.lock,
        "broken": mutant.broken,
        "famous": mutant.famous,
        "expected": sorted(mutant.caught_as),
        "found": failure.get("property"),
        "how": failure.get("how"),
        "replay": failure.get("replay"),
        "run": mutant.check,
        "executions": result["executions"],
        "seconds": result["seconds"],
    }


@pytest.fixture(scope="module")
def table() -> Iterator[list[Row]]:
    """Rows for mutants.json and for the log."""
    rows: list[Row] = []
    yield rows
    (BUILD / "tests/mutants.json").write_text(json.dumps(rows, indent=1) + "\n")
    print(f"\n\n{'mutant':42} {'found':30} {'executions':>10} {'seconds':>8}  run")
    for r in rows:
        found = r["found"] or "NOT CAUGHT"
        figures = f"{r['executions']:>10} {r['seconds']:>8.2f}"
        print(f"{r['mutant']:42} {found:30} {figures}  {r['run']}")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_is_caught_and_replays(mutant: Mutant, table: list[Row]) -> None:
    result = explore(mutant, mutant.check)
    table.append(row(mutant, result))
    failure = result["failure"]
    assert failure, f"{mutant.broken}: {result['ended']} after {result['executions']} executions"
    assert failure["property"] in mutant.caught_as, failure["how"]
    again = explore(mutant, mutant.check, "--replay", failure["replay"])["failure"]
    assert again, "the replay finds nothing"
    assert (again["property"], again["how"]) == (failure["property"], failure["how"])


@pytest.mark.parametrize("mutant", HOLDING, ids=lambda mutant: mutant.name)
def test_mutant_holds_where_its_fault_cannot_show(mutant: Mutant) -> None:
    assert mutant.holds
    result = explore(mutant, mutant.holds)
    assert result["failure"] is None, result["failure"]["how"]
    assert result["exhausted"], result["ended"]


@pytest.mark.parametrize("lock", LOCKS)
def test_every_lock_has_mutants(lock: str) -> None:
    assert sum(mutant.lock == lock for mutant in MUTANTS) >= FEWEST


def test_mutants_beyond_the_checker_are_caught_otherwise() -> None:
    for mutant in ALL:
        if mutant not in MUTANTS:
            path = next(FOLDER.glob(f"{mutant.name}.*"))
            assert "By" in headers(path), f"{mutant.name}: nothing would catch it"
