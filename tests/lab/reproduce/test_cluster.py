# SPDX-License-Identifier: MIT
"""`overlock reproduce --cluster`: a worker dies half-way, and nothing is lost."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from overlock_tools.lab.reproduce import answers
from overlock_tools.lab.reproduce.answers import State
from overlock_tools.lab.reproduce.run import FILE
from tests.conftest import NATIVE
from tests.processes import HANG_S, until

FIRST = 6  # runs that go on at once, of 16
SMALL = {"time_ms": 3, "warm_up_ms": 1, "sweep.guest.vm.count": [2]}
SCENARIO = "ouyang2013-fig5a " + json.dumps({**SMALL, "locks": ["ticket", "preemptable_ticket"]})
CHECK = {"measure": "rate", "of": "preemptable_ticket", "by": "ticket", "paper": 1.0}
CLAIM = {"id": "one", "scenario": SCENARIO, "check": [{**CHECK, "holds": [0.0, 1e9]}]}
# A row that a claim of ours answers, asked as the command asks it.
ASK = f"""
import sys
from pathlib import Path
from overlock_tools.lab.reproduce import rows, run
from overlock_tools.lab.reproduce.answers import Answers
from overlock_tools.lab.reproduce.simulated import claims

one = claims._claim({CLAIM!r})
claims.claims = lambda: {{"ouyang2013-fig2-bound": one}}
asked = rows.chosen("ouyang2013-fig2-bound", None)
chosen = run.Chosen(asked, ["simulated"], None, cluster=(*sys.argv, None)[2])
run.prepared(chosen, Answers(), {{}}, Path(sys.argv[1])).all()
"""
# A simulator that waits, from the seventh run on, until it may go on.
WAITS = """#!/bin/sh
n=0
while ! mkdir "{folder}/run-$n" 2>/dev/null; do n=$((n + 1)); done
if [ $n -ge {first} ]; then
	while [ ! -e "{folder}/go" ]; do sleep 0.05; done
fi
exec "{program}"
"""


@pytest.fixture
def native(tmp_path: Path) -> Path:
    folder = tmp_path / "native"
    folder.mkdir()
    for file in NATIVE.iterdir():
        (folder / file.name).symlink_to(file)
    program = folder / "overlock-sim"
    program.unlink()
    program.write_text(WAITS.format(folder=tmp_path, first=FIRST, program=NATIVE / "overlock-sim"))
    program.chmod(0o755)
    return folder


@contextmanager
def process(native: Path, *words: str | Path) -> Iterator["subprocess.Popen[bytes]"]:
    environment = {**os.environ, "OVERLOCK_NATIVE": str(native)}
    quiet = subprocess.DEVNULL
    command = [sys.executable, *words]
    with subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet) as one:
        try:
            yield one
        finally:
            one.kill()


def asked(native: Path, folder: Path, *cluster: str) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "OVERLOCK_NATIVE": str(native)}
    return subprocess.Popen([sys.executable, "-c", ASK, folder, *cluster], env=environment)


def test_a_worker_that_dies_half_way_loses_nothing(native: Path, tmp_path: Path) -> None:
    known, go = tmp_path / "scheduler.json", tmp_path / "go"
    dask, runs = "distributed.cli.dask_", tmp_path / "far" / "runs"
    with ExitStack() as stack:
        here = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", known)
        stack.enter_context(process(native, "-m", f"{dask}scheduler", *here))
        until(known.exists)
        told = ("--no-nanny", "--nthreads", "1", "--no-dashboard", "--scheduler-file", known)
        worker = ("-m", f"{dask}worker", *told)
        workers = [stack.enter_context(process(native, *worker)) for _ in range(2)]
        address = json.loads(until(known.read_text))["address"]
        far = asked(native, tmp_path / "far", address)
        until((tmp_path / f"run-{FIRST + 1}").exists)  # both have one that waits
        until(lambda: len(list(runs.rglob("*.json"))) == FIRST)
        workers[0].kill()
        workers[0].wait()
        go.touch()
        assert far.wait(HANG_S) == 0
        assert workers[1].poll() is None
    assert asked(native, tmp_path / "here").wait(HANG_S) == 0
    (one,), (other,) = (answers.read(tmp_path / where / FILE) for where in ("far", "here"))
    assert one.state == State.HOLDS
    assert one.found == other.found
    assert one.found[0]["count"] == 8
