# SPDX-License-Identifier: MIT
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.waiting import HANG_S

TOP = Path(__file__).resolve().parents[2]
os.environ.setdefault("OVERLOCK_NATIVE", str(TOP / os.environ.get("BUILD", "build") / "native"))

Done = subprocess.CompletedProcess[str]
Overlock = Callable[..., Done]
COMMAND = [sys.executable, "-m", "overlock_tools"]
SHORT = ["--rounds", "1", "--seconds", "0.02"]


@pytest.fixture
def overlock(tmp_path: Path) -> Overlock:
    """Runs the command in a folder of its own, without a terminal."""

    def run(*args: str | Path, **environment: str) -> Done:
        return subprocess.run(
            [*COMMAND, *map(str, args)],
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
def result_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real result: three rounds of locks that collapse, do not, and a peer."""
    path = tmp_path_factory.mktemp("result") / "result.json"
    locks = "ticket,preemptable_ticket,preemptable_ticket@tau=0,tas_yield,pthread_mutex"
    command = ["bench", "sections", "--locks", locks, "--threads", "1,2,6", "--json", str(path)]
    subprocess.run(
        [*COMMAND, *command, "--rounds", "3", "--seconds", "0.02"],
        check=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=HANG_S,
    )
    return path
