# SPDX-License-Identifier: MIT
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from recorded import NAMES, Machine, machine

from overlock_tools.doctor import Report
from tests.waiting import HANG_S

TOP = Path(__file__).resolve().parents[2]
os.environ.setdefault("OVERLOCK_NATIVE", str(TOP / os.environ.get("BUILD", "build") / "native"))

Done = subprocess.CompletedProcess[str]
Overlock = Callable[..., Done]
COMMAND = [sys.executable, "-m", "overlock_tools"]


@pytest.fixture(scope="session")
def machines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Machine, Report]]:
    """Every recorded machine, and what doctor reports of it."""
    folder = tmp_path_factory.mktemp("machines")
    made = {name: machine(name, folder) for name in NAMES}
    return {name: (one, one.report()) for name, one in made.items()}


@pytest.fixture
def overlock(tmp_path: Path) -> Overlock:
    """Runs the command in a folder of its own, without a terminal; `within` comes before it."""

    def run(*args: str | Path, within: tuple[str, ...] = (), **environment: str) -> Done:
        return subprocess.run(
            [*within, *COMMAND, *map(str, args)],
            cwd=tmp_path,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HANG_S,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def spin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program of N threads that only spin; its first thread sleeps."""
    program = tmp_path_factory.mktemp("spin") / "spin"
    source = Path(__file__).with_name("spin.c")
    subprocess.run(["cc", "-O1", "-pthread", "-o", program, source], check=True)
    return program


@contextmanager
def running(*command: str | Path) -> Iterator[int]:
    """The program's process id, from when it has said that it is ready until it is gone."""
    child = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout
        assert child.stdout.readline() == "ready\n"
        yield child.pid
    finally:
        child.kill()
        child.wait()
        if child.stdout:
            child.stdout.close()
