# SPDX-License-Identifier: MIT
"""A program and its slice page, written by a script in the scheduler's place."""

import fcntl
import mmap
import os
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import BUILD, TOP

HEADER = struct.Struct("<8sIIIIIIQQQQ")
ENTRY = struct.Struct("<IIQQQQQI")
WORDS = struct.Struct("<III")
STRIDE, ENTRIES = 128, 64
SIZE = STRIDE * (ENTRIES + 1)
OFF, ON = 0, 1
HANG_S = 20
JOIN_MOST_MS = 100  # lib/slices.c
THREADS = 2  # of the program


class Scheduler:
    """Gives each program a page, and knows each thread as soon as it says what its entry is."""

    def __init__(
        self, path: Path, seals: int = fcntl.F_SEAL_SHRINK, *, answers: bool = True
    ) -> None:
        self.pages: list[mmap.mmap] = []
        self.joined: list[tuple[int, int]] = []
        self.seals = seals
        self.answers = answers
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.bind(str(path))
        self.socket.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                program, _ = self.socket.accept()
            except OSError:
                return
            fd = os.memfd_create("page", os.MFD_ALLOW_SEALING)
            os.ftruncate(fd, SIZE)
            if self.seals:
                fcntl.fcntl(fd, fcntl.F_ADD_SEALS, self.seals)
            page = mmap.mmap(fd, SIZE)
            lasts = 2**63 - 1
            shape = (SIZE, STRIDE, STRIDE, ENTRIES)
            HEADER.pack_into(page, 0, b"OVLKslce", 1, 1, *shape, 0, lasts, lasts, 0)
            self.pages.append(page)
            socket.send_fds(program, [b"\0"], [fd])
            os.close(fd)
            threading.Thread(target=self._hear, args=(program, page), daemon=True).start()

    def _hear(self, program: socket.socket, page: mmap.mmap) -> None:
        while message := program.recv(64):
            thread, entry = struct.unpack("<II", message)
            if self.answers:
                self.write(page, entry, thread=thread, id=1000 + entry)
            self.joined.append((thread, entry))

    def wait_for(self, threads: int) -> None:
        """Until that many have joined: a thread does not wait for its entry to be written."""
        until = time.monotonic() + HANG_S
        while len(self.joined) < threads and time.monotonic() < until:
            time.sleep(0.001)
        assert len(self.joined) == threads

    def write(self, page: mmap.mmap, at: int, **what: int) -> None:
        """The entry at that place: its thread, id, whether it runs, and its end."""
        end = what.get("end", 0)
        fields = (2, what.get("running", ON), what["id"], 0, end, end, 0, what["thread"])
        ENTRY.pack_into(page, STRIDE * (1 + at), *fields)

    def words(self, entry: int) -> tuple[int, ...]:
        return WORDS.unpack_from(self.pages[0], STRIDE * (1 + entry) + 64)

    def grant(self, entry: int) -> None:
        struct.pack_into("<I", self.pages[0], STRIDE * (1 + entry) + 68, 1)


class Program:
    def __init__(self, path: Path, socket_path: Path, variable: str = "OVERLOCK_SCHED") -> None:
        self.child = subprocess.Popen(
            [path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, variable: str(socket_path)},
        )
        assert self.child.stdout is not None
        self.pid = int(self.child.stdout.readline().split("=")[1])

    def says(self, line: str = "") -> dict[str, int]:
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.child.stdin.write(line + "\n")
        self.child.stdin.flush()
        words = (word.split("=") for word in self.child.stdout.readline().split())
        return {name: int(value) for name, value in words}

    def close(self) -> None:
        self.child.kill()
        self.child.communicate()


@pytest.fixture(scope="session")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("reader") / "reader"
    command: list[str | Path] = [
        *("gcc", "-std=gnu17", "-O1", "-Wall", "-Wextra", "-Werror"),
        *(f"-I{TOP}/include", f"-I{BUILD}/include", Path(__file__).with_name("reader.c")),
        *(BUILD / "lib/liboverlock.a", "-pthread", "-o", out),
    ]
    subprocess.run(command, check=True)
    return out


@pytest.fixture
def scheduler(tmp_path: Path) -> Scheduler:
    return Scheduler(tmp_path / "socket")


@pytest.fixture
def program(reader: Path, scheduler: Scheduler, tmp_path: Path) -> Iterator[Program]:
    running = Program(reader, tmp_path / "socket")
    scheduler.wait_for(THREADS)
    yield running
    running.close()


def test_each_thread_joins_with_its_id_as_entry(program: Program, scheduler: Scheduler) -> None:
    said = program.says()
    assert (program.pid, said["self"]) in scheduler.joined
    assert said["id"] == 1000 + said["self"]


def test_a_thread_waits_for_its_slice_and_not_for_ever(reader: Path, tmp_path: Path) -> None:
    """A load on this machine only makes the wait longer."""
    Scheduler(tmp_path / "socket", answers=False)
    running = Program(reader, tmp_path / "socket")
    said = running.says()
    running.close()
    assert said["joined_ms"] >= JOIN_MOST_MS - 1  # by two clocks
    assert said["id"] != 1000 + said["self"]


def test_a_scheduler_that_knows_no_thread_is_not_asked_again(reader: Path, tmp_path: Path) -> None:
    """A thread has waited for it in vain: neither the others nor children do so again."""
    scheduler = Scheduler(tmp_path / "socket", answers=False)
    running = Program(reader, tmp_path / "socket")
    running.says("fork in silence")
    running.close()
    assert len(scheduler.pages) == 1


def test_the_end_is_in_the_programs_clock(program: Program, scheduler: Scheduler) -> None:
    entry = program.says()["self"]
    now, away_ms = time.clock_gettime_ns(time.CLOCK_MONOTONIC), 2 * HANG_S * 1000

    def said_with(end: int) -> dict[str, int]:
        scheduler.write(scheduler.pages[0], entry, thread=program.pid, id=7, end=end)
        return program.says()

    said = said_with(now + away_ms * 1_000_000)
    assert said["id"] == 7
    assert away_ms - HANG_S * 1000 < said["end_ms"] <= away_ms + 1
    assert abs(said["min_ms"] - said["end_ms"]) <= 1
    past = said_with(now - away_ms * 1_000_000)
    assert -away_ms - HANG_S * 1000 < past["end_ms"] <= -away_ms + 1
    assert said_with(2**64 - 1)["end_ms"] == -(10**9)  # never


def test_another_thread_is_preempted_when_the_page_says_so(
    program: Program, scheduler: Scheduler
) -> None:
    me = program.says()["self"]
    thread, entry = next(pair for pair in scheduler.joined if pair[1] != me)
    assert not program.says()["other"]
    scheduler.write(scheduler.pages[0], entry, thread=thread, id=8, running=OFF)
    assert program.says()["other"]
    scheduler.write(scheduler.pages[0], entry, thread=thread, id=0, running=OFF)  # it has ended
    assert not program.says()["other"]


def test_an_entry_of_another_thread_tells_nothing(program: Program, scheduler: Scheduler) -> None:
    entry = program.says()["self"]
    scheduler.write(scheduler.pages[0], entry, thread=program.pid + 100_000, id=99)
    assert program.says()["id"] != 99


def test_it_asks_for_time_as_long_as_it_is_in_a_section(
    program: Program, scheduler: Scheduler
) -> None:
    entry = program.says()["self"]
    assert scheduler.words(entry)[0] == 0
    program.says("defer")
    program.says("defer")
    assert scheduler.words(entry)[0] == 1
    program.says("done")
    assert scheduler.words(entry)[0] == 1
    scheduler.grant(entry)
    program.says("done")
    assert scheduler.words(entry)[:2] == (0, 0)


def test_a_monitor_is_asked_for_no_time(reader: Path, scheduler: Scheduler, tmp_path: Path) -> None:
    """It tells as a scheduler does, and only watches."""
    running = Program(reader, tmp_path / "socket", "OVERLOCK_MONITOR")
    scheduler.wait_for(THREADS)
    said = running.says("defer")
    assert said["id"] == 1000 + said["self"]
    assert scheduler.words(said["self"]) == (0, 0, 0)
    running.close()


def test_the_name_of_who_is_waited_for_does_not_stay(
    program: Program, scheduler: Scheduler
) -> None:
    entry = program.says()["self"]
    program.says("yield")
    assert scheduler.words(entry)[2] == 0


def test_an_end_that_comes_late_is_not_the_end_of_two_slices(
    program: Program, scheduler: Scheduler
) -> None:
    """The other thread takes no ticket when its end has passed, but when it has another slice."""
    me = program.says()["self"]
    thread, entry = next(pair for pair in scheduler.joined if pair[1] != me)
    page, now = scheduler.pages[0], time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    scheduler.write(page, entry, thread=thread, id=7, end=now + 1_000_000)
    program.says("contend")
    time.sleep(0.02)
    assert not program.says()["queued"]
    scheduler.write(page, entry, thread=thread, id=8, end=now + 1_000_000_000_000)
    until = time.monotonic() + HANG_S
    while not program.says()["queued"] and time.monotonic() < until:
        time.sleep(0.001)
    assert program.says()["queued"]


def test_a_child_has_a_page_of_its_own(program: Program, scheduler: Scheduler) -> None:
    said = program.says("fork")
    assert len(scheduler.pages) == 2
    assert said["id"] == 1000 + said["self"]


def test_a_page_that_can_be_truncated_is_not_taken(reader: Path, tmp_path: Path) -> None:
    scheduler = Scheduler(tmp_path / "socket", seals=0)
    running = Program(reader, tmp_path / "socket")
    running.says()
    running.close()
    assert scheduler.pages
    assert not scheduler.joined


def test_without_a_scheduler_nothing_is_asked(reader: Path, tmp_path: Path) -> None:
    running = Program(reader, tmp_path / "nowhere")
    assert running.says()["min_ms"] == -(10**9)
    running.close()
