# SPDX-License-Identifier: MIT
"""The modules that a guest's loads are: they build for Debian's kernel without a warning."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import TOP


@pytest.fixture
def headers() -> Path:
    return sorted(Path("/usr/src").glob("linux-headers-*-amd64"))[-1]


def built(folder: Path, headers: Path) -> "subprocess.CompletedProcess[str]":
    command = ["make", "-s", "-C", str(headers), f"M={folder}", f"OVERLOCK_TOP={TOP}", "W=1"]
    return subprocess.run(
        [*command, "KCFLAGS=-Werror", "modules"], capture_output=True, text=True, check=False
    )


def test_they_build_without_a_warning(headers: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(TOP / "guest/loads/module", tmp_path / "module")
    done = built(folder, headers)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    assert {path.name for path in folder.glob("*.ko")} == {"overlock_loop.ko", "overlock_pair.ko"}
