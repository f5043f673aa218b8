# SPDX-License-Identifier: MIT
"""What is bounded stays bounded. Whatever ends it, nothing stays loaded and nobody is harmed."""

import json
import os
import pty
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from overlock_tools.profile import advice, agent
from tests.processes import HANG_S, children, gone, read, until
from tests.profile.conftest import PROFILER, REFUSED, Build, needs_bpf, profile

LOCKS, KEPT = 400, 50


def loaded(process: int) -> set[str]:
    """The ids of its BPF programs."""
    files = Path(f"/proc/{process}/fdinfo").glob("*")
    return set(re.findall(r"^prog_id:\s+(\d+)$", "\n".join(map(read, files)), re.MULTILINE))


def in_kernel() -> set[str]:
    done = subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, check=True)
    return {str(one["id"]) for one in json.loads(done.stdout)}


@contextmanager
def profiling(*words: str | Path) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """The command, and its overlock-profiler once it watches."""
    command = [sys.executable, "-m", "overlock_tools", "profile", *map(str, words)]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert child.stderr
        assert "watching sleep" in child.stderr.readline()
        yield child, next(watchers(child.pid))
    finally:
        child.kill()
        child.communicate()


def watchers(command: int) -> Iterator[int]:
    for one in children(command):
        if read(f"/proc/{one}/comm").startswith("overlock-profil"):
            yield one


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(["sleep", "1000"]) as program:
        yield program
        program.kill()


@needs_bpf
@pytest.mark.parametrize("victim", ["command", "agent"])
def test_killed_it_leaves_nothing(sleeper: "subprocess.Popen[bytes]", victim: str) -> None:
    with profiling("--pid", str(sleeper.pid)) as (command, watcher):
        ids = loaded(watcher)
        assert len(ids) > 5
        assert ids <= in_kernel()
        os.kill(command.pid if victim == "command" else watcher, signal.SIGKILL)
        until(lambda: gone(watcher))
        until(lambda: not ids & in_kernel())
    assert sleeper.poll() is None


@needs_bpf
def test_it_is_prompt_but_not_for_long(sleeper: "subprocess.Popen[bytes]") -> None:
    """The kernel sends SIGXCPU to who runs beyond a limit as a real-time thread."""
    with profiling("--pid", str(sleeper.pid)) as (_, watcher):
        assert os.sched_getscheduler(watcher) == os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        soft, _ = resource.prlimit(watcher, resource.RLIMIT_RTTIME)
        assert 0 < soft <= 50_000  # us
        os.kill(watcher, signal.SIGXCPU)
        until(lambda: os.sched_getscheduler(watcher) == os.SCHED_OTHER)
        assert not gone(watcher)


@needs_bpf
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_keep_what_was_seen(
    sleeper: "subprocess.Popen[bytes]", tmp_path: Path, number: signal.Signals
) -> None:
    file = tmp_path / "report.json"
    with profiling("--json", file, "--pid", str(sleeper.pid)) as (command, _):
        command.send_signal(number)
        _, said = command.communicate(timeout=HANG_S)
        assert command.returncode == 0, said
    assert json.loads(file.read_text())["program"] == "sleep"
    assert "No lock trouble" in said
    assert sleeper.poll() is None


@needs_bpf
def test_sigterm_goes_on_to_the_program(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    words = ["profile", "--json", str(file), "--", "sh", "-c", "echo begun; exec sleep 1000"]
    with subprocess.Popen(
        [sys.executable, "-m", "overlock_tools", *words], stdout=subprocess.PIPE, text=True
    ) as command:
        assert command.stdout
        assert command.stdout.readline() == "begun\n"
        command.terminate()
        assert command.wait(HANG_S) == -signal.SIGTERM  # as the program ended
    assert json.loads(file.read_text())["program"] == "sh"


@needs_bpf
def test_live_on_a_terminal(build: Build) -> None:
    """Each second, then the usual report; Ctrl-C is not needed where the program ends."""
    shown: list[bytes] = []

    def read_terminal(terminal: int) -> bytes:
        shown.append(os.read(terminal, 65536))
        return shown[-1]

    program = str(build("holder_fifo"))
    command = [sys.executable, "-m", "overlock_tools", "profile", "--live", "--", program]
    assert os.waitstatus_to_exitcode(pty.spawn(command, read_terminal)) in (0, REFUSED)
    text = b"".join(shown).decode(errors="replace")
    assert "waiting" in text
    assert "Ctrl-C ends it" in text
    assert "Not known:" in text


def test_live_needs_a_terminal() -> None:
    command = [sys.executable, "-m", "overlock_tools", "profile", "--live", "--", "true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--live shows the locks on a terminal" in done.stderr


@needs_bpf
def test_locks_beyond_those_kept_are_added_up(build: Build, tmp_path: Path) -> None:
    found = profile(build("many"), tmp_path, str(LOCKS), "8", options=("--locks", str(KEPT)))
    report = found.report
    assert len(report["locks"]) <= KEPT
    assert report["beyond"]["waits"] > 0
    assert report["beyond"]["wait_ns"] > 0
    assert report["lost"]["locks"] > 0
    assert "there are too many locks" in found.said
    lost = sum(map(advice.lost, report["locks"]))  # a sample or two may show a thread that spins
    assert report["lost_ns"] == lost + report["beyond"]["wait_ns"]


@needs_bpf
def test_threads_beyond_those_kept_are_counted(build: Build) -> None:
    with agent.started((str(build("many")), "64", "200"), None, {"threads": 20}, "bpf") as (
        watching,
        child,
    ):
        seen = watching.answer(lambda: None)
        assert child.wait() == 0
    assert seen.lost["threads"] > 0
    assert len(seen.threads) <= 20


@pytest.mark.skipif(not PROFILER.exists(), reason="overlock-profiler is not built here")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--pid", "x"], "--pid=x is not a number"),
        (["--pid", "0"], "--pid=0 is not a number"),
        ([], "give --pid PID"),
        (["--pid", "1", "--locks", "0"], "--locks=0 is not a number"),
    ],
)
def test_bad_usage_is_one_line(words: list[str], said: str) -> None:
    done = subprocess.run([PROFILER, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert said in done.stderr
