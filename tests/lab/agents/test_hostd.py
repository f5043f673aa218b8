# SPDX-License-Identifier: MIT
"""overlock-hostd and an ordinary program of several threads, which read their own entries."""

import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import NATIVE
from tests.lab.agents.conftest import HEADER, MADE, NO_END, OVER, TOLD, Entry, Look, Page
from tests.processes import HANG_S, until

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


@contextmanager
def empty_page() -> Iterator[Path]:
    folder = "/dev/shm"  # noqa: S108 - as a guest's is
    with tempfile.NamedTemporaryFile(prefix="overlock-test-", dir=folder) as file:
        file.truncate(4096)
        yield Path(file.name)


@pytest.fixture
def page() -> Iterator[Path]:
    with empty_page() as path:
        yield path


@pytest.fixture
def other_page() -> Iterator[Path]:
    with empty_page() as path:
        yield path


@contextmanager
def started(*command: str | Path) -> Iterator[Child]:
    child = subprocess.Popen(
        [*map(str, command)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    hang = threading.Timer(HANG_S, child.kill)  # its line is waited for without end
    hang.start()
    try:
        yield child
    finally:
        hang.cancel()
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
    assert agent.wait(HANG_S) == 0
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
        assert thread["ahead"]
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
    """The mutant of the first test's: a copy each second, far apart beside times off the CPU."""
    options = ("--publisher", "copy", "--poll-us", "1000000")
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
        assert agent.wait(HANG_S) == 0
        assert state(page) == OVER


# Threads whose ids are used again.


def slices_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[2])


@contextmanager
def reused(
    look: Path, page: Path, *options: str, which: slice, how: str = "exit"
) -> Iterator[tuple[Child, Child]]:
    """An agent that watches threads, of which the first will end; its id will be another's."""
    with started(look, "reuse", how) as program:
        threads = ",".join(line(program).split(",")[which])
        with started(HOSTD, "--page", page, "--threads", threads, *options) as agent:
            line(agent)
            until(lambda: Entry.on(page).begin > 0)
            yield program, agent


@needs_root
@pytest.mark.parametrize("way", ["auto", "copy"])
def test_a_stranger_of_the_same_id_is_not_told_of(spinner: Path, page: Path, way: str) -> None:
    with reused(spinner, page, "--publisher", way, which=slice(2)) as (program, agent):
        go(program)
        stranger = int(line(program))
        until(lambda: not Entry.on(page).id)
        last = Entry.on(page)
        assert (last.running, last.begin, last.end) == (0, 0, 0)
        until(lambda: slices_of(stranger) > 10)
        assert Entry.on(page) == last
        assert state(page) == TOLD  # for the other thread
        go(program)
        ended(agent)


@needs_root
@pytest.mark.parametrize("way", ["auto", "copy"])
def test_it_ends_with_the_last_thread_it_watches(spinner: Path, page: Path, way: str) -> None:
    """The process lives on."""
    with reused(spinner, page, "--publisher", way, which=slice(1)) as (program, agent):
        go(program)
        assert line(agent)["slices"]
        assert agent.wait(HANG_S) == 0
        assert state(page) == OVER
        assert program.poll() is None


@needs_root
@pytest.mark.parametrize("way", ["auto", "copy"])
def test_a_thread_that_executes_a_program_is_no_more(spinner: Path, page: Path, way: str) -> None:
    """It goes on as its process's first thread, and does not exit; its id can be a stranger's."""
    options = ("--publisher", way)
    with reused(spinner, page, *options, which=slice(1), how="exec") as (program, agent):
        go(program)
        assert int(line(program)) > 0
        assert line(agent)["slices"]
        assert agent.wait(HANG_S) == 0
        assert state(page) == OVER
        assert program.poll() is None


@needs_root
def test_what_has_exited_is_no_thread(page: Path) -> None:
    with started("true") as program:
        stat = Path(f"/proc/{program.pid}/stat")
        until(lambda: ") Z " in stat.read_text())
        done = asked(HOSTD, "--page", page, "--threads", str(program.pid))
    assert (done.returncode, done.stderr) == (
        2,
        f"overlock-hostd: there is no thread {program.pid}\n",
    )


# Pages that others have at their hands.


@needs_root
@pytest.mark.parametrize("way", ["auto", "copy"])
@pytest.mark.parametrize("sizes", [(0,), (100,), (0, 4096)], ids=str)
def test_a_page_that_is_truncated_ends_it(page: Path, way: str, sizes: tuple[int, ...]) -> None:
    with started(sys.executable, "-c", "while True: pass") as program:
        words = ("--page", page, "--threads", str(program.pid), "--publisher", way)
        with started(HOSTD, *words) as agent:
            line(agent)
            until(lambda: state(page) == TOLD)
            for size in sizes:
                os.truncate(page, size)
            assert "slices" in line(agent)
            assert agent.wait(HANG_S) == 1
            assert agent.stderr
            assert agent.stderr.read() == (
                f"overlock-hostd: {page} was truncated or overwritten; make it anew, and "
                "start its readers and this again\n"
            )


def device_at(path: Path) -> None:
    os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))  # as /dev/null


def strangers_at(path: Path) -> None:
    path.write_bytes(bytes(4096))
    os.chown(path, 12345, 12345)


def everybodys_at(path: Path) -> None:
    path.write_bytes(bytes(4096))
    path.chmod(0o666)


def large_at(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


NO_FILE = "it is no regular file; name one, or one that is still to be made"
LINK = "it is a symbolic link; name the file itself"
NO_PAGE = "it holds something else than a slice page; remove it, or take another file"
SIZE = "it has {} bytes instead of a power of two from 4096 to 1048576; truncate -s 4096 it"
REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "folder": (Path.mkdir, NO_FILE),
    "link": (lambda path: path.symlink_to(path.with_name("other")), LINK),
    "dangling": (lambda path: path.symlink_to(path.with_name("none")), LINK),
    "second-name": (
        lambda path: path.hardlink_to(path.with_name("other")),
        "it has 2 names instead of 1; remove the others, or take another file",
    ),
    "pipe": (os.mkfifo, NO_FILE),
    "device": (device_at, NO_FILE),
    "strangers": (
        strangers_at,
        "it belongs to user 12345 instead of 0 (ours) or 0 (the threads'); chown it",
    ),
    "everybodys": (everybodys_at, "everybody may write to it; chmod o-w it"),
    "text": (lambda path: path.write_bytes(b"root:x:0:0\n".ljust(4096, b"\0")), NO_PAGE),
    "later-zeros": (lambda path: path.write_bytes(bytes(4095) + b"\n"), NO_PAGE),
    "later-version": (lambda path: Page(path, version=2).write(Entry()), NO_PAGE),
    "others-size": (lambda path: Page(path, size=8192).write(Entry()), NO_PAGE),
    "small": (lambda path: path.write_bytes(bytes(64)), SIZE.format(64)),
    "odd": (lambda path: path.write_bytes(bytes(4097)), SIZE.format(4097)),
    "large": (large_at, SIZE.format(1 << 40)),
}


def seen_at(path: Path) -> tuple[Any, ...]:
    """What a writer would have changed."""
    found = path.lstat()
    held = path.read_bytes() if path.is_file() and found.st_size < 1 << 20 else b""
    return found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, held


@needs_root
@pytest.mark.parametrize("what", REFUSED)
def test_a_file_that_is_no_page_is_left_alone(tmp_path: Path, what: str) -> None:
    made_at, why = REFUSED[what]
    other = tmp_path / "other"
    other.write_bytes(bytes(4096))
    path = tmp_path / "page"
    made_at(path)
    before = seen_at(path), seen_at(other)
    done = asked(HOSTD, "--page", path, "--threads", str(os.getpid()))
    assert done.stderr == f"overlock-hostd: {path} cannot be the page: {why}\n"
    assert done.returncode == 2
    assert (seen_at(path), seen_at(other)) == before
    assert not (tmp_path / "none").exists()


@needs_root
@pytest.mark.parametrize("exists", [True, False])
def test_no_folder_of_its_path_is_a_link(tmp_path: Path, exists: bool) -> None:
    """Its owner could lead root to a file, or to a folder, that only root may write to."""
    ours, linked = tmp_path / "ours", tmp_path / "linked"
    ours.mkdir()
    linked.symlink_to(ours)
    if exists:
        (ours / "page").touch()
    done = asked(HOSTD, "--page", linked / "page", "--threads", str(os.getpid()))
    assert (done.returncode, done.stderr) == (
        2,
        f"overlock-hostd: {linked}/page cannot be the page: a folder of its path is a symbolic "
        "link; name it as `realpath` does\n",
    )
    assert [(path.name, path.stat().st_size) for path in ours.iterdir()] == [("page", 0)] * exists


@needs_root
def test_a_page_has_one_agent(spinner: Path, page: Path) -> None:
    with watched(spinner, page, seconds=0.1) as (_, agent, _):
        done = asked(HOSTD, "--page", page, "--threads", str(os.getpid()))
        assert done.returncode == 2
        assert done.stderr.endswith("another overlock-hostd writes to it; end that first\n")
        assert state(page) == TOLD
        ended(agent)


def used(path: Path) -> None:
    """Two agents, one after the other: the second finds a page that the first has made."""
    for _ in range(2):
        with started(HOSTD, "--page", path, "--threads", str(os.getpid())) as agent:
            line(agent)
            assert state(path) == TOLD
            ended(agent)
        assert state(path) == OVER


@needs_root
def test_a_new_page_is_ours_alone(page: Path) -> None:
    page.unlink()
    used(page)
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert page.stat().st_size == 4096


@needs_root
def test_an_empty_file_and_the_threads_users_are_taken(page: Path) -> None:
    os.truncate(page, 0)
    used(page)
    words = ("setpriv", "--reuid", "12345", "--clear-groups", "sleep", "60")
    with started(*words) as program:
        until(lambda: "\nUid:\t12345" in Path(f"/proc/{program.pid}/status").read_text())
        os.chown(page, 12345, 12345)
        with started(HOSTD, "--page", page, "--threads", str(program.pid)) as agent:
            line(agent)
            assert "\nUid:\t12345" in Path(f"/proc/{agent.pid}/status").read_text()
            ended(agent)


@needs_root
def test_a_page_on_a_disk_is_named(tmp_path: Path) -> None:
    """What cannot be pinned cannot be written while the scheduler switches."""
    kind = asked("stat", "--file-system", "--format", "%T", tmp_path).stdout.strip()
    if kind in {"tmpfs", "ramfs"}:
        pytest.skip(f"{tmp_path} is in memory")
    words = ("--threads", str(os.getpid()), "--publisher", "direct")
    done = asked(HOSTD, "--page", tmp_path / "page", *words)
    if "the scheduler cannot be watched" in done.stderr:
        pytest.skip(f"this kernel refuses it: {done.stderr}")
    assert done.returncode == 2
    assert done.stderr.endswith("put it into /dev/shm, or give --publisher copy\n")


# What a guest can learn. The host's clock would tell when the host was booted, and which guests
# share it.

DAYS_NS = 10**9 * 86400


def clock_of(page: Path, *options: str) -> int:
    """By how much the page's clock is ahead of the host's."""
    with started(sys.executable, "-c", "while True: pass") as program:
        words = ("--page", page, "--threads", str(program.pid))
        with started(HOSTD, *words, *options) as agent:
            line(agent)
            until(lambda: Entry.on(page).begin > 0)
            head, entry = HEADER.unpack(page.read_bytes()[: HEADER.size]), Entry.on(page)
            now = time.monotonic_ns()
            ended(agent)
    found = int(head[7]) - now
    for told in (entry.id, entry.begin, entry.published):  # all by the same clock
        assert abs(told - now - found) < DAYS_NS
    return found


@needs_root
@pytest.mark.parametrize("way", ["auto", "copy"])
def test_the_hosts_clock_is_not_told_unless_asked_for(page: Path, way: str) -> None:
    first, second = (clock_of(page, "--publisher", way) for _ in range(2))
    assert abs(first - second) > DAYS_NS
    assert min(first, second) > 2**61 - DAYS_NS
    assert max(first, second) < 2**62
    assert abs(clock_of(page, "--publisher", way, "--detail", "full")) < DAYS_NS


@needs_root
@pytest.mark.parametrize("way", ["auto", "copy"])
def test_whether_others_want_the_cpu_is_not_told(spinner: Path, page: Path, way: str) -> None:
    with watched(spinner, page, "--publisher", way, n=1) as (program, agent, _):
        (thread,) = line(program)
        seen = ended(agent)
    assert not thread["endless"]
    assert thread["ahead"]
    assert seen["slices"]
    # It was alone at times, else nothing was shown.
    with watched(spinner, page, "--publisher", way, "--detail", "full", n=1) as (program, agent, _):
        (thread,) = line(program)
        ended(agent)
    if not thread["endless"]:
        pytest.skip("this machine is too busy: the thread never was alone on its CPU")


# On one CPU, with slices of 0.1 s (Linux 6.12), which are some ticks.
LONG_SLICES = """import ctypes, os, struct, sys
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
number = 314 if os.uname().machine == "x86_64" else 274
attributes = struct.pack("<IIQiIQQQII", 56, 0, 0, 0, 0, 10**8, 0, 0, 0, 0)
if ctypes.CDLL(None).syscall(number, 0, attributes, 0):
    sys.exit(print("refused"))
print("spins", flush=True)
while True: pass
"""
TICK_NS = 10_000_000  # at the most


def ends_told_anew(page: Path, full: Path, enough: int) -> list[bool]:
    """Of the times that the end of a slice was told anew, long before it, and that nobody else
    wanted the CPU: did it change?"""
    found: list[bool] = []
    last = Entry.on(page)
    end = time.monotonic() + 20
    while len(found) < enough and time.monotonic() < end:
        now = Entry.on(page)
        if now.seq % 2 or now.published == last.published:
            continue
        lasts = now.id == last.id and now.running and last.end > now.published + 2 * TICK_NS
        if lasts and Entry.on(full).end == NO_END:
            found.append(now.end != last.end)
        last = now
    return found


@needs_root
def test_an_end_is_the_same_whether_or_not_others_wait(page: Path, other_page: Path) -> None:
    """A thread that is alone is told the end that it would have if it were not, and keeps it."""
    with started(sys.executable, "-c", LONG_SLICES) as program:
        if line(program) != "spins":
            pytest.skip("this kernel has slices of one length only")
        words = ("--threads", str(program.pid))
        with (
            started(HOSTD, "--page", page, *words) as agent,
            started(HOSTD, "--page", other_page, *words, "--detail", "full") as knowing,
        ):
            line(knowing)
            if not line(agent)["direct"]:
                pytest.skip("this kernel refuses to have it written at each tick")
            changed = ends_told_anew(page, other_page, 20)
            ended(agent)
            ended(knowing)
    if len(changed) < 20:
        pytest.skip("this machine is too busy: the thread was alone at few ticks only")
    # The time that a host or interrupts take can move an end by a tick. Were that so at one tick in
    # twenty, half of twenty ticks would be so once in 10^8.
    assert sum(changed) < len(changed) / 2


@needs_root
def test_what_is_sure_is_told_only_if_asked_for(spinner: Path, page: Path) -> None:
    with watched(spinner, page) as (program, agent, _):
        assert not any(thread["sure"] for thread in line(program))
        assert "protected" not in ended(agent)["end_by"]
    with watched(spinner, page, "--detail", "full") as (program, agent, _):
        threads = line(program)
        if "protected" not in ended(agent)["end_by"]:
            pytest.skip("this kernel protects no part of a slice")
        assert any(thread["sure"] for thread in threads)


@needs_root
def test_one_that_is_killed_is_not_believed_for_long(spinner: Path, page: Path) -> None:
    with watched(spinner, page, seconds=-1) as (program, agent, _):
        until(lambda: all(Entry.on(page, i).begin > 0 for i in range(3)))
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
            line(parent)
            parent.kill()
            parent.wait()
            until(lambda: state(page) == OVER)


def asked(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*map(str, words)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )


@built
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give --page FILE and --threads"),
        (("--threads", "0"), "--threads=0 is not a number from 1"),
        (("--threads", "1,x"), "--threads=x is not a number"),
        (("--threads", "7,1,7"), "--threads names thread 7 twice; name it once"),
        (("--threads", "1", "--process", "-1"), "--process=-1 is not a number from 1"),
        (("--threads", "1", "--publisher", "me"), "none of auto, direct, copy"),
        (("--threads", "1", "--detail", "all"), "none of least, full"),
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
    os.chown(page, 65534, 65534)
    words = ("--page", page, "--threads", str(os.getpid()))
    done = asked("setpriv", "--reuid", "65534", "--clear-groups", "--", HOSTD, *words)
    assert done.returncode == 3, done.stderr
    assert "cannot be watched without root" in done.stderr
    assert state(page) == MADE


# A QEMU of two vCPUs, as far as it is asked; its threads are its own unless it is told others.
QEMU = """import json, os, socketserver, sys, threading, time
def vcpu():
    while True:
        time.sleep(0.001)
vcpus = [threading.Thread(target=vcpu, daemon=True) for _ in range(2)]
for one in vcpus:
    one.start()
told = json.loads(sys.argv[2]) or [one.native_id for one in vcpus]
class Monitor(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(b'{"QMP": {}}\\n')
        for line in self.rfile:
            cpus = [{"cpu-index": i, "thread-id": tid} for i, tid in enumerate(told)][::-1]
            answer = {"return": cpus if json.loads(line)["execute"] == "query-cpus-fast" else {}}
            self.wfile.write(json.dumps(answer).encode() + b"\\n")
with socketserver.UnixStreamServer(sys.argv[1], Monitor) as server:
    print(",".join(map(str, told)), flush=True)
    server.serve_forever()
"""


@needs_root
def test_the_command_asks_qemu_for_the_threads(page: Path, tmp_path: Path) -> None:
    socket = tmp_path / "qmp"
    with started(sys.executable, "-c", QEMU, socket, "[]") as qemu:
        threads = line(qemu)
        with started(*COMMAND, "--page", page, "--qmp", socket) as agent:
            assert line(agent)["watching"] == 2
            # It has taken its own word apart.
            words = Path(f"/proc/{agent.pid}/cmdline").read_text().replace(",", "\0").split("\0")
            first = words.index("--threads") + 1
            assert words[first : first + 2] == threads.split(",")
            until(lambda: all(Entry.on(page, vcpu).begin > 0 for vcpu in range(2)))
            ended(agent, signal.SIGINT)


@needs_root
def test_a_qemu_that_names_threads_of_others_is_not_believed(page: Path, tmp_path: Path) -> None:
    socket = tmp_path / "qmp"
    with started(sys.executable, "-c", QEMU, socket, json.dumps([os.getpid()])) as qemu:
        line(qemu)
        done = asked(*COMMAND, "--page", page, "--qmp", socket)
        assert (done.returncode, done.stderr) == (
            2,
            f"overlock-hostd: thread {os.getpid()} is of process {os.getpid()}; "
            f"give threads of --process {qemu.pid}\n",
        )
    assert not any(page.read_bytes())


COMMAND = (sys.executable, "-m", "overlock_tools", "hostd")


def test_the_command_asks_for_threads_once() -> None:
    for words in ((), ("--threads", "1", "--qmp", "x")):
        done = asked(*COMMAND, "--page", "p", *words)
        assert done.returncode == 2
        assert "exactly one of --threads and --qmp" in done.stderr


@built
def test_the_command_names_a_socket_that_does_not_answer(tmp_path: Path) -> None:
    done = asked(*COMMAND, "--page", tmp_path / "p", "--qmp", tmp_path / "none")
    assert done.returncode == 1
    assert "no answer; start QEMU with" in done.stderr
