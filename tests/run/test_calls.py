# SPDX-License-Identifier: MIT
"""The system calls of a program under each library, and what docs/throttled.md says of them."""

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from overlock_tools.core.system import native
from tests.conftest import TOP
from tests.run.conftest import Compile, environment, on_terminal


def can_trace() -> bool:
    command = ["strace", "-o", "/dev/null", "true"]
    return bool(shutil.which("strace")) and not subprocess.run(command, check=False).returncode


pytestmark = pytest.mark.skipif(not can_trace(), reason="there is no strace, or it may not trace")

Calls = set[str]
OPTIONS = ("--counters", "--stacks", "--counters-signal", "--check", "--record", "chaos")
# By which options a program has it, the library, what that is told.
RUNS: dict[str, tuple[tuple[str, ...], str, dict[str, str]]] = {
    **{
        lock: ((), "run", {"OVERLOCK_LOCK": lock, "OVERLOCK_RWLOCK": "qrw"})
        for lock in ("tas_yield", "ticket", "mcs", "partitioned_ticket", "rota", "paced")
    },
    "counters": (("--counters",), "run-counted", {"OVERLOCK_OUTPUT": "@/out"}),
    "live": (("--counters",), "run-counted", {"OVERLOCK_LIVE": "@"}),
    "stacks": (
        ("--counters", "--stacks"),
        "run-counted",
        {"OVERLOCK_STACKS": "wait", "OVERLOCK_OUTPUT": "@/out"},
    ),
    "signal": (
        ("--counters", "--counters-signal"),
        "run-counted",
        {"OVERLOCK_SIGNAL": "10", "OVERLOCK_OUTPUT": "@/out"},
    ),
    "check": (("--check",), "run-checked", {"OVERLOCK_CHECK": "1"}),
    "record": (
        ("--record",),
        "record",
        {"OVERLOCK_RECORD": "@", "OVERLOCK_RECORD_EVENTS": "9999"},
    ),
    "chaos": (
        ("chaos",),
        "chaos",
        {"OVERLOCK_CHAOS_RECORDS": "@", "OVERLOCK_CHAOS_RATE": "100000000"},
    ),
}
AFTER_THE_PAGE = {"fcntl"}  # of a service that sends one; test_monitord.py has it

# Of stdio, which seeks no more in glibc 2.41; 2.37 to 2.40 were not tried.
NO_MORE, NO_MORE_SINCE = {"lseek"}, (2, 41)


def documented() -> list[tuple[Calls, str]]:
    """The rows: calls, and by what."""
    text = (TOP / "docs/throttled.md").read_text()
    table = text.partition("| call | by |\n")[2].partition("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[1:]]
    return [(set(re.findall(r"`(\w+)`", calls)), by) for calls, by in rows]


def known(options: tuple[str, ...]) -> Calls:
    """To what is said of all, and of these options."""
    found: Calls = set()
    for calls, by in documented():
        asked = [option for option in OPTIONS if re.search(rf"{option}\b(?!-)", by)]
        if not asked or set(asked) & set(options):
            found |= calls
    return found


def made(trace: Path) -> Calls:
    return set(re.findall(r"^\d+ +(\w+)\(", trace.read_text(), re.MULTILINE))


@pytest.fixture(scope="module")
def program(program: Compile) -> Path:
    return program("every_wait.c")


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    """That never answers."""
    path = f"@overlock-calls-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as wire:
        wire.bind(path.replace("@", "\0", 1))
        wire.listen(100)
        yield path


def traced(program: Path, folder: Path, *told: str) -> Calls:
    """On one CPU, and on a terminal, where FIFO locks say that this is too few."""
    trace = folder / "trace"
    one = str(min(os.sched_getaffinity(0)))
    words = [word for setting in told for word in ("-E", setting.replace("@/", f"{folder}/"))]
    command = ["taskset", "-c", one, "strace", "-f", "-o", str(trace), *words, str(program)]
    on_terminal(command, environment(None))
    return made(trace)


@pytest.fixture(scope="module")
def natively(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Calls:
    return traced(program, tmp_path_factory.mktemp("natively"))


@pytest.fixture(scope="module")
def observed(
    program: Path, natively: Calls, service: str, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Calls]:
    found = {}
    for name, (_, library, told) in RUNS.items():
        folder = tmp_path_factory.mktemp(name)
        settings = {"LD_PRELOAD": str(native.file(f"liboverlock-{library}.so"))} | told
        settings = {key: str(folder) if v == "@" else v for key, v in settings.items()}
        settings.setdefault("OVERLOCK_LOCK", "mcs")
        words = [f"{key}={value}" for key, value in settings.items()]
        found[name] = traced(program, folder, *words, f"OVERLOCK_MONITOR={service}") - natively
    return found


@pytest.mark.parametrize("name", RUNS)
def test_each_call_is_in_the_list(observed: dict[str, Calls], name: str) -> None:
    assert observed[name] - known(RUNS[name][0]) == set()


def glibc_of(program: Path) -> tuple[int, ...]:
    """By its loader, which need not be this system's."""
    listed = ["readelf", "--program-headers", "--wide", str(program)]
    text = subprocess.run(listed, capture_output=True, text=True, check=True).stdout
    loader = re.search(r"interpreter: ([^]]+)\]", text)
    assert loader, text
    said = subprocess.run([loader[1], "--version"], capture_output=True, text=True, check=True)
    version = re.search(r"version (\d+)\.(\d+)", said.stdout)
    assert version, said.stdout
    return tuple(map(int, version.groups()))


def test_each_of_the_list_is_made(
    program: Path, observed: dict[str, Calls], natively: Calls
) -> None:
    ever = natively.union(*observed.values())
    gone = NO_MORE if glibc_of(program) >= NO_MORE_SINCE else set()
    assert set.union(*(calls for calls, _ in documented())) - ever - AFTER_THE_PAGE == gone
