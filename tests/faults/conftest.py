# SPDX-License-Identifier: MIT
"""Programs under a seccomp filter by which one system call fails (deny.c)."""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
BUILD = TOP / os.environ.get("BUILD", "build")
os.environ.setdefault("OVERLOCK_NATIVE", str(BUILD / "native"))

from overlock_tools.core.model import defs  # noqa: E402
from overlock_tools.core.system import native  # noqa: E402 - after it knows where

LACKING = 77
HANG_S = 120
Command = Sequence[str | Path]
REFUSED = 125
ABORTED = 134  # as a shell has it
GLIBC_ABORTS = "The futex facility returned an unexpected error code."


@dataclass(frozen=True)
class Denial:
    """`late`: `--after-start` begins when the program says so, with all its threads there."""

    words: tuple[str, ...]
    late: bool = False

    def __str__(self) -> str:
        path = self.words[3:] if "--below" in self.words else ()
        return " ".join((*self.words[:2], *path, *(["later"] if self.late else [])))


# What sandboxes forbid, and what runs out.
WHOLE = [
    Denial(words)
    for words in (
        ("futex", "EPERM"),
        ("futex", "ENOSYS"),
        ("sched_yield", "EPERM"),
        ("sched_getaffinity", "EPERM"),
        ("sched_getscheduler", "EPERM"),
        ("sched_getattr", "EPERM"),
        ("getcpu", "ENOSYS"),
        ("membarrier", "EPERM"),
        ("rseq", "ENOSYS"),
        ("set_robust_list", "ENOSYS"),
        ("prctl", "EPERM"),
        ("nanosleep", "EPERM"),
        ("clone3", "ENOSYS"),
        ("clone3", "EPERM"),
        ("memfd_create", "ENOSYS"),
        ("openat", "EACCES", "--below", "/proc"),
        ("openat", "EACCES", "--below", "/sys"),
    )
]
AFTER_START = [
    Denial((call, error, "--after-start"), late)
    for call, error in (("mmap", "ENOMEM"), ("mprotect", "ENOMEM"), ("openat", "EMFILE"))
    for late in (False, True)
]
each_denial = pytest.mark.parametrize("denial", [*WHOLE, *AFTER_START], ids=str)


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    def refused_in_words(self) -> bool:
        """Before the program began."""
        lines = self.err.splitlines()
        return (
            self.code == REFUSED
            and not self.out
            and len(lines) == 1
            and lines[0].startswith("overlock: ")
        )


@dataclass(frozen=True)
class Deny:
    launcher: Path
    started: Path

    def start(
        self, denial: Denial, command: Command, library: Path | None = None, **more: str
    ) -> subprocess.Popen[str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith("OVERLOCK_")}
        clean["OVERLOCK_NATIVE"] = str(native.folder())
        # Ours comes behind, and so is initialised before.
        more["LD_PRELOAD"] = ":".join(str(path) for path in (library, self.started) if path)
        if denial.late:
            more["DENY_CALL"] = "1"
        return subprocess.Popen(
            [str(word) for word in (self.launcher, *denial.words, "--", *command)],
            env=clean | more,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self, process: subprocess.Popen[str]) -> Ended:
        try:
            out, err = process.communicate(timeout=HANG_S)
        finally:
            process.kill()
        if process.returncode == LACKING:
            pytest.skip(f"no seccomp filters with notifications here: {err.strip()}")
        code = process.returncode if process.returncode >= 0 else 128 - process.returncode
        return Ended(code, out, err)

    def __call__(
        self, denial: Denial, command: Command, library: Path | None = None, **more: str
    ) -> Ended:
        with self.start(denial, command, library, **more) as process:
            return self.end(process)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("faults")


def compiled(folder: Path, source: str, *options: str | Path) -> Path:
    out = folder / source.removesuffix(".c")
    command = [
        "gcc",
        "-std=gnu17",
        "-O1",
        "-g",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-pthread",
        "-D_GNU_SOURCE",
    ]
    words = [*command, HERE / source, *options, "-o", out]
    subprocess.run([str(word) for word in words], check=True)
    return out


@pytest.fixture(scope="session")
def deny(folder: Path) -> Deny:
    return Deny(compiled(folder, "deny.c"), compiled(folder, "started.c", "-shared", "-fPIC"))


@pytest.fixture(scope="session")
def work(folder: Path) -> Path:
    return compiled(folder, "work.c")


@pytest.fixture(scope="session")
def locks(folder: Path) -> Path:
    headers = [f"-I{TOP / 'include'}", f"-I{BUILD / 'include'}"]
    return compiled(folder, "locks.c", *headers, BUILD / "lib/liboverlock.a")


def queues(lock: str) -> bool:
    """More threads than CPUs wait whole time slices for it: little work is enough."""
    return "yields" not in defs.load().lock(lock).traits
