# SPDX-License-Identifier: MIT
"""Every call on every kind of object in every state, as conformance/table.toml has it.

Natively, for glibc is asked whether the table is right, and under every lock.

A lock is asked a part of the cases, another one each; OVERLOCK_CONFORMANCE=all asks all of all, as
`make conformance` does.
"""

import os
import subprocess
from pathlib import Path

import pytest

from overlock_tools.core.system import native
from tests.run.conformance import generate
from tests.run.conformance.asking import OURS, differences, wanted
from tests.run.conformance.generate import Case
from tests.run.conftest import LOCKS, SPINLOCKS, environment, run

ALL = os.environ.get("OVERLOCK_CONFORMANCE") == "all"
PARTS = 9


def part_of(number: int, parts: int = PARTS) -> list[Case]:
    """Every so many-th case, so that a part has something of each family, kind and call."""
    return [case for i, case in enumerate(generate.load()) if ALL or i % parts == number % parts]


def test_the_table_has_the_programs_words(cases: Path) -> None:
    said = run([cases, "--list"], environment(None)).stdout.splitlines()
    have = {tuple(line.split()) for line in said}
    words: set[tuple[str, ...]] = set()
    for case in generate.load():
        words |= {
            (case.family, "kinds", case.kind),
            (case.family, "states", case.state),
            (case.family, "calls", case.call),
        }
    assert have == words


def test_there_are_many_cases_and_blanks_have_a_reason() -> None:
    table = generate.load()
    assert sum(case.ours is not None for case in table) > 5000
    assert all(case.why for case in table if case.ours is None or case.ours != case.native)


def test_a_combination_that_no_rule_fits_is_an_error() -> None:
    family = {"kinds": "a", "states": "b", "calls": "c d", "rules": [{"calls": "c", "result": "0"}]}
    with pytest.raises(SystemExit, match="says nothing about mutex/a/b/d"):
        list(generate.expand({"mutex": family}))
    family["rules"] = [{"result": "0"}, {"calls": "c", "result": "0"}]
    with pytest.raises(SystemExit, match="no case of mutex is left"):
        list(generate.expand({"mutex": family}))


def test_a_case_that_does_not_exist_is_refused(cases: Path) -> None:
    asked = "mutex/normal/free/lok\n"
    done = subprocess.run([cases], input=asked, capture_output=True, text=True, check=False)
    assert done.returncode == 2


NATIVE_PARTS = 1 if ALL else 8


def test_glibc_answers_as_the_table_says(cases: Path) -> None:
    assert not differences(cases, wanted(part_of(0, NATIVE_PARTS), set()), environment(None))


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_answers_as_the_table_says(cases: Path, lock: str) -> None:
    expected = wanted(part_of(LOCKS.index(lock)), OURS)
    assert not differences(cases, expected, env=environment(lock))


@pytest.mark.parametrize("lock", ["tas_yield", "mcs"])
def test_in_a_process_that_never_forked(cases: Path, lock: str) -> None:
    expected = wanted(part_of(3 + LOCKS.index(lock)), OURS | {"rwlock"})
    env = environment(lock, OVERLOCK_RWLOCK="qrw")
    assert not differences(cases, expected, env=env, anew=True)


def of_family(name: str) -> list[Case]:
    return [case for case in generate.load() if case.family == name]


def test_rwlocks_over_qrw(cases: Path) -> None:
    chosen = of_family("rwlock")[:: 1 if ALL else 4]
    env = environment("tas_yield", OVERLOCK_RWLOCK="qrw")
    assert not differences(cases, wanted(chosen, {"rwlock"}), env=env)


@pytest.mark.parametrize("lock", ["spin_yield", *SPINLOCKS])
def test_spinlocks(cases: Path, lock: str) -> None:
    env = environment("ticket", OVERLOCK_SPINLOCK=lock)
    assert not differences(cases, wanted(of_family("spin"), {"spin"}), env=env)


def test_counted_answers_the_same(cases: Path, tmp_path: Path) -> None:
    library = native.file("liboverlock-run-counted.so")
    more = {"OVERLOCK_RWLOCK": "qrw", "OVERLOCK_SPINLOCK": "tas_yield"}
    env = environment("twa", library, OVERLOCK_OUTPUT=str(tmp_path / "report"), **more)
    expected = wanted(part_of(5), {*OURS, "rwlock", "spin"})
    assert not differences(cases, expected, env=env)


def test_disabled_everything_is_glibcs(cases: Path) -> None:
    more = {"OVERLOCK_RWLOCK": "qrw", "OVERLOCK_SPINLOCK": "tas", "OVERLOCK_DISABLE": "1"}
    assert not differences(
        cases, wanted(part_of(7), set()), env=environment("ticket", None, **more)
    )
