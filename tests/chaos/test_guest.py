# SPDX-License-Identifier: MIT
"""The plugin of `overlock guest chaos`: when a vCPU loses its CPU within a section."""

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from overlock_tools.guest.chaos.record import MOMENTS, Function, Symbols
from tests.conftest import NATIVE, TOP
from tests.processes import HANG_S

LOCK, UNLOCK = 0xFFFFFFFF81000010, 0xFFFFFFFF81000020  # as in guest_host.c
FUNCTIONS = [Function(LOCK, "_raw_spin_lock"), Function(UNLOCK, "_raw_spin_unlock")]
MOST_BLOCKS = 8  # of chaos/guest.c


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("host") / "guest_host"
    flags = ["-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-rdynamic", f"-I{TOP}/chaos"]
    source = Path(__file__).with_name("guest_host.c")
    subprocess.run(["cc", *flags, source, "-o", program], check=True)
    return program


def stops(host: Path, folder: Path, modules: int, vcpus: int = 1, ns: int = 1000) -> "Counter[str]":
    """Of sections of the last vCPU, by when it lost its CPU; the others have lost theirs before."""
    (folder / "functions").write_text(f"{LOCK:x} lock\n{UNLOCK:x} unlock\n")
    (folder / "record").touch()
    told = [f"{name}={folder / name}" for name in ("functions", "record")]
    told += ["seed=1", "rate=1000000000", f"length={ns}-{ns}", f"modules={modules:x}"]
    told.append(f"moments={1 << MOMENTS.index('inside')}")
    plugin = NATIVE / "liboverlock-chaos-guest.so"
    done = subprocess.run(
        [host, plugin, folder, str(vcpus), *told],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_S,
    )
    assert done.returncode == 0, done.stderr
    return Counter(done.stdout.split())


def test_inside_is_some_blocks_after_the_acquisition(host: Path, tmp_path: Path) -> None:
    found = stops(host, tmp_path, Symbols(FUNCTIONS).end)
    assert found.keys() <= set(map(str, range(1, MOST_BLOCKS + 1)))
    assert len(found) > MOST_BLOCKS / 2


def test_where_no_module_is_all_stops_are_at_the_release(host: Path, tmp_path: Path) -> None:
    """With a wrong start of the modules the test before would fail."""
    assert stops(host, tmp_path, 0xFFFFFFFFC0000000).keys() == {"release"}


def test_one_vcpu_always_runs(host: Path, tmp_path: Path) -> None:
    """The host ends with 3 if another one came back meanwhile."""
    found = stops(host, tmp_path, Symbols(FUNCTIONS).end, vcpus=3, ns=60_000_000_000)
    assert found.keys() == {"not"}
