# SPDX-License-Identifier: MIT
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.processes import HANG_S
from tests.python.command import COMMAND, Done, run_forked

Overlock = Callable[..., Done]
SHORT = ["--rounds", "1", "--seconds", "0.02"]


@pytest.fixture
def overlock(tmp_path: Path) -> Overlock:
    """Runs the command in a folder of its own, without a terminal; `within` comes before it."""

    def run(
        *args: str | Path, within: tuple[str, ...] = (), seconds: float = HANG_S, **environment: str
    ) -> Done:
        words, env = [*map(str, args)], {**os.environ, **environment}
        if not within:
            return run_forked(words, tmp_path, env, seconds)
        return subprocess.run(
            [*within, *COMMAND, *words],
            cwd=tmp_path,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
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
