# SPDX-License-Identifier: MIT
"""The model checker explores the Rust as it is, under C11; each order that is dropped is caught."""

import re
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.command import Overlock
from tests.conftest import NATIVE, TOP
from tests.mutant import changed

HERE = Path(__file__).resolve().parent / "checked"
SOURCES = {"rota.rs": "fast.rs", "rwlock.rs": "shared.rs"}
RUSTC = shutil.which("rustc")
pytestmark = [
    pytest.mark.skipif(not RUSTC, reason="rustc is not installed"),
    pytest.mark.skipif(not (NATIVE / "overlock-check").exists(), reason="no checker was built"),
]


class Size(NamedTuple):
    scenario: str
    size: str
    roles: str = ""


WHOLE = {
    "rota.rs": (Size("lock", "2x1"), Size("try", "2x1")),
    "rwlock.rs": (
        Size("lock", "2x1"),
        Size("try", "2x1"),
        Size("lock", "2x1", "wr"),
        Size("lock", "3x1", "wrr"),
    ),
}
# One order, or one look, less: harness, text, what takes its place, where it shows. (That a waiter
# which gives up takes W back is for `cargo test` to notice: the next in the line does so, too.)
MUTANTS = {
    "try_lock acquires": (
        "rota.rs",
        "self.0.compare_exchange(w, w | HELD, Acquire, Relaxed)",
        "self.0.compare_exchange(w, w | HELD, Relaxed, Relaxed)",
        Size("lock", "2x1"),
    ),
    "the release releases": (
        "rota.rs",
        "(*low).store(value, Release)",
        "(*low).store(value, Relaxed)",
        Size("lock", "2x1"),
    ),
    "the release leaves the bits of waiters alone": (
        "rota.rs",
        "(*low).store(value, Release)",
        "word.store(value as u32, Release)",
        Size("lock", "2x1"),
    ),
    "try_lock looks whether it is held": (
        "rota.rs",
        "w & (HELD | CLAIMED) == 0",
        "w & CLAIMED == 0",
        Size("lock", "2x1"),
    ),
    "try_read acquires": (
        "rwlock.rs",
        "compare_exchange_weak(w, w + READER, Acquire, Relaxed)",
        "compare_exchange_weak(w, w + READER, Relaxed, Relaxed)",
        Size("lock", "2x1", "wr"),
    ),
    "try_write acquires": (
        "rwlock.rs",
        "compare_exchange(0, HELD, Acquire, Relaxed)",
        "compare_exchange(0, HELD, Relaxed, Relaxed)",
        Size("lock", "2x1"),
    ),
    "a reader that leaves releases": (
        "rwlock.rs",
        "fetch_sub(READER, Release)",
        "fetch_sub(READER, Relaxed)",
        Size("lock", "2x1", "wr"),
    ),
    "a writer that leaves releases": (
        "rwlock.rs",
        "fetch_sub(HELD, Release)",
        "fetch_sub(HELD, Relaxed)",
        Size("lock", "2x1"),
    ),
    "the last reader wakes": (
        "rwlock.rs",
        "== READER | WAITING",
        "== READER",
        Size("lock", "2x1", "wr"),
    ),
    "a writer that leaves wakes": (
        "rwlock.rs",
        "fetch_sub(HELD, Release) & WAITING != 0",
        "fetch_sub(HELD, Release) & WAITING == 7",
        Size("lock", "2x1"),
    ),
    "readers stay out while one waits": (
        "rwlock.rs",
        "w & (HELD | WAITING) == 0",
        "w & HELD == 0",
        Size("lock", "3x1", "wrr"),
    ),
}


def check(overlock: Overlock, harness: str, source: Path, size: Size) -> str:
    arguments = ["--source", str(source), "--cflags=--cfg overlock_checked", "--no-cache"]
    arguments += ["--model", "c11", "--scenario", size.scenario, "--size", size.size]
    arguments += ["--roles", size.roles] if size.roles else []
    done = overlock("check", str(HERE / harness), *arguments, "--seconds", "0")
    assert done.returncode in (0, 1, 4), done.stdout + done.stderr
    verdict = re.search(r"^\w+ +" + size.scenario + r"\b.*$", done.stdout, re.MULTILINE)
    assert verdict, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("harness", SOURCES)
def test_it_holds_under_c11(overlock: Overlock, tmp_path: Path, harness: str) -> None:
    for size in WHOLE[harness]:
        said = check(overlock, harness, TOP, size)
        assert "exhausted: holds" in said, said
        assert "FAILS" not in said, said


@pytest.mark.parametrize("name", MUTANTS)
def test_what_is_left_out_is_noticed(overlock: Overlock, tmp_path: Path, name: str) -> None:
    harness, old, new, size = MUTANTS[name]
    path = Path("rust/overlock/src") / SOURCES[harness]
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(changed((TOP / path).read_text(), (old, new)))
    assert "FAILS" in check(overlock, harness, tmp_path, size)
