# SPDX-License-Identifier: MIT
"""Existing, unmodified programs under each lock, through `overlock run`, and natively."""

import hashlib
import os
import random
import re
import shutil
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from overlock_tools.core.model.measures import Cell
from overlock_tools.core.model.results import PROGRAM, Result
from overlock_tools.core.system import children, machine, native
from overlock_tools.core.system.errors import FAILED, MISSING, Fail

NATIVE = "native"
# A run that takes this many times as long as the native one has collapsed, and is cut.
CUT_AT = 5.0
LEAST_LIMIT_S = 2.0  # of which the start of `overlock run` may take a part


class Program(ABC):
    """One program and its input. The time is the one the program reports itself."""

    name: str
    title: str
    unit: str

    @abstractmethod
    def work(self) -> float:
        """What a run does, in `unit`s."""

    @abstractmethod
    def command(self, threads: int) -> list[str]: ...

    @abstractmethod
    def seconds(self, said: str) -> float | None:
        """The time that the program reports in what it printed."""

    @abstractmethod
    def wrong(self, folder: Path) -> str:
        """Why the output in `folder` is not the right one; empty if it is."""


class Sysbench(Program):
    """sysbench's mutex test: threads work for about a microsecond, take one mutex, release it."""

    name = "sysbench"
    title = "sysbench mutex, unmodified: one contended mutex"
    unit = "locks"

    def __init__(self, locks: int) -> None:
        self.locks = locks

    def work(self) -> float:
        return self.locks

    def command(self, threads: int) -> list[str]:
        return [
            *("sysbench", "mutex", f"--threads={threads}", "--mutex-num=1"),
            *(f"--mutex-locks={self.locks // threads}", "--mutex-loops=1000", "run"),
        ]

    def seconds(self, said: str) -> float | None:
        found = re.search(r"total time:\s+([\d.]+)s", said)
        return float(found[1]) if found else None

    def wrong(self, folder: Path) -> str:
        said = (folder / "out").read_text(errors="replace")
        threads = re.search(r"Number of threads: (\d+)", said)
        events = re.search(r"total number of events:\s+(\d+)", said)
        if threads and events and threads[1] == events[1]:
            return ""
        return "sysbench did not report one finished event per thread"


class Pbzip2(Program):
    """pbzip2 packs a file in memory: real work, with a queue behind a mutex and conditions."""

    name = "pbzip2"
    title = "pbzip2, unmodified: compressing a file in memory"
    unit = "bytes"

    def __init__(self, folder: Path, size: int) -> None:
        self.input, self.size = folder / "input", size
        self.input.write_bytes(_text(size))
        packed = subprocess.run(
            [*self.command(1)], capture_output=True, check=True, stdin=subprocess.DEVNULL
        ).stdout
        unpacked = subprocess.run(["pbzip2", "-dc"], input=packed, capture_output=True, check=True)
        if unpacked.stdout != self.input.read_bytes():
            raise Fail("pbzip2 cannot decompress its own output, even natively", FAILED)
        # The blocks are packed apart and written in order: the same bytes for any threads.
        self.expected = hashlib.sha256(packed).hexdigest()

    def work(self) -> float:
        return self.size

    def command(self, threads: int) -> list[str]:
        return ["pbzip2", "-v", "-c", "-k", "-b1", f"-p{threads}", str(self.input)]

    def seconds(self, said: str) -> float | None:
        found = re.search(r"Wall Clock: ([\d.]+) seconds", said)
        return float(found[1]) if found else None

    def wrong(self, folder: Path) -> str:
        same = hashlib.sha256((folder / "out").read_bytes()).hexdigest() == self.expected
        return "" if same else "the compressed file differs from the native one"


def _text(size: int) -> bytes:
    """Something that packs as text does: words of a small vocabulary, the same every time."""
    draw = random.Random(1)  # noqa: S311 - no secret
    words = [
        bytes(draw.choices(b"abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9)))
        for _ in range(4000)
    ]
    out = bytearray()
    while len(out) < size:
        out += b" ".join(draw.choices(words, k=5000)) + b"\n"
    return bytes(out[:size])


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder in memory, so that no disk is measured."""
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108
    with tempfile.TemporaryDirectory(prefix="overlock-", dir=base) as folder:
        yield Path(folder)


def need(*names: str) -> None:
    for name in names:
        if not shutil.which(name):
            raise Fail(f"{name} is not on PATH; install it (`apt install {name}`)", MISSING)


def under(variant: str, command: list[str]) -> list[str]:
    """The command under that lock, or natively with that variable set (KMP_LOCK_KIND=tas)."""
    if variant == NATIVE:
        return command
    if "=" in variant:
        return ["env", variant, *command]
    return [str(native.file("overlock")), "run", "--lock", variant, "--", *command]


def _run_once(command: list[str], folder: Path, limit: float) -> tuple[int | None, float]:
    """Exit status, or None when it was cut; CPU seconds. Output goes to files in `folder`."""
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        before = os.times()
        with children.group(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err) as child:
            try:
                code: int | None = child.wait(limit)
            except subprocess.TimeoutExpired:
                code = None
    after = os.times()
    used = after.children_user - before.children_user
    return code, used + after.children_system - before.children_system


class Runs:
    """The cells of one program, interleaved, into a result."""

    def __init__(self, program: Program, result: Result, folder: Path) -> None:
        self.program, self.result, self.folder = program, result, folder
        self.limits: dict[int, float] = {}

    def cell(self, round_number: int, variant: str, threads: int) -> Cell:
        limit = self.limits.get(threads, 60.0)
        command = under(variant, self.program.command(threads))
        code, cpu = _run_once(command, self.folder, limit)
        cell = Cell(round_number, variant, threads, self.program.work(), limit, cpu)
        if code is None:
            cell.cut = True
            return cell
        said = "".join((self.folder / f).read_text(errors="replace") for f in ("err", "out"))
        seconds = self.program.seconds(said)
        if code or not seconds:
            last = (self.folder / "err").read_text(errors="replace").strip().splitlines()
            raise Fail(
                f"{' '.join(command)} ended with status {code}: "
                f"{last[-1] if last else 'no output'}",
                FAILED,
            )
        cell.seconds = seconds
        cell.wrong = self.program.wrong(self.folder)
        if variant == NATIVE and threads not in self.limits:
            self.limits[threads] = max(CUT_AT * seconds, LEAST_LIMIT_S)
        return cell

    def all(self, rounds: int, until: float, each: Callable[[], None]) -> None:
        """A round that would not end by `until`, a time.monotonic(), is not begun.

        A variant that was cut is not run again at that number of threads.
        """
        draw = random.Random(1)  # noqa: S311 - no secret
        longest = 0.0
        for round_number in range(1, rounds + 1):
            began = time.monotonic()
            if round_number > 1 and began + longest > until:
                self.result.settings["rounds"] = round_number - 1
                self.result.warnings.append(
                    f"stopped at the time limit after {round_number - 1} of {rounds} rounds"
                )
                return
            others = [(v, n) for v in self.result.variants for n in self.result.threads]
            draw.shuffle(others)
            if round_number == 1:  # the native time says where to cut
                others.sort(key=lambda place: place[0] != NATIVE)
            for variant, threads in others:
                if not self.result.cut(variant, threads):
                    self.result.cells.append(self.cell(round_number, variant, threads))
                each()
            longest = max(longest, time.monotonic() - began)


def new_result(
    program: Program, variants: list[str], threads: list[int], rounds: int, command: str
) -> Result:
    return Result(
        kind=PROGRAM,
        title=program.title,
        unit=program.unit,
        baseline=NATIVE,
        command=command,
        settings={"cpus": machine.cpus(), "rounds": rounds},
        machine=machine.facts(),
        native={},
        variants=[NATIVE, *variants],
        threads=threads,
        peers=[NATIVE, *(name for name in variants if "=" in name)],
    )
