# SPDX-License-Identifier: MIT
"""Strings of --replay that are wrong: one line of error, in little memory. A fuzzer found most."""

import json
import os
import resource
import subprocess
from pathlib import Path

import pytest

PROGRAM = Path(os.environ["BUILD"]) / "native" / "overlock-check"
MEMORY = 2 << 30  # bytes of address space

BAD = {
    "1\n": "expected a dot at character 2",
    "1.x": "expected a number up to 2 at character 3",
    "3": "expected a number up to 2 at character 1",
    "1.0": "contexts are counted from 1 at character 4",
    "1:4294967296": "expected a number up to 4294967295 at character 3",
    "1*1000001": "expected a number up to 1000000 at character 3",
    ".".join(["1*1000000"] * 50): "expected at most 1000000 steps and choices at character 20",
    "1*1000000.1": "expected at most 1000000 steps and choices at character 12",
    "1:" + ",".join(["1"] * 5000) + "*1000000": "expected at most 1000000 steps and choices",
}

FITS = "give the lock, size, scenario, model and budgets of the check that printed the schedule"
ELSEWHERE = {
    "1.k2": f"step 2 cannot be made here; {FITS}",
    "1.1.1.1:9": f"step 4 has only 4 alternatives here; {FITS}",
}


def replayed(path: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, "--lock", "ticket", f"--replay={path}", *options],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )


@pytest.mark.parametrize("path", BAD, ids=range(len(BAD)))
def test_bad_path_gives_one_line(path: str) -> None:
    done = replayed(path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"overlock-check: replay: {BAD[path]}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("path", ELSEWHERE)
def test_schedule_of_another_check_gives_one_line(path: str) -> None:
    done = replayed(path, "--scenario=any")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"overlock-check: replay: {ELSEWHERE[path]}\n"


def test_schedule_of_another_check_starts_no_thread() -> None:
    done = replayed("1.k2", "--native")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"overlock-check: replay: {ELSEWHERE['1.k2']}\n"


def test_schedule_without_steps_binds_no_thread() -> None:
    done = replayed(":0", "--native")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["result"]["native"]["of"] == 0
