# SPDX-License-Identifier: MIT
"""A program of a foreign suite, run once, natively or under a lock, and left without a trace."""

import ctypes
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from overlock_tools.apps import processes
from overlock_tools.bench.programs import NATIVE
from tests.run.thirdparty.reading import FAILED, PASSED, READERS, SKIPPED, Verdicts
from tests.run.thirdparty.suite import Suite

ENDING = "(how it ended)"  # beside the tests, under a name that none has
SKIP_CODE = 77  # Automake's
PR_SET_CHILD_SUBREAPER = 36
COUNTED = "counted"  # added to a lock's name: by the library that counts


@dataclass
class Outcome:
    """One run."""

    verdicts: Verdicts
    seconds: float
    said: str
    acquired: int = 0  # mutexes, under COUNTED
    waited: int = 0
    left: dict[str, int] = field(default_factory=dict)  # to glibc

    @property
    def failed(self) -> list[str]:
        return [test for test, verdict in self.verdicts.items() if verdict not in (PASSED, SKIPPED)]


def adopt_orphans() -> None:
    """Daemons that a program leaves behind become ours, to be ended by their ids."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_orphans() -> None:
    while left := [pid for pid in processes.family(os.getpid()) if pid != os.getpid()]:
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            while os.waitpid(-1, 0)[0]:
                pass


def command(suite: Suite, program: str, variant: str, folder: Path, built: Path) -> list[str]:
    """Without what leads Python to us: some of the programs are Python's."""
    words = ["env", "--unset=PYTHONPATH", f"--chdir={folder}", *suite.words(program, folder, built)]
    if variant == NATIVE:
        return words
    lock, _, counted = variant.partition(" ")
    report = ["--output", str(folder / "report-%p.json")] if counted else []
    run = [sys.executable, "-m", "overlock_tools", "run", "--lock", lock, *report]
    return [*run, "--", *words]


def ended(process: processes.Process) -> str:
    if process.code is None:
        return "hung"
    if process.code < 0:
        return f"killed by {signal.Signals(-process.code).name}"
    if process.code == SKIP_CODE:
        return SKIPPED
    return f"{FAILED}: exit code {process.code}" if process.code else PASSED


def once(suite: Suite, program: str, variant: str, built: Path) -> Outcome:
    folder = Path(tempfile.mkdtemp(prefix="overlock-foreign-"))
    try:
        return _run(suite, program, variant, folder, built)
    finally:
        end_orphans()
        shutil.rmtree(folder, ignore_errors=True)


def _run(suite: Suite, program: str, variant: str, folder: Path, built: Path) -> Outcome:
    temporary = {"HOME": folder, "TMPDIR": folder, "TEST_TMPDIR": folder}
    env = {**os.environ, **{name: str(path) for name, path in temporary.items()}}
    words = command(suite, program, variant, folder, built)
    began = time.monotonic()
    process = processes.Process(
        words, processes.NATIVE, processes.Place(folder, env), folder / "said"
    )
    try:
        process.ended(suite.seconds)
        verdict = ended(process)
    finally:
        process.close()
    seconds = time.monotonic() - began
    said = (folder / "said").read_text(errors="replace")
    verdicts = {**READERS[suite.reads](said, folder), ENDING: verdict}
    told = said + process.errors.read_text(errors="replace")
    outcome = Outcome(verdicts, seconds, told)
    _count(outcome, sorted(folder.glob("report-*.json")))
    return outcome


def _count(outcome: Outcome, reports: Sequence[Path]) -> None:
    """Of all processes that ended in order; forked ones do not report."""
    for path in reports:
        report = json.loads(path.read_text())
        for name, number in report["left"].items():
            outcome.left[name] = outcome.left.get(name, 0) + number
        for site in (report["sites"] or {"sites": []})["sites"]:
            outcome.acquired += site["events"].get("ACQUIRE", 0)
            outcome.waited += site["events"].get("SLOW_PATH", 0)
