# SPDX-License-Identifier: MIT
"""The checker must catch every mutant of this folder for what is wrong with it, in the smallest run
that it names as `check = "SIZE MODEL SCENARIO [WORD | KIND=N | TUNABLE=VALUE | clock=N]..."`, tell
the same when it replays, and find nothing in the lesser run `holds`, which shows what it takes to
see the fault. A WORD is `no-timeouts`, `no-transactions`, or `pct` or `walk`: by random schedules,
where the fault lies too deep for all.

build/tests/mutants.json is what was found."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.check.checking import last_word, options
from tests.conftest import BUILD, TOP
from tests.mutant import Mutant, read_all

SECONDS = 300  # ends only what is far from a smallest run
FEWEST = 3  # caught by the checker, of each lock
# Those that no exhaustive run can show, for it would need too many contexts or acquisitions.
BEYOND = "none: "

Row = dict[str, Any]


LOCKS = re.findall(
    r"^OL_LOCK\((\w+),", (TOP / "include/overlock/locks.def").read_text(), re.MULTILINE
)


ALL = read_all(Path(__file__).parent)
MUTANTS = [mutant for mutant in ALL if not mutant.says["check"].startswith(BEYOND)]
HOLDING = [mutant for mutant in MUTANTS if "holds" in mutant.says]


def explore(mutant: Mutant, run: str, *more: str) -> Row:
    """The last line of overlock-check, which says how it ended whatever it was."""
    library = BUILD / f"tests/check/mutants/{mutant.name}.so"
    return last_word("--load", library, *options(run), "--seconds", str(SECONDS), *more)


def row(mutant: Mutant, result: Row) -> Row:
    failure = result["failure"] or {}
    return {
        "mutant": mutant.name,
        "lock": mutant.of,
        "broken": mutant.says["broken"],
        "famous": mutant.says.get("famous", ""),
        "expected": sorted(mutant.says["caught-as"]),
        "found": failure.get("property"),
        "how": failure.get("how"),
        "replay": failure.get("replay"),
        "run": mutant.says["check"],
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
    result = explore(mutant, mutant.says["check"])
    table.append(row(mutant, result))
    failure = result["failure"]
    broken, ended = mutant.says["broken"], result["ended"]
    assert failure, f"{broken}: {ended} after {result['executions']} executions"
    assert failure["property"] in mutant.says["caught-as"], failure["how"]
    again = explore(mutant, mutant.says["check"], "--replay", failure["replay"])["failure"]
    assert again, "the replay finds nothing"
    assert (again["property"], again["how"]) == (failure["property"], failure["how"])


@pytest.mark.parametrize("mutant", HOLDING, ids=lambda mutant: mutant.name)
def test_mutant_holds_where_its_fault_cannot_show(mutant: Mutant) -> None:
    result = explore(mutant, mutant.says["holds"])
    assert result["failure"] is None, result["failure"]["how"]
    assert result["exhausted"], result["ended"]


@pytest.mark.parametrize("lock", LOCKS)
def test_every_lock_has_mutants(lock: str) -> None:
    assert sum(mutant.of == lock for mutant in MUTANTS) >= FEWEST


def test_mutants_beyond_the_checker_are_caught_otherwise() -> None:
    for mutant in ALL:
        if mutant not in MUTANTS:
            assert "by" in mutant.says, f"{mutant.name}: nothing would catch it"
