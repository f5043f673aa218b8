# SPDX-License-Identifier: MIT
"""Strings of --replay that are wrong: one line of error, in little memory. A fuzzer found most."""

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
    "1:256": "expected a number up to 255 at character 3",
    "1*1000001": "expected a number up to 1000000 at character 3",
    ".".join(["1*1000000"] * 50): "expected at most 1000000 steps and choices at character 20",
    "1*1000000.1": "expected at most 1000000 steps and choices at character 12",
    "1:" + ",".join(["1"] * 5000) + "*1000000": "expected at most 1000000 steps and choices",
}


@pytest.mark.parametrize("path", BAD, ids=range(len(BAD)))
def test_bad_path_gives_one_line(path: str) -> None:
    done = subprocess.run(
        [PROGRAM, "--lock", "ticket", "--replay", path],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"overlock-check: replay: {BAD[path]}")
    assert done.stderr.count("\n") == 1
