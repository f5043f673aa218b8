# SPDX-License-Identifier: MIT
"""Every call on every kind of object in every state, as conformance/table.toml has it: natively, for
glibc is asked whether the table is right, and under every lock.

A lock is asked a part of the cases, another one each; OVERLOCK_CONFORMANCE=all asks all of all, as
`make conformance` does.
"""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from conftest import LOCKS, SPINLOCKS, environment, run

from overlock_tools import native

FOLDER = Path(__file__).resolve().parent / "conformance"
spec = importlib.util.spec_from_file_location("generate", FOLDER / "generate.py")
assert spec
assert spec.loader
generate = importlib.util.module_from_spec(spec)
sys.modules["generate"] = generate
spec.loader.exec_module(generate)

ALL = os.environ.get("OVERLOCK_CONFORMANCE") == "all"
PARTS = 9
Case = generate.Case


@pytest.fixture(scope="session")
def cases(folder: Path) -> Path:
    out = folder / "cases"
    flags = ["-std=gnu17", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]
    subprocess.run(["gcc", *flags, *sorted(FOLDER.glob("*.c")), "-o", out], check=True)
    return out


def part_of(number: int, parts: int = PARTS) -> list[Case]:
    """Every so many-th case, so that a part has something of each family, kind and call."""
    return [case for i, case in enumerate(generate.load()) if ALL or i % parts == number % parts]


def wanted(chosen: Iterable[Case], ours: set[str]) -> dict[str, tuple[Case, str]]:
    """What each must say where these families are not glibc's."""
    results = ((c, c.ours if c.family in ours else c.native) for c in chosen)
    return {case.name: (case, result) for case, result in results if result is not None}


def differences(program: Path, expected: dict[str, tuple[Case, str]], **how: object) -> list[str]:
    env = how.get("env", environment(None))
    asked = "".join(f"{case.asked(result)}\n" for case, result in expected.values())
    seconds = str(how.get("seconds", 20))
    command = [str(program), "--seconds", seconds, *(["--exec"] if how.get("anew") else [])]
    done = subprocess.run(  # type: ignore[call-overload]
        command, env=env, input=asked, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    said = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert said.keys() == expected.keys()
    return [
        f"{name}: {said[name]}, not {result}"
        for name, (_, result) in expected.items()
        if said[name] != result
    ]


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
    done = subprocess.run([cases], input="mutex/normal/free/lok\n", capture_output=True, text=True)
    assert done.returncode == 2


NATIVE_PARTS = 1 if ALL else 8


def test_glibc_answers_as_the_table_says(cases: Path) -> None:
    assert not differences(cases, wanted(part_of(0, NATIVE_PARTS), set()))


OURS = {"mutex", "cond", "c11"}


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


@pytest.mark.parametrize("lock", SPINLOCKS)
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
    assert not differences(cases, wanted(part_of(7), set()), env=environment("ticket", **more))
