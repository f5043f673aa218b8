# SPDX-License-Identifier: MIT
"""A QEMU that is none: it speaks QEMU's protocols and, as the guest, those of guest/init."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import TOP

FAKE = Path(__file__).with_name("fake_qemu.py")
Fake = Callable[[str], Path]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Puts it on the PATH, of that behaviour; gives the file in which it lists its process ids."""

    def install(behaviour: str = "good") -> Path:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        program = folder / "qemu-system-x86_64"
        program.write_text(f"#!{sys.executable}\n" + FAKE.read_text())
        program.chmod(0o755)
        pids = tmp_path / "pids"
        pids.touch()
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("FAKE_QEMU", behaviour)
        monkeypatch.setenv("FAKE_PIDS", str(pids))
        monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
        (tmp_path / "tmp").mkdir(exist_ok=True)
        return pids

    return install


@pytest.fixture
def hostd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a program in Python among the native parts, in the place of overlock-hostd."""

    def install(text: str) -> None:
        folder = tmp_path / "native"
        folder.mkdir()
        for path in Path(os.environ["OVERLOCK_NATIVE"]).iterdir():
            if path.name != "overlock-hostd":
                (folder / path.name).symlink_to(path)
        program = folder / "overlock-hostd"
        program.write_text(f"#!{sys.executable}\n" + text)
        program.chmod(0o755)
        monkeypatch.setenv("OVERLOCK_NATIVE", str(folder))

    return install


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A --dir with an image that the fake boots as well as any."""
    from overlock_tools.guest import paths

    found = paths.home(tmp_path / "guests")
    found.image.mkdir(parents=True)
    for pause in paths.PAUSES:
        found.kernel(pause).write_text("kernel")
        found.initramfs(pause).write_text("initramfs")
    known = {"version": "6.1-fake", "kernel": "k", "loads": "l", "sources": "s"}
    found.stamp.write_text(json.dumps(known))
    return tmp_path / "guests"


def alive(pids: Path) -> list[int]:
    """Of those that were ever started."""
    return [pid for pid in map(int, pids.read_text().split()) if Path(f"/proc/{pid}/stat").exists()]


def begun(code: str, word: str) -> "subprocess.Popen[str]":
    """A Python of ours that has said this."""
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": str(TOP / "python")},
    )
    assert child.stdout
    assert child.stdout.readline() == f"{word}\n"
    return child
