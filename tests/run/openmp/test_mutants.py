# SPDX-License-Identifier: MIT
"""Mutants of the OpenMP adapter: one thing wrong with each, and what notices."""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests.run.conformance.asking import differences, wanted
from tests.run.conformance.test_mutants import UNCHANGED, Mutant, build
from tests.run.conftest import run
from tests.run.openmp.conftest import Make
from tests.run.openmp.test_openmp import openmp, table

RUNS = 5  # of a race: others have to come at the right time


class Judge:
    """The tests' programs, and how a library answers them."""

    def __init__(self, make: Make, lock_cases: dict[str, Path]) -> None:
        self.make = make
        self.lock_cases = lock_cases

    def cases(self, library: Path, pattern: str) -> bool:
        chosen = [case for case in table("llvm") if fnmatchcase(case.name, f"openmp/{pattern}")]
        assert chosen
        env = openmp("tas_yield", LD_PRELOAD=str(library))
        return not differences(self.lock_cases["llvm"], wanted(chosen, {"openmp"}), env, seconds=5)

    def prints(self, library: Path, right: str, *command: Path | str, **more: str) -> bool:
        """Whether it does; a program that waits for ever does not."""
        env = openmp("tas_yield", "llvm", LD_PRELOAD=str(library), **more)
        try:
            done = run([*command], env, timeout=60)
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0 and right in done.stdout

    def many_locks(self, library: Path) -> bool:
        constructs = self.make("constructs.c", "llvm")
        return self.prints(library, "many locks: 0\n", constructs, "4", "500")

    def first_use(self, library: Path) -> bool:
        first_use = self.make("first_use.c", "llvm")
        return all(self.prints(library, "0\n", first_use, "8", "800") for _ in range(RUNS))

    def tool(self, library: Path) -> bool:
        tool = self.make("tool.c", "llvm", "-shared", "-fPIC")
        command = (self.make("constructs.c", "llvm"), "1", "100")
        right = run([*command], openmp(None, OMP_TOOL_LIBRARIES=str(tool))).stdout
        return self.prints(library, right, *command, OMP_TOOL_LIBRARIES=str(tool))

    def two_runtimes(self, library: Path) -> bool:
        theirs = self.make("many_runtimes.c", "llvm", "-DLIBRARY", "-shared", "-fPIC")
        ours = self.make("many_runtimes.c", "gnu")
        return self.prints(library, "library: 0\n", ours, theirs, "500")

    def reuse(self, library: Path) -> bool:
        """A destroyed lock is none."""
        return self.cases(library, "c/free/destroy-and-init") and not self.prints(
            library, "", self.make("no_lock.c", "llvm")
        )


@dataclass(frozen=True)
class Wrong:
    right: str
    wrong: str
    is_well: Callable[[Judge, Path], bool]


def cases(pattern: str) -> Callable[[Judge, Path], bool]:
    return lambda judge, library: judge.cases(library, pattern)


MUTANTS = {
    "nested locks do not count": Wrong(
        "(int)m->depth + 1;", "1;", cases("c_nested/held-by-self/test")
    ),
    "nested locks are simple ones": Wrong(
        "init_nest_lock, init(l, NESTED))",
        "init_nest_lock, init(l, SIMPLE))",
        cases("c_nested/held-by-self/test"),
    ),
    "a test waits": Wrong(
        "return ol_run_mutex_trylock(m, site) ? 0 : (int)m->depth + 1;",
        "ol_run_mutex_lock(m, site); return (int)m->depth + 1;",
        cases("c/held-by-other/test"),
    ),
    "a lock has 8 bytes": Wrong(
        "ol_store_relaxed(word, type);",
        "ol_store_relaxed((uint64_t *)(void *)word, (uint64_t)type);",
        cases("c/free/set"),
    ),
    "a handle for two locks": Wrong(
        "return segment + (handle ^ (1u << n));",
        "return segment + (handle & 1023);",
        Judge.many_locks,
    ),
    "a section of two mutexes": Wrong(
        "if (ol_cas_release(word, was, made))",
        "usleep(50); ol_store_release(word, made); if (made)",
        Judge.first_use,
    ),
    "a destroyed lock is still one": Wrong(
        "ol_store_relaxed(word, (uint32_t)NONE);",
        "",
        Judge.reuse,
    ),
    "a tool is not seen": Wrong(
        'return is_set("OMP_TOOL_LIBRARIES", "") || (start && base_of(start) != r->base);',
        "return !start && r->base == start;",
        Judge.tool,
    ),
    "one runtime for all": Wrong("while (r && r->base != base)", "while (0)", Judge.two_runtimes),
}


@pytest.fixture(scope="module")
def judge(make: Make, lock_cases: dict[str, Path]) -> Judge:
    return Judge(make, lock_cases)


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_caught(judge: Judge, tmp_path: Path, name: str) -> None:
    wrong = MUTANTS[name]
    assert wrong.is_well(judge, UNCHANGED)
    mutant = build(tmp_path, Mutant(name, "openmp.c", wrong.right, wrong.wrong, "tas_yield", ()))
    assert not wrong.is_well(judge, mutant)
