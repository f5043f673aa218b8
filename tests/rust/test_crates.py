# SPDX-License-Identifier: MIT
"""The crates: their own tests, packages, a program without a libc, and one list of everything."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.conftest import BUILD, TOP
from tests.rust.crates import MISSING, RUSTS, Rust, copied

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)
FIRST = RUSTS[0] if RUSTS else None
CRATES = ("overlock-sys", "overlock")


@pytest.fixture(scope="module", params=RUSTS, ids=[rust.name for rust in RUSTS])
def rust(request: pytest.FixtureRequest) -> Rust:
    assert isinstance(request.param, Rust)
    return request.param


def tree(name: str, *more: str) -> Path:
    """A copy at a place that stays, so that what was built for it stays."""
    folder = BUILD / "rust-trees" / name
    shutil.rmtree(folder, ignore_errors=True)
    return copied(folder, *more)


def test_the_crates_own_tests_pass(rust: Rust) -> None:
    """Each lock, each type, each example of the documentation."""
    done = rust.run(tree(rust.name) / "rust", "test", "--features", "overlock/lock_api")
    passed = [int(n) for n in re.findall(r"^test result: ok. (\d+) passed", done.stdout, re.M)]
    locks = (TOP / "include/overlock/locks.def").read_text().count("\nOL_LOCK(")
    assert sum(passed) > 5 * locks
    assert "warning" not in done.stderr


def test_without_std_a_program_needs_no_libc(rust: Rust) -> None:
    folder = tree(rust.name, "tests/rust/bare") / "tests/rust/bare"
    rust.run(folder, "build", "--release")
    program = BUILD / "rust" / rust.name / "release/bare"
    assert subprocess.run([program], check=False, timeout=60).returncode == 0
    undefined = subprocess.run(["nm", "-u", program], capture_output=True, text=True, check=True)
    assert not undefined.stdout
    needed = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True)
    assert "NEEDED" not in needed.stdout


def test_formatting_and_lints() -> None:
    assert FIRST
    if subprocess.run([FIRST.cargo, "clippy", "-V"], capture_output=True, check=False).returncode:
        pytest.skip("no clippy")
    top = tree(FIRST.name, "tests/rust", "examples/rust") / "rust"
    FIRST.run(top, "fmt", "--check")
    for name in ("tests/rust/pairs", "tests/rust/bare", "tests/rust/races", "examples/rust"):
        FIRST.run(top.parent / name, "fmt", "--check")
    lints = ("--", "-D", "warnings")
    FIRST.run(top, "clippy", "--workspace", "--tests", "--features", "overlock/lock_api", *lints)
    FIRST.run(top, "clippy", "-p", "overlock", "--no-default-features", *lints)


def test_what_is_published_builds_by_itself() -> None:
    """As `cargo publish` does it: packed, unpacked elsewhere, and compiled."""
    assert FIRST
    version = subprocess.run([FIRST.cargo, "--version"], capture_output=True, text=True, check=True)
    numbers = re.findall(r"\d+", version.stdout)
    if (int(numbers[0]), int(numbers[1])) < (1, 90):
        pytest.skip("cargo before 1.90 packs no crate whose dependency is not published")
    top = tree("published") / "rust"
    # cargo packs nothing with another source in place of crates.io.
    packed = FIRST.run(top, "package", "--workspace", "--allow-dirty", check=False, crates=None)
    if re.search(r"(?i)unable to update|failed to (fetch|download)|could not", packed.stderr):
        pytest.skip("crates.io is out of reach")
    assert packed.returncode == 0, packed.stderr
    packages = BUILD / "rust" / FIRST.name / "package"
    for crate in CRATES:
        table = tomllib.loads((top / crate / "Cargo.toml").read_text())["package"]
        archive = packages / f"{crate}-{table['version']}.crate"
        names = subprocess.run(["tar", "-tzf", archive], capture_output=True, text=True, check=True)
        assert re.search(r"/LICENSE$", names.stdout, re.M)
        assert archive.stat().st_size < 200_000
        assert table["rust-version"] == "1.63"


def test_versions_are_the_projects() -> None:
    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]["version"]
    for crate in CRATES:
        table = tomllib.loads((TOP / "rust" / crate / "Cargo.toml").read_text())
        assert table["package"]["version"] == project
    assert table["dependencies"]["overlock-sys"]["version"] == f"={project}"


def test_the_crate_has_the_librarys_sources() -> None:
    """What cmake/locks.cmake compiles; build.rs takes all of lib/ but what it names."""
    listed = re.search(r"set\(sources ([^)]*)\)", (TOP / "cmake/locks.cmake").read_text())
    left = re.search(
        r"NOT_HERE[^=]*= \[([^]]*)\]", (TOP / "rust/overlock-sys/build.rs").read_text()
    )
    assert listed
    assert left
    not_here = set(re.findall(r'"(.*?)"', left[1]))
    here = {path.name for path in (TOP / "lib").glob("*.c")} - not_here
    assert here == set(listed[1].split()) - {"locks.c"}  # a table of all locks, by name
