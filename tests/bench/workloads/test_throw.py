# SPDX-License-Identifier: MIT
"""Whether the C++ runtime takes a lock when it throws is counted, not believed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.bench.workloads.conftest import BUILT
from tests.conftest import NATIVE

CONTENDING = str(BUILT / "libcontending.so")


def counted(**environment: str) -> dict[str, Any]:
    done = subprocess.run(
        [NATIVE / "overlock-throw"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    counts: dict[str, Any] = json.loads(done.stdout)
    return counts


def test_here_it_takes_none() -> None:
    """With gcc 12 and glibc 2.35 or later, as the suites ask for."""
    counts = counted()
    assert counts["searches"] >= counts["throws"] > 0
    assert (counts["mutex_calls"], counts["loader_calls"]) == (0, 0)


def test_a_runtime_that_takes_them_is_seen() -> None:
    counts = counted(LD_PRELOAD=CONTENDING)
    assert counts["mutex_calls"] == counts["loader_calls"] == counts["searches"] > 0


@pytest.mark.parametrize(
    ("preloaded", "kind", "said"),
    [
        ("", "throw_locked", "0 calls to pthread_mutex_lock"),
        (CONTENDING, "throw", "000 calls to pthread_mutex_lock"),
    ],
)
def test_the_command_says_which_it_ran(
    preloaded: str, kind: str, said: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "overlock_tools", "bench", "throw", "--locks", "pthread_mutex"]
    done = subprocess.run(
        [*command, "--threads=1", "--rounds=1", "--seconds=0.02", "--json=result.json"],
        cwd=tmp_path,
        env={**os.environ, "LD_PRELOAD": preloaded},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert said in " ".join(done.stdout.split())
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["kind"] == kind
    assert result["native"]["throw"]["throws"] == 1000
