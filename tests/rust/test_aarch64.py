# SPDX-License-Identifier: MIT
"""The crates' tests on AArch64, under qemu-user: with LL/SC, and with LSE.

Of the host's memory order, x86's, nothing weaker is seen: the orders are the checker's.
"""

import re

import pytest

from tests.conftest import TOP
from tests.packaging.bare.debian import Debian, copy_to

PACKAGES = (
    *("cargo", "gcc", "libc6-dev", "librust-lock-api-dev", "gcc-aarch64-linux-gnu"),
    *("libc6-dev-arm64-cross", "libstd-rust-dev:arm64", "qemu-user"),
)
TARGET = "aarch64-unknown-linux-gnu"
CONFIG = f"""[source.crates-io]
replace-with = "debian"
[source.debian]
directory = "/usr/share/cargo/registry"
[build]
target = "{TARGET}"
[target.{TARGET}]
linker = "aarch64-linux-gnu-gcc"
runner = "qemu-aarch64"
"""
TESTED = "cd /src/overlock/rust; cargo test -q --tests --features overlock/lock_api"


@pytest.fixture(scope="module")
def debian(tmp_path_factory: pytest.TempPathFactory) -> Debian:
    """Its tests are built."""
    bare = copy_to(tmp_path_factory.mktemp("bare"))
    said = bare.run("dpkg --add-architecture arm64; apt-get update -qq; apt-cache show libc6:arm64")
    if said.returncode:
        pytest.skip("no packages for AArch64 here")
    bare.says(f"apt-get install -y -qq --no-install-recommends {' '.join(PACKAGES)}")
    bare.take_checkout("src/overlock")
    (bare.root / "root/.cargo").mkdir()
    (bare.root / "root/.cargo/config.toml").write_text(CONFIG)
    bare.says(f"{TESTED} --no-run")
    return bare


@pytest.mark.parametrize("cpu", ["cortex-a53", "max"])
def test_the_crates_own_tests_pass(debian: Debian, cpu: str) -> None:
    said = debian.says(f"export QEMU_CPU={cpu}; {TESTED}")
    passed = [int(n) for n in re.findall(r"^test result: ok. (\d+) passed", said, re.M)]
    locks = (TOP / "include/overlock/locks.def").read_text().count("\nOL_LOCK(")
    assert sum(passed) > 5 * locks


def test_the_release_is_the_instruction_of_fast_rs(debian: Debian) -> None:
    folder = debian.root / f"src/overlock/rust/target/{TARGET}/debug/deps"
    (program,) = (p for p in folder.glob("types-*") if not p.suffix)
    said = debian.says(f"aarch64-linux-gnu-objdump -d /{program.relative_to(debian.root)}")
    assert re.search(r"\bstlrh\b", said)
