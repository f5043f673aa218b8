# SPDX-License-Identifier: MIT
"""The interposer on versions of glibc that it was not built on, and built on their headers.

A program answers as it does natively on that version.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from overlock_tools.core.system import native
from tests.run.conformance.asking import OURS, differences, wanted
from tests.run.conformance.test_conformance import part_of
from tests.run.conftest import Compile, environment, output
from tests.run.glibc.conftest import FLAVOURS, Glibc

LOCKS = ["tas_yield", "ticket", "mcs", "partitioned_ticket"]
REPLACED = {"OVERLOCK_RWLOCK": "qrw", "OVERLOCK_SPINLOCK": "tas_yield"}
PROGRAMS = {
    "answers": ("conformance.c",),
    "condition variables": ("conditions.c", "15"),
    "their attributes": ("cond_layout.c",),
    "process-shared ones": ("mixed.c",),
    "cancellation": ("cancel.c",),
    "forks": ("fork.c", "3"),
    "an allocator's forks": ("fork_allocator.c",),
    "copies": ("copied.c",),
    "C++": ("standard.cpp", "50"),
    "C++'s shared mutexes": ("shared.cpp", "100"),
}

# What glibc's own do not survive.
FORKED = {
    "rwlocks": ("rwlock.c", "written: all\nchildren that returned: 10 of 10\n"),
    "spinlocks": ("spinlock.c", "threads: 1\nprocesses: 1\nchildren that returned: 10 of 10\n"),
}


def test_it_is_another_version(glibc: Glibc) -> None:
    oldest = {"trixie": (2, 41), "sid": (2, 42)}
    assert tuple(map(int, glibc.version.split("."))) >= oldest[glibc.root.name]


@pytest.mark.parametrize("what", PROGRAMS)
@pytest.mark.parametrize("lock", LOCKS)
def test_a_program_answers_as_natively(on_it: Compile, lock: str, what: str) -> None:
    source, *args = PROGRAMS[what]
    command: list[str | Path] = [on_it(source), *args]
    env = environment(lock, None, **REPLACED)
    assert output(command, env) == output(command, environment(None))


@pytest.mark.parametrize("what", FORKED)
def test_other_locks_survive_forks(on_it: Compile, what: str) -> None:
    source, expected = FORKED[what]
    said = output([on_it(source), "100", "10"], environment("tas_yield", None, **REPLACED))
    assert said == expected


def test_glibc_answers_as_the_table_says(cases_on_it: Path) -> None:
    assert not differences(cases_on_it, wanted(part_of(0), set()), environment(None))


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_answers_as_the_table_says(cases_on_it: Path, lock: str) -> None:
    expected = wanted(part_of(1 + LOCKS.index(lock)), {*OURS, "rwlock", "spin"})
    assert not differences(cases_on_it, expected, environment(lock, None, **REPLACED))


@pytest.mark.parametrize("flavour", FLAVOURS[1:])
def test_diagnostics_answer_the_same(on_it: Compile, tmp_path: Path, flavour: str) -> None:
    library = native.file(f"liboverlock-run{flavour}.so")
    more = {
        "OVERLOCK_CHECK": "1",
        "OVERLOCK_STACKS": "wait",
        "OVERLOCK_OUTPUT": str(tmp_path / "r"),
    }
    program = on_it("conformance.c")
    assert output([program], environment("mcs", library, **more)) == output(
        [program], environment(None)
    )


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("what", ["answers", "condition variables", "their attributes", "C++"])
def test_built_on_its_headers(
    built_on_it: Callable[[str], Path], on_it: Compile, what: str, flavour: str
) -> None:
    source, *args = PROGRAMS[what]
    command: list[str | Path] = [on_it(source), *args]
    env = environment("ticket", built_on_it(flavour), OVERLOCK_OUTPUT="/dev/null", **REPLACED)
    assert output(command, env) == output(command, environment(None))
