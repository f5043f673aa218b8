# SPDX-License-Identifier: MIT
"""The launcher, `overlock doctor` and overlock-hostd are right, or say in one line why not."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from overlock_tools.core.system import native
from tests.faults.conftest import WHOLE, Denial, Deny, Ended

each_whole = pytest.mark.parametrize("denial", WHOLE, ids=str)
DOCTOR = [sys.executable, "-m", "overlock_tools", "doctor", "--seconds", "0.1", "--json"]
HOSTD = native.folder() / "overlock-hostd"


@each_whole
def test_the_launcher(deny: Deny, work: Path, denial: Denial) -> None:
    """It starts the program, which ends as natively."""
    overlock = native.file("overlock")
    program: list[str | Path] = [work, "mutexes", "1", "9", "9"]
    ended = deny(denial, [overlock, "run", "--lock", "mcs", "--", *program])
    natively = deny(denial, program)
    assert (ended.code, ended.out, ended.err) == (natively.code, natively.out, "")


@each_whole
def test_the_doctor(deny: Deny, denial: Denial) -> None:
    """What it cannot know it says; a Python that glibc aborts is not ours to help."""
    if denial.words[0] == "futex":
        pytest.skip("Python itself needs futexes")
    ended = deny(denial, DOCTOR)
    assert "Traceback" not in ended.err
    assert json.loads(ended.out)["facts"], ended


@pytest.fixture
def page() -> Iterator[Path]:
    with tempfile.NamedTemporaryFile(prefix="overlock-test-", dir="/dev/shm") as file:
        file.truncate(4096)
        yield Path(file.name)


def hostd(deny: Deny, denial: Denial, page: Path, *, process_ends: bool = True) -> Ended:
    """It watches a process, until that ends or something fails; a hang fails the test."""
    with subprocess.Popen(["sleep", "infinity"]) as sleeper:
        command: list[str | Path] = [HOSTD, "--page", page, "--threads", str(sleeper.pid)]
        try:
            with deny.start(denial, command) as agent:
                assert agent.stdout
                agent.stdout.readline()
                if process_ends:
                    sleeper.kill()
                return deny.end(agent)
        finally:
            sleeper.kill()


HOSTD_DENIALS: dict[tuple[str, ...], str] = {  # what its one line is to say; nothing: it works
    ("bpf", "EPERM"): "the scheduler cannot be watched",
    ("openat", "EACCES", "--below", "/proc"): "cannot be looked up in /proc: Permission denied",
    ("openat", "EACCES", "--below", "/sys"): "the scheduler cannot be watched",
    ("pidfd_open", "ENOSYS"): "cannot be watched: Function not implemented",
    ("mmap", "ENOMEM", "--after-start"): "cannot be the page: Cannot allocate memory",
    ("fallocate", "EINVAL"): "cannot be the page: Invalid argument",
    ("getrandom", "ENOSYS"): "there is no randomness",
    ("signalfd4", "EMFILE"): "signals cannot be received: Too many open files",
    ("ppoll", "EINVAL"): "it cannot wait for the ends of threads",
    ("prctl", "EPERM"): "root cannot be given up",
    ("perf_event_open", "EPERM"): "",
    ("sched_setscheduler", "EPERM"): "",
    ("setpriority", "EPERM"): "",
    ("futex", "EPERM"): "",
    ("memfd_create", "ENOSYS"): "",
}


@pytest.mark.parametrize(("words", "says"), HOSTD_DENIALS.items(), ids=map(" ".join, HOSTD_DENIALS))
def test_hostd(deny: Deny, page: Path, words: tuple[str, ...], says: str) -> None:
    if not HOSTD.exists():
        pytest.skip("overlock-hostd is not built here")
    if hostd(deny, Denial(("memfd_create", "ENOSYS")), page).code:
        pytest.skip("overlock-hostd cannot watch the scheduler here")
    ended = hostd(deny, Denial(words), page, process_ends=not says)
    lines = ended.err.splitlines()
    assert len(lines) == bool(says), ended
    assert bool(ended.code) == bool(says), ended
    assert says in ended.err, ended
