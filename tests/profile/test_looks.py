# SPDX-License-Identifier: MIT
"""Where BPF is refused: threads are stopped for a look, and nothing is lost by that."""

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from overlock_tools.profile import family, registers, sampler
from overlock_tools.profile.places import Places
from overlock_tools.profile.registers import Reader
from overlock_tools.profile.sampler import Look
from tests.processes import HANG_S
from tests.profile.conftest import Build, command

# It counts a signal that comes a thousand times a second, and ends by itself.
ALARMED = """
import signal, sys
count = 0
def take(*_):
    global count
    count += 1
signal.signal(signal.SIGALRM, take)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
while count < 1500:
    pass
signal.setitimer(signal.ITIMER_REAL, 0)
sys.exit(7)
"""


@pytest.fixture
def busy() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as program:
        yield program
        program.kill()


def test_registers_of_a_thread_that_runs(busy: "subprocess.Popen[bytes]") -> None:
    reader = Reader(busy.pid, is_child=True)
    ips = set()
    for _ in range(50):
        time.sleep(0.005)
        for at in reader.look({busy.pid}).values():
            assert at.registers["rsp"]
            ips.add(at.ip)
    reader.close()
    assert len(ips) > 1
    assert "\nTracerPid:\t0\n" in Path(f"/proc/{busy.pid}/status").read_text()


def test_who_ends_is_no_error(busy: "subprocess.Popen[bytes]") -> None:
    """Its end is left to who waits for it."""
    reader = Reader(busy.pid, is_child=True)
    reader.look({busy.pid})
    busy.kill()
    time.sleep(0.05)
    assert reader.look({busy.pid}) == {}
    assert busy.wait(HANG_S) == -signal.SIGKILL


def test_a_signal_that_comes_during_a_look_is_passed_on(busy: "subprocess.Popen[bytes]") -> None:
    reader = Reader(busy.pid, is_child=True)
    registers._ptrace(registers.SEIZE, busy.pid)
    reader.pending.add(busy.pid)
    busy.send_signal(signal.SIGUSR1)
    reader.close()
    assert busy.wait(HANG_S) == -signal.SIGUSR1


def test_signals_and_the_exit_code_are_the_programs(tmp_path: Path) -> None:
    words = command(tmp_path / "report.json", "--by", "looks")
    done = subprocess.run(
        [*words, "--", sys.executable, "-c", ALARMED],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode == 7, done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["samples"] > 20
    assert not report["doubts"]


def test_where_ptrace_is_refused_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(registers, "_ptrace", refused)
    places = Places(os.getpid())
    places.look({os.getpid()}, 1, 0, {})
    assert places.why_not == "ptrace() is refused (Operation not permitted)"
    assert not places.seen()["sampled_cpus"]
    looks = sampler.Sampler(os.getpid(), "BPF was refused")
    looks.places = places
    assert looks.seen().why == f"BPF was refused, and {places.why_not}"


def look(cpu: int, since: float, state: str = "R") -> Look:
    return Look("worker", state, 0, 0, 0, 0, None, False, cpu, since)


@pytest.mark.parametrize(
    ("op", "number", "owner", "joins"),
    [
        (0x09, True, False, True),
        (0x89, True, False, False),  # the kernel does not wake that one
        (0x09, False, False, False),
        (0x09, True, True, False),  # a mutex behind another one that is held
    ],
)
def test_a_join_by_what_glibc_keeps_of_the_other_thread(
    op: int, number: bool, owner: bool, joins: bool
) -> None:
    """As of glibc 2.43, which waits with no thread's number."""
    own = threading.get_native_id()
    memory = (ctypes.c_uint32 * 512)()
    memory[100] = own if number else 0
    memory[300:305] = [2, 0, own if owner else 0, 1, 0]
    looks = {own: Look("-", "R", 0, 0, 0, 0, None, False, 0, 0.0)}
    looking = sampler.Sampler(os.getpid(), "")
    looking.names[own] = "-"
    try:
        assert looking._joins(ctypes.addressof(memory) + 4 * 300, op, 2, looks) == joins
    finally:
        looking.close()


def test_who_has_a_cpu_is_whom_the_scheduler_looked_at_last() -> None:
    looks = {1: look(0, 5.0), 2: look(0, 7.0), 3: look(1, 6.0), 4: look(1, 9.0, "S")}
    assert sampler.on_cpus(looks) == {2, 3}
    assert sampler.on_cpus({1: look(0, 0.0), 2: look(0, 0.0)}) == {1, 2}  # it does not tell


@pytest.mark.parametrize("by", ["auto", "looks"])
def test_a_program_of_several_processes(build: Build, tmp_path: Path, by: str) -> None:
    """Each is watched; the one that ran the most is reported whole."""
    program = build("spinning")
    script = f'"{program}" computes >/dev/null & "{program}" computes >/dev/null & wait'
    file = tmp_path / "report.json"
    words = command(file, "--by", by)
    done = subprocess.run(
        [*words, "--", "sh", "-c", script],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=True,
    )
    report = json.loads(file.read_text())
    assert [one["program"] for one in report["processes"]] == ["spinning", "spinning"]
    assert report["children"] == 0
    for one in report["processes"]:
        assert one["times"]["running"] > 1e9
        assert f"{one['pid']:>8}" in done.stderr
    ran = [one["times"]["running"] for one in report["processes"]]
    assert ran == sorted(ran, reverse=True)
    assert "which ran the most:" in done.stderr


BUSY_S, MANY = 3, family.MOST + 3


def test_of_many_processes_the_busiest_are_watched(tmp_path: Path) -> None:
    """The verdict says how many were not, and how much CPU time they had."""
    ended = time.monotonic() + BUSY_S
    one = f"import time\nwhile time.monotonic() < {ended}: pass"
    start = (
        f"import subprocess, sys\nfor p in [subprocess.Popen([sys.executable, '-c', '''{one}'''])"
    )
    script = f"{start} for _ in range({MANY})]: p.wait()"
    file = tmp_path / "report.json"
    done = subprocess.run(
        [*command(file, "--by", "looks"), "--", sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=True,
    )
    report = json.loads(file.read_text())
    left = report["children"]
    assert left > 0
    assert len(report["processes"]) == MANY - left >= family.MOST
    assert report["children_ns"] > 0.05e9 * left
    assert re.search(rf"^ +{left} more process\w* w\w+ not watched, with \d", done.stderr, re.M)
