# SPDX-License-Identifier: MIT
"""The modules that a guest's loads are: they build for Debian's kernel without a warning."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import TOP


@pytest.fixture
def headers() -> Path:
    return sorted(Path("/usr/src").glob("linux-headers-*-amd64"))[-1]


def built(
    folder: Path, headers: Path, target: str = "modules", flags: str = ""
) -> "subprocess.CompletedProcess[str]":
    command = ["make", "-s", "-C", str(headers), f"M={folder}", f"OVERLOCK_TOP={TOP}", "W=1"]
    return subprocess.run(
        [*command, f"KCFLAGS=-Werror {flags}", target],
        capture_output=True,
        text=True,
        check=False,
    )


def test_they_build_without_a_warning(headers: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(TOP / "guest/loads/module", tmp_path / "module")
    done = built(folder, headers)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    assert {path.name for path in folder.glob("*.ko")} == {"overlock_loop.ko", "overlock_pair.ko"}


def exported() -> set[str]:
    """By the kernel that the series makes."""
    texts = (path.read_text() for path in (TOP / "guest/linux").rglob("*.c"))
    return {name for text in texts for name in re.findall(r"EXPORT_SYMBOL(?:_GPL)?\((\w+)\)", text)}


def test_waits_find_all_that_they_call(headers: Path, tmp_path: Path) -> None:
    """In a kernel of the series; Debian's has none of it, so nothing is linked."""
    folder = shutil.copytree(TOP / "guest/loads/module", tmp_path / "module")
    done = built(folder, headers, "loop.o", "-DCONFIG_OVERLOCK_SPINLOCKS=1")
    assert done.returncode == 0, done.stderr
    command = ["nm", "-u", str(folder / "loop.o")]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    needed = set(re.findall(r"\b(ol_\w+)", listed))
    assert needed >= {"ol_park", "ol_kick", "ol_yield", "ol_self", "ol_wait_array", "ol_world"}
    assert needed <= exported()
