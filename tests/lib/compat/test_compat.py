# SPDX-License-Identifier: MIT
"""overlock/compat: other libraries' locking APIs on our locks.

A program in the API of a library is compiled with that library's own headers and with ours, in C
and C++, and must find the same with both. So what the program expects is what the library does.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from overlock_tools.core.model import defs
from tests.lib.install.conftest import Installed, run
from tests.mutant import changed
from tests.processes import HANG_S

HERE = Path(__file__).parent
WARN = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]
LANGUAGES = {"c": ["-x", "c", "-std=gnu11"], "c++": ["-x", "c++", "-std=c++20"]}
CROWD = ("16", "1000")  # threads, sections of each
MUTANT_HANG_S = 20
FEW = ("3", "10")  # for locks that hand over to a thread which may have no CPU: milliseconds each


@dataclass(frozen=True)
class Header:
    """One of overlock/compat: how a program takes it, and what it may stand on."""

    name: str
    takes: tuple[str, ...]  # options in place of the library's header
    languages: tuple[str, ...]  # with ours
    locks: frozenset[str]  # that it accepts
    native: bool = True  # the library's own header can be had


UNFAIR = {"tas", "ttas", "tas_yield", "paced", "dec", "byte", "preemptable_ticket"}
SHARED = UNFAIR | {"ticket", "ticket_backoff", "i_spin", "i_spin_pv"}
PARKED = {"pv_byte", "pv_ticket", "oticket", "pv_preemptable_ticket", "warned", "rota"}
OF_4_BYTES = {"twa", "qspin", "pv_qspin", "unfair_qspin", "owner_qspin"}
(FORMER, *_) = defs.load().aliases
HEADERS = {
    header.name: header
    for header in (
        Header("dpdk", ("-include", "overlock/compat/dpdk.h"), ("c", "c++"), frozenset(SHARED)),
        Header(
            "ck",
            ("-include", "overlock/compat/ck.h"),
            ("c", "c++"),
            frozenset(SHARED | PARKED | OF_4_BYTES),
        ),
        Header("postgresql", (), ("c", "c++"), frozenset(UNFAIR), native=False),
        Header("plock", ("-DOURS",), ("c",), frozenset()),
    )
}


@pytest.fixture
def theirs(request: pytest.FixtureRequest) -> list[str]:
    """What compiling with the library's own headers needs, of the header that is tested."""
    name = request.node.callspec.params["name"]
    return list(request.getfixturevalue(name)) if HEADERS[name].native else []


def compiled(
    name: str, program: Path, flags: list[str], language: str = "c", more: tuple[str, ...] = ()
) -> Path:
    sources: list[str | Path] = [*LANGUAGES[language], HERE / f"{name}.c", "-x", "none"]
    compiler = {"c": "gcc", "c++": "g++"}[language]
    run(compiler, "-O2", "-g", *WARN, *more, *sources, "-o", program, *flags, "-pthread")
    return program


@dataclass(frozen=True)
class Ours:
    """Compiles with our headers, of an installed copy or of a changed one."""

    installed: Installed
    include: Path
    folder: Path

    def flags(self) -> list[str]:
        lib = self.installed.lib
        return ["-isystem", str(self.include), f"-L{lib}", f"-Wl,-rpath,{lib}", "-loverlock"]

    def program(self, name: str, theirs: list[str], *more: str, language: str = "c") -> Path:
        """With the counter of yields in it, which the program finds by itself."""
        counter = self.folder / "yields.o"
        run("gcc", "-O2", "-c", HERE / "yields.c", "-o", counter)
        flags = [*self.flags(), str(counter), *theirs]
        takes = (*HEADERS[name].takes, *more)
        return compiled(name, self.folder / f"{name}-{language}", flags, language, takes)


@pytest.fixture
def ours(installed: Installed, tmp_path: Path) -> Ours:
    return Ours(installed, installed.prefix / "include", tmp_path)


def ends(program: Path, *words: str, hang_s: int = int(HANG_S)) -> tuple[int, str]:
    """Its exit code, negative for a signal, and what it printed."""
    command = [str(program), *words[:2], str(hang_s), *words[2:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def calls(program: Path) -> str:
    return run("nm", program)


NATIVE = [name for name, header in HEADERS.items() if header.native]


@pytest.mark.parametrize("name", NATIVE)
def test_the_librarys_own_header_does_what_the_program_expects(
    name: str, theirs: list[str], tmp_path: Path
) -> None:
    program = compiled(name, tmp_path / name, theirs)
    assert "ol_" not in calls(program)
    assert ends(program, *FEW)[0] == 0, ends(program, *FEW)[1]


@pytest.mark.parametrize(
    ("name", "language"), [(h.name, language) for h in HEADERS.values() for language in h.languages]
)
def test_our_header_does_the_same(name: str, language: str, theirs: list[str], ours: Ours) -> None:
    program = ours.program(name, theirs, language=language)
    assert "ol_yield" in calls(program)
    code, printed = ends(program, *CROWD)
    assert code == 0, printed


@pytest.mark.parametrize(
    ("name", "lock"),
    [*((h.name, lock) for h in HEADERS.values() for lock in sorted(h.locks)), ("ck", FORMER)],
)
def test_every_lock_that_a_header_accepts(
    name: str, lock: str, theirs: list[str], ours: Ours
) -> None:
    """Without the counter of yields: not every lock has yielding waiters."""
    chosen = (*HEADERS[name].takes, f"-DOVERLOCK_COMPAT_LOCK={lock}")
    program = compiled(name, ours.folder / name, [*ours.flags(), *theirs], more=chosen)
    assert ends(program, *FEW)[0] == 0, ends(program, *FEW)[1]


def said(name: str, lock: str, theirs: list[str], include: Path, language: str) -> str:
    """What the compiler says to a program with that lock; nothing if it compiles."""
    command = ["gcc", "-fsyntax-only", *LANGUAGES[language], "-isystem", str(include)]
    chosen = [f"-DOVERLOCK_COMPAT_LOCK={lock}", "-include", f"overlock/compat/{name}.h"]
    done = subprocess.run(
        [*command, *theirs, *chosen, "-"],
        input="int unit;\n",
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C"},
        check=False,
    )
    assert bool(done.returncode) == ("error: " in done.stderr), done.stderr
    return done.stderr


REASONS = {
    "fits4": "does not fit the 4 bytes of the lock that it replaces",
    "elides": "cannot be released by another thread",
    "private": "cannot be shared between processes",
    "park": "cannot be shared between processes",
    "waits": "waits without a limit, but PostgreSQL must report a stuck spinlock",
}


def reasons(name: str, lock: dict[str, Any]) -> set[str]:
    """Why the header refuses the lock, by what the list says of it."""
    traits = set(lock["traits"])
    found = set()
    if "fits4" not in traits:
        found.add(REASONS["fits4"])
    if "elides" in traits:
        found.add(REASONS["elides"])
    if name != "ck" and traits & {"private", "needs_park"}:
        found.add(REASONS["private"])
    if name == "postgresql" and lock["gives_up"] == "waits":
        found.add(REASONS["waits"])
    return found


@pytest.mark.parametrize("language", ["c", "c++"])
@pytest.mark.parametrize("name", ["ck", "dpdk", "postgresql"])
def test_locks_that_cannot_do_it_are_refused(
    name: str, language: str, theirs: list[str], installed: Installed, defs: Any
) -> None:
    include = installed.prefix / "include"
    flags = [word for word in theirs if not word.startswith("-l")]
    for lock in defs["locks"]:
        printed = said(name, lock["id"], flags, include, language)
        expected = reasons(name, lock)
        assert bool(expected) == (lock["id"] not in HEADERS[name].locks), lock["id"]
        found = {reason for reason in REASONS.values() if reason in printed}
        assert found == expected, (lock["id"], printed)
        if expected:
            assert f"overlock: the lock {lock['id']} " in printed
            assert "define OVERLOCK_COMPAT_LOCK as another one" in printed
        else:
            assert printed == ""


def test_a_lock_that_does_not_exist_is_named(installed: Installed) -> None:
    printed = said("postgresql", "nolock", [], installed.prefix / "include", "c")
    assert "overlock/lock/nolock.h" in printed


@pytest.mark.parametrize("name", ["ck", "dpdk"])
def test_ours_after_theirs_is_refused(name: str, theirs: list[str], ours: Ours) -> None:
    """Two definitions of one lock in a program would be worse than none."""
    first = {"ck": "ck_spinlock.h", "dpdk": "rte_spinlock.h"}[name]
    source = ours.folder / "late.c"
    source.write_text(f"#include <{first}>\n#include <overlock/compat/{name}.h>\n")
    include = ["-isystem", str(ours.include)]
    printed = run("gcc", "-fsyntax-only", *theirs, *include, source, code=1)
    assert f"include overlock/compat/{name}.h before" in printed


def test_postgresql_hears_of_a_lock_that_stays_held(ours: Ours) -> None:
    program = ours.program("postgresql", [], "-DOL_PG_PATIENCE_NS=1000000")
    code, printed = ends(program, "1", "1", "stuck")
    assert code == 0, printed


def test_locks_that_need_no_library_link_without_it(
    ck: list[str], installed: Installed, tmp_path: Path
) -> None:
    include = ["-isystem", str(installed.prefix / "include")]
    chosen = (*HEADERS["ck"].takes, "-DOVERLOCK_COMPAT_LOCK=ttas")
    program = compiled("ck", tmp_path / "ck", [*include, *ck], more=chosen)
    assert ends(program, *FEW)[0] == 0


@dataclass(frozen=True)
class Mutant:
    """A change of a header that the programs must notice."""

    file: str
    before: str
    after: str
    noticed_by: str
    words: tuple[str, ...] = CROWD
    more: tuple[str, ...] = ()


MUTANTS = {
    "lock does not wait": Mutant(
        "lock.h",
        "OL_COMPAT(_lock)(&l->lock);",
        "(void)OL_COMPAT(_trylock)(&l->lock);",
        "ck",
    ),
    "trylock always succeeds": Mutant(
        "lock.h",
        "return OL_COMPAT(_trylock)(&l->lock);",
        "(void)OL_COMPAT(_trylock)(&l->lock); return true;",
        "postgresql",
    ),
    "unlock does nothing": Mutant("lock.h", "OL_COMPAT(_unlock)(&l->lock);", "(void)l;", "ck"),
    "init keeps what was there": Mutant(
        "lock.h", "ol_store_relaxed(&l->word, 0u);", "(void)l;", "ck"
    ),
    "is_locked is always false": Mutant(
        "lock.h",
        "seen.word = ol_load_acquire(&l->word); return OL_COMPAT(_is_locked)(&seen.lock);",
        "seen.word = ol_load_acquire(&l->word); return false;",
        "postgresql",
    ),
    "dpdk: mcs is never locked": Mutant(
        "dpdk.h", "return ol_compat_is_locked_in(&msl);", "return !&msl;", "dpdk"
    ),
    "dpdk: trylock returns 0 for success": Mutant(
        "dpdk.h",
        "return ol_compat_trylock(&l->ol);",
        "return !ol_compat_trylock(&l->ol);",
        "dpdk",
    ),
    "dpdk: lock_tm does not lock": Mutant(
        "dpdk.h", "rte_##type##_lock(l);", "(void)rte_##type##_trylock(l);", "dpdk"
    ),
    "dpdk: recursive unlock releases at once": Mutant(
        "dpdk.h", "if (--l->count)", "if (--l->count < 0)", "dpdk"
    ),
    "dpdk: recursive unlock keeps the owner": Mutant(
        "dpdk.h",
        "ol_store_relaxed(&l->user, -1); rte_",
        "rte_",
        "dpdk",
    ),
    "dpdk: recursive trylock is none for the owner": Mutant(
        "dpdk.h",
        "if (ol_load_relaxed(&l->user) != id) { if (!",
        "if (id) { if (!",
        "dpdk",
    ),
    "dpdk: mcs does not lock": Mutant(
        "dpdk.h", "ol_compat_lock_in(msl);", "(void)ol_compat_trylock_in(msl);", "dpdk"
    ),
    "ck: dec is initialised as CK's, which is held": Mutant(
        "ck.h",
        "CK_SPINLOCK_DEC_INITIALIZER { OL_COMPAT_INIT }",
        "CK_SPINLOCK_DEC_INITIALIZER { { 1 } }",
        "ck",
    ),
    "ck: lock_pb does not lock": Mutant(
        "ck.h",
        "(void)backoff; ol_compat_lock(&l->ol);",
        "(void)backoff; (void)ol_compat_trylock(&l->ol);",
        "ck",
    ),
    "ck: clh releases the node, not the lock": Mutant(
        "ck.h", "&(*thread)->held->ol", "&(*thread)->ol", "ck"
    ),
    "ck: clh init leaves the lock held": Mutant("ck.h", "ol_compat_init(&unowned->ol);", "", "ck"),
    "ck: anderson gives no slot": Mutant("ck.h", "*slot = l->slots;", "(void)slot;", "ck"),
    "ck: mcs locked is inverted": Mutant(
        "ck.h",
        "return ol_compat_is_locked_in(&seen);",
        "return !ol_compat_is_locked_in(&seen);",
        "ck",
    ),
    "postgresql: TAS returns 1 for success": Mutant(
        "postgresql.h", "((int)!ol_compat_trylock", "((int)ol_compat_trylock", "postgresql"
    ),
    "postgresql: free is held": Mutant(
        "postgresql.h", "S_LOCK_FREE(lock) (!", "S_LOCK_FREE(lock) (", "postgresql"
    ),
    "postgresql: a lock that stays held is taken": Mutant(
        "postgresql.h",
        "return ol_compat_trylock(lock) || ol_pg_wait(lock);",
        "(void)(ol_compat_trylock(lock) || ol_pg_wait(lock)); return true;",
        "postgresql",
        words=("1", "1", "stuck"),
        more=("-DOL_PG_PATIENCE_NS=1000000",),
    ),
    "postgresql: no patience": Mutant(
        "postgresql.h",
        "ol_compat_trylock(lock) || ol_pg_wait(lock)",
        "ol_compat_trylock(lock) || (0 && ol_pg_wait(lock))",
        "postgresql",
    ),
    "plock: a writer does not wait for readers": Mutant(
        "plock.h",
        "ol_pl_alone_##suffix(lock); return 1;",
        "return 1;",
        "plock",
    ),
    "plock: a seeker does not wait for readers": Mutant(
        "plock.h",
        "ol_add_acquire(lock, (type)(W1)); ol_pl_alone_##suffix(lock);",
        "ol_add_acquire(lock, (type)(W1));",
        "plock",
    ),
    "plock: readers do not wait": Mutant(
        "plock.h",
        "ol_pl_take_##suffix(lock, (type)(R1), (type)(W))",
        "ol_add_acquire(lock, (type)(R1))",
        "plock",
    ),
    "plock: a claim that fails leaves its mark": Mutant(
        "plock.h",
        "ol_add_relaxed(lock, (type)-mine);",
        "(void)mine;",
        "plock",
    ),
    "plock: a seeker lets others seek": Mutant(
        "plock.h",
        "ol_pl_take_##suffix(lock, (type)((S1) | (R1)), (type)((W) | (S)))",
        "ol_pl_take_##suffix(lock, (type)((S1) | (R1)), (type)(W))",
        "plock",
    ),
    "plock: take_w is no seeker": Mutant(
        "plock.h",
        "ol_pl_take_##suffix(lock, (type)((W1) | (S1) | (R1))",
        "ol_pl_take_##suffix(lock, (type)((W1) | (R1))",
        "plock",
    ),
    "plock: waiters never yield": Mutant("plock.h", "if (ol_passed(tired))", "if (0)", "plock"),
}


@pytest.mark.parametrize("what", MUTANTS)
def test_broken_headers_are_noticed(what: str, ours: Ours, request: pytest.FixtureRequest) -> None:
    """A mutant that hangs is noticed, too: 20 s are far more than it needs if it is right."""
    mutant = MUTANTS[what]
    theirs = request.getfixturevalue(mutant.noticed_by) if mutant.noticed_by in NATIVE else []
    include = ours.folder / "include"
    shutil.copytree(ours.include, include)
    header = include / "overlock/compat" / mutant.file
    header.write_text(changed(header.read_text(), (mutant.before, mutant.after)))
    broken = Ours(ours.installed, include, ours.folder)
    program = broken.program(mutant.noticed_by, theirs, *mutant.more)
    assert ends(program, *mutant.words, hang_s=MUTANT_HANG_S)[0] != 0
