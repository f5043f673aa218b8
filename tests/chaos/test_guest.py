# SPDX-License-Identifier: MIT
"""The plugin of `overlock guest chaos`: when a vCPU loses its CPU within a section."""

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from overlock_tools.kernel.chaos.record import MOMENTS, Function, Symbols
from tests.conftest import NATIVE, TOP

LOCK, UNLOCK = 0xFFFFFFFF81000010, 0xFFFFFFFF81000020  # as in guest_host.c
FUNCTIONS = [Function(LOCK, "_raw_spin_lock"), Function(UNLOCK, "_raw_spin_unlock")]
MOST_BLOCKS = 8  # of preload/chaos/guest.c


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("host") / "guest_host"
    flags = ["-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-rdynamic", f"-I{TOP}/preload/chaos"]
    source = Path(__file__).with_name("guest_host.c")
    subprocess.run(["cc", *flags, source, "-o", program], check=True)
    return program


def stops(host: Path, folder: Path, modules: int) -> "Counter[str]":
    """Of sections, by when the vCPU lost its CPU."""
    (folder / "functions").write_text(f"{LOCK:x} lock\n{UNLOCK:x} unlock\n")
    (folder / "record").touch()
    told = [f"{name}={folder / name}" for name in ("functions", "record")]
    told += ["seed=1", "rate=1000000000", "length=1000-1000", f"modules={modules:x}"]
    told.append(f"moments={1 << MOMENTS.index('inside')}")
    plugin = NATIVE / "liboverlock-chaos-guest.so"
    done = subprocess.run(
        [host, plugin, folder, *told], capture_output=True, text=True, check=False
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
