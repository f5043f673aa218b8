# SPDX-License-Identifier: MIT
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.command import COMMAND, Done, run_forked
from tests.conftest import NATIVE

HERE = Path(__file__).parent
SCENARIO = """\
title = "trial"
machine = "typical"
locks = ["ticket", "mcs"]
time_ms = 10

[[guest]]
name = "app"
contexts = 4
"""


class Simulating:
    """`overlock sim` in a folder of its own, with the simulator that was built."""

    def __init__(self, folder: Path, native: Path = NATIVE) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            "OVERLOCK_NATIVE": str(native),
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
        }
        for name in ("home", "tmp"):
            (folder / name).mkdir()
        self.file = folder / "trial.toml"
        self.file.write_text(SCENARIO)

    def __call__(self, *args: str | Path, **environment: str) -> Done:
        words = ["sim", *map(str, args)]
        return run_forked(words, self.folder, {**self.environment, **environment})

    def apart(self, *args: str | Path) -> "subprocess.Popen[str]":
        """As a process that leads a group, as a shell starts it."""
        return subprocess.Popen(
            [*COMMAND, "sim", *map(str, args)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            process_group=0,
        )

    def result(self, *args: str | Path) -> dict[str, Any]:
        path = self.folder / "out.json"
        done = self(*args, "-o", path)
        assert path.exists(), done.stdout + done.stderr
        found: dict[str, Any] = json.loads(path.read_text())
        return found

    def told(self, *args: str | Path) -> list[dict[str, Any]]:
        """What overlock-sim would be told."""
        done = self(*args, "--print")
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]


class Fake(Simulating):
    """The simulator follows a script; its calls are known."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, folder / "native")
        self.log = folder / "log"
        self.native = folder / "native"
        self.native.mkdir()
        shutil.copy(NATIVE / "defs.json", self.native)
        text = (HERE / "fake_sim.py").read_text().split("\n", 1)[1]
        self.program = self.native / "overlock-sim"
        self.program.write_text(f"#!{sys.executable}\n{text}")
        self.program.chmod(0o755)
        self.environment["FAKE_SIM"] = str(folder / "world.json")
        self.says()

    def says(self, **locks: dict[str, Any]) -> None:
        (self.folder / "world.json").write_text(json.dumps({"log": str(self.log), "locks": locks}))

    def calls(self) -> list[str]:
        """The runs since the last time: lock and seed."""
        if not self.log.exists():
            return []
        lines = self.log.read_text().splitlines()
        self.log.unlink()
        return lines

    def all_told(self) -> list[dict[str, Any]]:
        """The runs of all times: what overlock-sim was told."""
        lines = self.log.with_name(f"{self.log.name}.told").read_text().splitlines()
        return [json.loads(line) for line in lines]


@pytest.fixture
def real(tmp_path: Path) -> Simulating:
    return Simulating(tmp_path)


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    return Fake(tmp_path)
