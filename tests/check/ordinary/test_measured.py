# SPDX-License-Identifier: MIT
"""Ordinary locks on real threads: what overlock-bench loads, and `overlock bench sections`."""

import ctypes
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from overlock_tools.bench import header_locks
from overlock_tools.core.ordinary import natively
from overlock_tools.core.system.errors import Fail
from tests.check.ordinary.test_ordinary import LOCKS, overlock, skip_without_rust
from tests.command import Done
from tests.conftest import TOP

LOCK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
TRYLOCK = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)
ROOM = 4096
PLATFORM = TOP / "tests/bench/measuring"  # locks for the platform layer


class Ops(ctypes.Structure):
    """struct ol_lock_ops."""

    _fields_ = (
        *((name, ctypes.c_char_p) for name in ("id", "source", "what")),
        *((name, ctypes.c_uint32) for name in ("abi", "size", "align", "traits")),
        ("lock", LOCK),
        ("trylock", TRYLOCK),
        ("timedlock", ctypes.c_void_p),
        ("unlock", LOCK),
    )


@pytest.mark.parametrize(
    ("file", "size"),
    [
        (LOCKS / "futex_mutex.c", 4),
        (LOCKS / "flag.h", 1),
        (LOCKS / "macros.h", 4),
        (LOCKS / "generated.c", 1),
        (LOCKS / "spinlock.hpp", 1),
        (LOCKS / "spin.rs", 1),
        (LOCKS / "mcs.c", 16),  # and the holder's node
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_lock_works_natively(tmp_path: Path, file: Path, size: int) -> None:
    skip_without_rust(file.name)
    library = ctypes.CDLL(str(natively.compile_lock(file, tmp_path)))
    name = natively.lock_id(file)
    ops = Ops.in_dll(library, f"ol_ops_{name}")
    assert (ops.id, ops.size) == (name.encode(), size)
    memory = ctypes.create_string_buffer(ROOM)
    at = ctypes.addressof(memory)
    getattr(library, f"ol_init_{name}")(ctypes.c_void_p(at))
    ops.lock(at)
    assert not ops.trylock(at)
    ops.unlock(at)
    assert ops.trylock(at)
    ops.unlock(at)
    assert memory.raw[size:] == bytes(ROOM - size)


@pytest.mark.parametrize(
    "file",
    [
        LOCKS / "semaphore.c",  # without its init nothing would ever acquire it
        LOCKS / "condition.c",
        LOCKS / "shared.cc",
        LOCKS / "mcs.c",
        LOCKS / "no_std.rs",
        TOP / "tests/check/foreign/waiting.c",  # has a table
        TOP / "tests/check/foreign/waiting.rs",
    ],
    ids=lambda file: file.name,
)
def test_lock_is_measured(tmp_path: Path, file: Path) -> None:
    skip_without_rust(file.name)
    out = tmp_path / "out.json"
    run = ("--threads", "2", "--rounds", "1", "--turns", "2000", "--json", out)
    done = overlock(tmp_path, "bench", "sections", "--locks", file, "--baseline", "ttas", *run)
    assert done.returncode == 0, done.stderr
    result = json.loads(out.read_text())
    name = natively.lock_id(file)
    assert name in result["variants"]
    cells = [cell for cell in result["cells"] if cell["variant"] == name]
    assert [cell["work"] > 0 and not cell["wrong"] for cell in cells] == [True]


# Somebody else's lock, in a folder of its own: a header, and a library with half of it.
THEIRS = {
    "there/theirs.h": """
        #include <stdatomic.h>
        struct theirs { atomic_int held; };
        #ifndef THEIRS_NEEDS
        #error define THEIRS_NEEDS
        #endif
        int theirs_take(struct theirs *t);
    """,
    "there/theirs.c": """
        #include "theirs.h"
        int theirs_take(struct theirs *t) { return atomic_exchange(&t->held, 1); }
    """,
    "adapter.c": """
        #include <overlock/checked.h>
        #include <sched.h>
        #include <theirs.h>
        static void lock(void *o) { while (theirs_take(o) && !OPEN) sched_yield(); }
        static void unlock(void *o) { atomic_store(&((struct theirs *)o)->held, 0); }
        const struct ol_checked_lock overlock_checked = {
            .name = "theirs", .size = sizeof(struct theirs), .lock = lock, .unlock = unlock,
        };
    """,
}
TAKES = ("-DTHEIRS_NEEDS", "-I{0}/there", "-L{0}/there", "-ltheirs", "-Wl,-rpath,{0}/there")


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    for name, text in THEIRS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    built = ("cc", "-shared", "-fPIC", "-DTHEIRS_NEEDS", "-o", "libtheirs.so", "theirs.c")
    subprocess.run(built, cwd=tmp_path / "there", check=True)
    return tmp_path


def measured(theirs: Path, flags: tuple[str, ...]) -> Done:
    """With four threads, of which two at a time are inside if nothing keeps them out."""
    told = "--cflags=" + " ".join(flags).format(theirs)
    run = ("--threads", "4", "--rounds", "4", "--seconds", "0.1", "--cs-ns", "20000")
    words = ("--locks", theirs / "adapter.c", "--baseline", "ttas", *run, "--json", "out.json")
    return overlock(theirs, "bench", "sections", *words, told)


def test_lock_of_another_folder_is_measured(theirs: Path) -> None:
    done = measured(theirs, (*TAKES, "-DOPEN=0"))
    assert done.returncode == 0, done.stderr
    result = json.loads((theirs / "out.json").read_text())
    cells = [cell for cell in result["cells"] if cell["variant"] == "adapter"]
    assert all(cell["work"] > 0 and not cell["wrong"] for cell in cells)
    assert "-DOPEN=0" in result["settings"]["cflags"]


def test_lock_of_another_folder_that_lets_all_in_is_wrong(theirs: Path) -> None:
    done = measured(theirs, (*TAKES, "-DOPEN=1"))
    assert done.returncode == 1
    cells = json.loads((theirs / "out.json").read_text())["cells"]
    wrong = {cell["wrong"] for cell in cells if cell["variant"] == "adapter"}
    assert any("in the critical section at once" in said for said in wrong)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (TAKES[:1], "theirs.h: No such file or directory; give its folder: --cflags=-IFOLDER"),
        (TAKES[1:], "define THEIRS_NEEDS; correct it, or give the compiler's options with"),
        (TAKES[:2], "or give its library: --cflags='-LFOLDER -lNAME'"),
    ],
    ids=("folder", "definition", "library"),
)
def test_what_another_folder_lacks_is_said(theirs: Path, flags: tuple[str, ...], said: str) -> None:
    done = measured(theirs, (*flags, "-DOPEN=0"))
    assert done.returncode != 0
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_header_of_another_folder_gets_the_flags(tmp_path: Path) -> None:
    header = tmp_path / "napper.h"
    shutil.copy(PLATFORM / "napper.h", header)
    with pytest.raises(Fail, match=r"planted\.h"):
        header_locks.compile_lock(header, tmp_path)
    assert header_locks.compile_lock(header, tmp_path, flags=f"-I{PLATFORM}").is_file()


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    shutil.copy(LOCKS / "ticket.c", tmp_path)
    shutil.copy(LOCKS / "spinlock.hpp", tmp_path / "ticket.hpp")
    done = overlock(tmp_path, "bench", "sections", "--locks", "./ticket.c,./ticket.hpp")
    assert "have the same name; rename one of them" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bench", "sections", "--counters", "--locks", LOCKS / "ticket.c"), "has no counters"),
        (("bench", "sections", "--locks", LOCKS / "two_locks.c"), "--type reader` writes a table"),
        (
            ("bench", "sections", "--locks", TOP / "check/foreign/linux_qspinlock.c"),
            "only `overlock check --source` has them",
        ),
        *(
            ((*words, LOCKS / file, *more), "only `overlock check` and `overlock bench` take")
            for words, more in (
                (("run", "--lock"), ("--", "true")),
                (("tune", "--lock"), ("--", "true")),
                (("sim", "which-lock", "--locks"), ()),
                (("guest", "boot", "--lock"), ()),
            )
            for file in ("ticket.c", "flag.h")
        ),
    ],
)
def test_what_else_does_not_take_such_a_file(
    tmp_path: Path, words: tuple[str | Path, ...], said: str
) -> None:
    done = overlock(tmp_path, *words)
    assert done.returncode in (2, 125)  # bad usage; `run` and `tune`: of themselves
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
