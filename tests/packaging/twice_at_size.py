# SPDX-License-Identifier: MIT
"""Two builds of the wheel, in folders of different names, are the same bytes."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.conftest import TOP

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
SHARED = ("OVERLOCK_NATIVE", "BUILD")
# What a cache keeps would be the same both times.
ANEW = {"CCACHE_DISABLE": "1", "CMAKE_GENERATOR": "Ninja"}


def built(top: Path, out: Path) -> Path:
    """Of the tracked files, in that folder."""
    top.mkdir(parents=True)
    names = ["git", "ls-files", "-z"]
    listed = subprocess.run(names, cwd=TOP, capture_output=True, check=True).stdout
    pack = ["tar", "-C", str(TOP), "-c", "--null", "-T", "-"]
    packed = subprocess.run(pack, input=listed, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-C", top, "-x"], input=packed, check=True)
    own = {name: value for name, value in os.environ.items() if name not in SHARED}
    command = [*PIP, "wheel", "--no-deps", "-w", str(out), str(top)]
    subprocess.run(command, env={**own, **ANEW}, check=True)
    (wheel,) = out.glob("*.whl")
    return wheel


def test_two_builds_are_the_same_bytes(tmp_path: Path) -> None:
    one = built(tmp_path / "one", tmp_path / "first")
    other = built(tmp_path / "another/deeper", tmp_path / "second")
    sums = [{f.filename: f.CRC for f in zipfile.ZipFile(w).infolist()} for w in (one, other)]
    assert sums[0] == sums[1]
    assert one.read_bytes() == other.read_bytes()
