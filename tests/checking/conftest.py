# SPDX-License-Identifier: MIT
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import HANG_S

HERE = Path(__file__).parent
TOP = HERE.parent.parent
NATIVE = TOP / os.environ.get("BUILD", "build") / "native"
os.environ.setdefault("OVERLOCK_NATIVE", str(NATIVE))

Done = subprocess.CompletedProcess[str]
COMMAND = [sys.executable, "-m", "overlock_tools", "check"]


class Fake:
    """`overlock check` over a checker that follows a script; its calls are known."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "log"
        self.native = folder / "native"
        self.native.mkdir()
        shutil.copy(NATIVE / "defs.json", self.native)
        self.program = self.native / "overlock-check"
        text = (HERE / "fake_check.py").read_text().split("\n", 1)[1]
        self.program.write_text(f"#!{sys.executable}\n{text}")
        self.program.chmod(0o755)
        self.environment = {
            **os.environ,
            "OVERLOCK_NATIVE": str(self.native),
            "FAKE_CHECK": str(folder / "world.json"),
            "XDG_CACHE_HOME": str(folder / "cache"),
        }
        self.says()

    def says(self, *rules: dict[str, Any], **others: Any) -> None:
        world = {"rules": rules, "log": str(self.log), **others}
        (self.folder / "world.json").write_text(json.dumps(world))

    def __call__(self, *args: str | Path) -> Done:
        return subprocess.run(
            [*COMMAND, *map(str, args)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HANG_S,
            check=False,
        )

    def calls(self) -> list[str]:
        """What the checker was asked to explore, in order, since the last time."""
        if not self.log.exists():
            return []
        lines = self.log.read_text().splitlines()
        self.log.unlink()
        return lines

    def json(self, *args: str | Path) -> dict[str, Any]:
        """What --json writes; also if something fails."""
        path = self.folder / "out.json"
        path.unlink(missing_ok=True)
        done = self(*args, "--json", path)
        assert path.exists(), done.stdout + done.stderr
        written: dict[str, Any] = json.loads(path.read_text())
        return written


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    return Fake(tmp_path)


class Real:
    """`overlock check` with the checker that was built, and a cache of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            "OVERLOCK_NATIVE": str(NATIVE),
            "XDG_CACHE_HOME": str(folder / "cache"),
        }

    def __call__(self, *args: str | Path) -> Done:
        return subprocess.run(
            [*COMMAND, *map(str, args)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HANG_S,
            check=False,
        )


@pytest.fixture
def real(tmp_path: Path) -> Real:
    return Real(tmp_path)
