# SPDX-License-Identifier: MIT
"""overlock-hostd and an ordinary program of several threads, which read their own entries."""

import contextlib
import json
import os
import signal
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest
from conftest import HEADER, MADE, NATIVE, OVER, TOLD, Look

HOSTD = NATIVE / "overlock-hostd"
BTF = Path("/sys/kernel/btf/vmlinux")


def lacking() -> str:
    if not HOSTD.exists():
        return "overlock-hostd is not built here: clang, bpftool or libbpf-dev is not installed"
    if os.geteuid():
        return "watching the scheduler needs root"
    if not BTF.exists():
        return f"this kernel has no {BTF}"
    return ""


needs_root = pytest.mark.skipif(bool(lacking()), reason=lacking() or "-")
built = pytest.mark.skipif(not HOSTD.exists(), reason="overlock-hostd is not built here")
Child = subprocess.Popen[str]


@pytest.fixture(scope="session")
def spinner(look: Look) -> Path:
    return look()


@pytest.fixture
def page() -> Iterator[Path]:
    folder = "/dev/shm"  # noqa: S108 - as a guest's is
    with tempfile.NamedTemporaryFile(prefix="overlock-test-", dir=folder) as file:
        file.truncate(4096)
        yield Path(file.name)


@contextmanager
def started(*command: str | Path) -> Iterator[Child]:
    child = subprocess.Popen(
        [*map(str, command)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def line(child: Child) -> Any:
    assert child.stdout
    text = child.stdout.readline()
    if not text:
        child.kill()
        pytest.fail(f"it ended: {child.communicate()[1]}")
    return json.loads(text) if text.startswith(("{", "[")) else text.strip()


def go(child: Child) -> None:
    assert child.stdin
    child.stdin.write("go\n")
    child.stdin.flush()


@contextmanager
def watched(
    spinner: Path, page: Path, *options: str, n: int = 3, seconds: float = 0.5
) -> Iterator[tuple[Child, Child, dict[str, Any]]]:
    """The program, the agent that watches its threads, and what the agent said first."""
    with started(spinner, "spin", page, str(n), str(seconds)) as program:
        threads = line(program)
        with started(HOSTD, "--page", page, "--threads", threads, *options) as agent:
            begun = line(agent)
            go(program)
            yield program, agent, begun


def state(page: Path) -> int:
    return int(HEADER.unpack(page.read_bytes()[: HEADER.size])[2])


def ended(agent: Child, number: signal.Signals = signal.SIGTERM) -> dict[str, Any]:
    agent.send_signal(number)
    found: dict[str, Any] = line(agent)
    assert agent.wait(10) == 0
    return found


@needs_root
def test_threads_know_each_of_their_slices(spinner: Path, page: Path) -> None:
    with watched(spinner, page) as (program, agent, begun):
        if not begun["direct"]:
            pytest.skip(f"this kernel refuses it: {begun['why']}")
        threads = line(program)
        seen = ended(agent)
    for thread in threads:
        assert thread["switches"] > 3  # else nothing was shown: three threads on one CPU
        assert thread["ids"] == thread["switches"]
        assert not thread["unread"]
        assert not thread["untold"]
        assert thread["ahead"] > thread["looks"] / 2
    assert seen["taken"] > 10
    assert seen["written"] >= seen["slices"]
    assert not seen["refused"]
    assert seen["error_ns"]["count"] + seen["endless"] == seen["taken"]


@needs_root
def test_what_is_copied_is_later_but_true(spinner: Path, page: Path) -> None:
    with watched(spinner, page, "--publisher", "copy") as (program, agent, begun):
        threads = line(program)
        seen = ended(agent)
    assert not begun["direct"]
    for thread in threads:
        assert thread["ids"] <= thread["switches"]
        assert thread["ids"] > 3
        assert thread["changes"] > 1
        assert thread["ahead"]
    assert seen["copied"] > 10
    assert not seen["written"]


@needs_root
def test_a_copy_that_comes_late_misses_slices(spinner: Path, page: Path) -> None:
    """The broken twin of the first test's: who copies once in 0.2 s."""
    options = ("--publisher", "copy", "--poll-us", "200000")
    with watched(spinner, page, *options) as (program, agent, _):
        threads = line(program)
        ended(agent)
    assert any(thread["away_unseen"] for thread in threads)


@needs_root
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_page_says_that_it_is_over(spinner: Path, page: Path, number: signal.Signals) -> None:
    with watched(spinner, page, seconds=0.1) as (_, agent, _):
        assert state(page) == TOLD
        ended(agent, number)
        assert state(page) == OVER
        assert not any(page.read_bytes()[HEADER.size + 8 : HEADER.size + 64])


@needs_root
def test_it_ends_with_the_threads_it_watches(spinner: Path, page: Path) -> None:
    with watched(spinner, page, seconds=0.1) as (program, agent, _):
        program.kill()
        program.wait()
        assert line(agent)["slices"]
        assert agent.wait(10) == 0
        assert state(page) == OVER


@needs_root
def test_one_that_is_killed_is_not_believed_for_long(spinner: Path, page: Path) -> None:
    with watched(spinner, page, seconds=4) as (program, agent, _):
        time.sleep(0.5)
        agent.kill()
        threads = line(program)
    assert state(page) == TOLD  # it could not say so
    for thread in threads:
        # What was written last has passed soon, and after 2 s nothing is told at all.
        assert thread["untold"] > 0
        assert thread["ahead"] < thread["looks"] - thread["untold"]


@needs_root
def test_root_is_given_up(spinner: Path, page: Path) -> None:
    with watched(spinner, page, seconds=0.1) as (_, agent, begun):
        status = Path(f"/proc/{agent.pid}/status").read_text()
        assert begun["pid"] == agent.pid
        fields = dict(text.split(":\t", 1) for text in status.splitlines() if ":\t" in text)
        assert set(fields["Uid"].split()) == {"65534"}
        assert int(fields["CapEff"], 16) == int(fields["CapPrm"], 16) == 0
        assert fields["NoNewPrivs"].strip() == "1"
        ended(agent)


@needs_root
def test_it_goes_with_who_started_it(spinner: Path, page: Path) -> None:
    """Giving root up makes the kernel forget that it shall."""
    script = "import subprocess, sys, time; child = subprocess.Popen(sys.argv[1:]); time.sleep(60)"
    with started(spinner, "spin", page, "2", "0.1") as program:
        words = ["setpriv", "--pdeathsig", "TERM", "--", str(HOSTD), "--page", str(page)]
        words += ["--threads", line(program)]
        with started(sys.executable, "-c", script, *words) as parent:
            begun = line(parent)
            parent.kill()
            parent.wait()
            until = time.monotonic() + 20
            with contextlib.suppress(FileNotFoundError):
                while time.monotonic() < until:
                    if "zombie" in Path(f"/proc/{begun['pid']}/status").read_text():
                        break
                    time.sleep(0.05)
            assert state(page) == OVER


def asked(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*map(str, words)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@built
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give --page FILE and --threads"),
        (("--threads", "0"), "--threads=0 is not a number from 1"),
        (("--threads", "1,x"), "--threads=x is not a number"),
        (("--threads", "1", "--publisher", "me"), "none of auto, direct, copy"),
        (("--threads", "1", "--poll-us", "1"), "--poll-us=1 is not a number from 10"),
        (("--threads", "4194304"), "there is no thread 4194304"),
    ],
)
def test_what_cannot_be_asked(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = asked(HOSTD, "--page", tmp_path / "page", *words)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


@built
def test_a_page_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    done = asked(HOSTD, "--page", tmp_path / "none/page", "--threads", str(os.getpid()))
    assert done.returncode == 2
    assert "none/page cannot be the page: No such file" in done.stderr


@needs_root
def test_without_root_it_says_so(page: Path) -> None:
    page.chmod(0o666)
    words = ("--page", page, "--threads", str(os.getpid()))
    done = asked("setpriv", "--reuid", "65534", "--clear-groups", "--", HOSTD, *words)
    assert done.returncode == 3, done.stderr
    assert "cannot be watched without root" in done.stderr
    assert state(page) == MADE


class Qemu(socketserver.StreamRequestHandler):
    """QEMU's monitor, as far as it is asked."""

    threads: ClassVar[list[int]] = []

    def handle(self) -> None:
        self.wfile.write(b'{"QMP": {}}\n')
        for told in self.rfile:
            cpus = [{"cpu-index": i, "thread-id": tid} for i, tid in enumerate(self.threads)]
            asked_for_them = json.loads(told)["execute"] == "query-cpus-fast"
            answer: dict[str, Any] = {"return": cpus[::-1] if asked_for_them else {}}
            self.wfile.write(json.dumps(answer).encode() + b"\n")


@needs_root
def test_the_command_asks_qemu_for_the_threads(spinner: Path, page: Path, tmp_path: Path) -> None:
    socket = tmp_path / "qmp"
    with (
        started(spinner, "spin", page, "2", "0.3") as program,
        socketserver.ThreadingUnixStreamServer(str(socket), Qemu) as server,
    ):
        Qemu.threads = [int(word) for word in line(program).split(",")]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with started(*COMMAND, "--page", page, "--qmp", socket) as agent:
            assert line(agent)["watching"] == 2
            go(program)
            threads = line(program)
            server.shutdown()
            assert all(thread["changes"] for thread in threads)
            ended(agent, signal.SIGINT)


COMMAND = (sys.executable, "-m", "overlock_tools", "hostd")


def test_the_command_asks_for_threads_once() -> None:
    for words in ((), ("--threads", "1", "--qmp", "x")):
        done = asked(*COMMAND, "--page", "p", *words)
        assert done.returncode == 2
        assert "give --threads or --qmp" in done.stderr


@built
def test_the_command_names_a_socket_that_does_not_answer(tmp_path: Path) -> None:
    done = asked(*COMMAND, "--page", tmp_path / "p", "--qmp", tmp_path / "none")
    assert done.returncode == 1
    assert "nobody answers; give QEMU" in done.stderr
