# SPDX-License-Identifier: MIT
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.command import COMMAND as OVERLOCK
from tests.command import Done
from tests.conftest import NATIVE
from tests.processes import HANG_S

HERE = Path(__file__).parent

COMMAND = [*OVERLOCK, "check"]
ONE = ("--contexts", "2")  # and so nothing but 2x2, sc and lock


class Command:
    """`overlock check` in a folder with a cache of its own."""

    def __init__(self, folder: Path, native: Path) -> None:
        self.folder, self.native = folder, native
        self.environment = {
            **os.environ,
            "OVERLOCK_NATIVE": str(native),
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


class Fake(Command):
    """The checker follows a script; its calls are known."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, folder / "native")
        self.log = folder / "log"
        self.native.mkdir()
        shutil.copy(NATIVE / "defs.json", self.native)
        self.program = self.native / "overlock-check"
        text = (HERE / "fake_check.py").read_text().split("\n", 1)[1]
        self.program.write_text(f"#!{sys.executable}\n{text}")
        self.program.chmod(0o755)
        self.environment["FAKE_CHECK"] = str(folder / "world.json")
        self.says()

    def says(self, *rules: dict[str, Any], **others: Any) -> None:
        world = {"rules": rules, "log": str(self.log), **others}
        (self.folder / "world.json").write_text(json.dumps(world))

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


@pytest.fixture
def real(tmp_path: Path) -> Command:
    """`overlock check` with the checker that was built, and a cache of its own."""
    return Command(tmp_path, NATIVE)
