# SPDX-License-Identifier: MIT
"""ThreadSanitizer sees no race under the crate's types, and sees one where an order is dropped."""

import subprocess
from pathlib import Path

import pytest

from tests.conftest import BUILD
from tests.mutant import changed
from tests.rust.crates import MISSING, RUSTS, Rust, copied

TARGET = "x86_64-unknown-linux-gnu"
# std has no instrumentation. Of the release TSan sees a store in the assembler's place.
FLAGS = "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer --cfg overlock_checked"
C_FLAGS = "-fsanitize=thread"
MUTANTS = [
    ("fast.rs", "(*low).store(value, Release)", "(*low).store(value, Relaxed)"),
    ("fast.rs", "w | HELD, Acquire, Relaxed", "w | HELD, Relaxed, Relaxed"),
    ("shared.rs", "fetch_sub(READER, Release)", "fetch_sub(READER, Relaxed)"),
    ("shared.rs", "w + READER, Acquire, Relaxed", "w + READER, Relaxed, Relaxed"),
]


def why_not() -> str:
    if MISSING:
        return MISSING
    asked = ["rustc", "--print", "sysroot"]
    told = subprocess.run(asked, capture_output=True, text=True, check=False)
    runtimes = Path(told.stdout.strip()).glob(f"lib/rustlib/{TARGET}/lib/librustc*_rt.tsan.a")
    return "" if RUSTS[0].name == "first" and any(runtimes) else "rustc has no ThreadSanitizer"


pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "-")


def races(rust: Rust, tree: Path) -> str:
    """What TSan says of a run."""
    folder = tree / "tests/rust/races"
    rust.run(
        folder,
        *("build", "--target", TARGET),
        RUSTC_BOOTSTRAP="1",
        RUSTFLAGS=FLAGS,
        HOST_CFLAGS=C_FLAGS,
    )
    program = BUILD / "rust" / rust.name / TARGET / "debug/races"
    done = subprocess.run([program], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode in ((0, 66) if done.stderr else (0,)), done.stderr
    return done.stderr


def test_no_race(tmp_path: Path) -> None:
    assert not races(RUSTS[0], copied(tmp_path, "tests/rust/races"))


@pytest.mark.parametrize(("file", "old", "new"), MUTANTS)
def test_an_order_that_is_dropped_is_a_race(tmp_path: Path, file: str, old: str, new: str) -> None:
    tree = copied(tmp_path, "tests/rust/races")
    source = tree / "rust/overlock/src" / file
    source.write_text(changed(source.read_text(), (old, new)))
    assert "data race" in races(RUSTS[0], tree)
