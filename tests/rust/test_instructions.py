# SPDX-License-Identifier: MIT
"""An uncontended lock and unlock in Rust, by callgrind, beside the same in C by gcc -O2."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import BUILD
from tests.lib.instructions import run
from tests.mutant import changed
from tests.rust.crates import MISSING, RUSTS, copied

if not MISSING and not shutil.which("valgrind"):
    MISSING = "valgrind is not installed"
pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)

# Two calls and returns, and the registers that a function saves for calls of its own (owner_qspin).
CALLS = 12
CLOCKED = {"i_spin", "i_spin_pv", "warned"}  # their first attempt asks for the time


def in_rust(tree: Path) -> run.Counts:
    RUSTS[0].run(tree / "tests/rust/pairs", "build", "--release")
    return run.instructions(BUILD / "rust" / RUSTS[0].name / "release/pairs", "all", exact=False)


@pytest.fixture(scope="module")
def in_c(tmp_path_factory: pytest.TempPathFactory) -> run.Counts:
    pairs = run.compile_pairs(tmp_path_factory.mktemp("c"), False, None)
    return run.instructions(pairs, "inlined")


def longer(rust: run.Counts, c: run.Counts) -> dict[str, int]:
    """What takes more than it may."""
    found = {name: rust[name] - c["rota"] for name in ("rota", "Mutex")}
    for name, number in rust.items():
        if name in c and name not in CLOCKED | {"rota"}:
            found[name] = number - c[name] - CALLS
    return {name: excess for name, excess in found.items() if excess > 0}


def test_the_mutex_takes_the_instructions_of_the_c(in_c: run.Counts, tmp_path: Path) -> None:
    rust = in_rust(copied(tmp_path, "tests/rust/pairs"))
    for name in ("Mutex", "std::Mutex", "RwLock::read", "RwLock::write", "std::RwLock::write"):
        print(f"{name:<20} {rust[name]}")
    for name in sorted(set(rust) & set(in_c)):
        print(f"{name:<20} {rust[name]:>4} in C {in_c[name]}")
    assert not longer(rust, in_c)
    assert set(in_c) - set(rust) == {"tx", "self", "node"}
    assert rust["Mutex"] < rust["std::Mutex"]


def test_a_longer_release_is_noticed(in_c: run.Counts, tmp_path: Path) -> None:
    tree = copied(tmp_path, "tests/rust/pairs")
    fast = tree / "rust/overlock/src/fast.rs"
    release = "store_low_release(&self.0, w.wrapping_add(HELD) as u16);"
    twice = f"self.0.fetch_xor(1 << 18, Relaxed); self.0.fetch_xor(1 << 18, Relaxed); {release}"
    fast.write_text(changed(fast.read_text(), (release, twice)))
    assert longer(in_rust(tree), in_c).keys() == {"rota", "Mutex"}
