# SPDX-License-Identifier: MIT
"""Ordinary locks on real threads: what overlock-bench loads, and `overlock bench sections`."""

import ctypes
import json
import shutil
from pathlib import Path

import pytest

from overlock_tools.core.ordinary import natively
from tests.check.ordinary.test_ordinary import LOCKS, overlock, skip_without_rust
from tests.conftest import TOP

LOCK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
TRYLOCK = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)
ROOM = 4096


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
