# SPDX-License-Identifier: MIT
"""Acquisition that fails (include/overlock/or_fail.h) in the model checker: a circle of waits is
always noticed, and what is no circle never fails. Each mutant lacks one of these."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.check import checking
from tests.conftest import TOP
from tests.mutant import changed

HERE = Path(__file__).parent
HEADER = TOP / "include/overlock/or_fail.h"
ORDERED = "-DORDERED=true"
FICKLE = "-DFICKLE=true"
ROWS = "-DROWS=true"
WALK = ("--search=walk", "--seed=1", "--executions=10000")
LOOKS = "--budget=expiry=2"  # so often a context looks although others could go on


def compiled(
    folder: Path, contexts: int, *flags: str, lock: str = "ttas", header: str | None = None
) -> Path:
    mutant = None if header is None else (HEADER.name, header)
    flags = (f"-DCONTEXTS={contexts}", *flags)
    return checking.compiled(HERE / "or_fail.cpp", folder, *flags, lock=lock, header=mutant)


def check(library: Path, size: str, model: str, *more: str) -> dict[str, Any]:
    return checking.check(library, f"lock {size} {model}", *more)


def failure(result: dict[str, Any]) -> str:
    return checking.failure(result, "how")


def test_two_that_wait_for_each_other_are_noticed(tmp_path: Path) -> None:
    result = check(compiled(tmp_path, 2), "2x1", "sc")
    assert (failure(result), result["exhausted"]) == ("", True), result


@pytest.mark.parametrize("contexts", [2, 3, 4])
@pytest.mark.parametrize("model", ["sc", "tso", "c11"])
def test_circles_of_any_length_are_noticed(tmp_path: Path, contexts: int, model: str) -> None:
    assert not failure(check(compiled(tmp_path, contexts), f"{contexts}x2", model, *WALK))


def test_overlock_notices_them(tmp_path: Path) -> None:
    library = compiled(tmp_path, 3, "-DBY_CLOCK=true", lock="rota")
    assert not failure(check(library, "3x1", "sc", *WALK))


@pytest.mark.parametrize(("flags", "model"), [("", "sc"), ("", "c11")])
def test_what_is_no_circle_does_not_fail(tmp_path: Path, flags: str, model: str) -> None:
    library = compiled(tmp_path, 2, ORDERED, *flags.split())
    result = check(library, "2x1", model, "--budget=expiry=1")
    assert (failure(result), result["exhausted"]) == ("", True), result


@pytest.mark.parametrize("model", ["sc", "tso", "c11"])
def test_what_is_no_circle_does_not_fail_among_more(tmp_path: Path, model: str) -> None:
    library = compiled(tmp_path, 3, ORDERED, FICKLE)
    assert not failure(check(library, "3x2", model, LOOKS, *WALK))


@pytest.mark.parametrize(("contexts", "model"), [(2, "sc"), (2, "c11"), (3, "sc")])
def test_looks_see_what_was_there_at_one_time(tmp_path: Path, contexts: int, model: str) -> None:
    result = check(compiled(tmp_path, contexts, ROWS), f"{contexts}x1", model)
    assert (failure(result), result["exhausted"]) == ("", True), result


@dataclass(frozen=True)
class Mutant:
    """A header with texts replaced, and how it is caught."""

    name: str
    changes: tuple[tuple[str, str], ...]
    contexts: int
    how: str
    flags: tuple[str, ...] = ()


HANGS = "relaxes at"
FALSE_ALARM = "fails without a circle"
FALSE_LOOK = "sees a circle where none was"
NOT_ITS = "does not have the lock that it acquired"
LOOK = "circle && ol_held_circle(me, l) == circle"
COUNT = "ol_load_acquire(&row->waits) == seen->wait;"
END = "ol_store_release(&w->row->waits_for, w->before);"
LISTS = "if (!error)\n\t\tol_held_add(l);"
LAST = "ol_load_relaxed(&row->locks[held - 1]));"
ONCE = (LOOK, "circle != 0")
MUTANTS = [
    Mutant("never looks", (("w->row && ol_held_is_circle(w->row, l)", "false"),), 2, HANGS),
    Mutant("notices two only", (("steps = ol_held_last(); steps", "steps = 2; steps"),), 3, HANGS),
    Mutant("looks once", (ONCE,), 3, FALSE_LOOK, (ROWS,)),
    Mutant("does not read a row as one", ((COUNT, "true;"), ONCE), 2, FALSE_LOOK, (ROWS,)),
    Mutant("waits for ever", ((END, ";"),), 2, FALSE_ALARM, (ORDERED, FICKLE)),
    Mutant("forgets a wait's lock", ((LISTS, ""),), 2, NOT_ITS),
    Mutant("forgets the last", ((LAST, "(const void *)0);"),), 2, NOT_ITS, (ORDERED,)),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_is_caught(tmp_path: Path, mutant: Mutant) -> None:
    header = changed(HEADER.read_text(), *mutant.changes)
    library = compiled(tmp_path, mutant.contexts, *mutant.flags, header=header)
    size, how = ("1", ()) if ROWS in mutant.flags else ("2", (LOOKS, *WALK))
    result = check(library, f"{mutant.contexts}x{size}", "sc", *how)
    assert mutant.how in failure(result)
