# SPDX-License-Identifier: MIT
"""A full disk or a limit of files' sizes: the program is right; at most what we write is lost.

In the suite `faults`, the first of each call fails besides, on one disk; in the suite run-long,
each of them does, on all disks.
"""

import os
import subprocess
from functools import partial
from pathlib import Path

import pytest

from overlock_tools.core.system import native
from tests.faults.conftest import HANG_S, LACKING, Denial, Deny, Ended
from tests.faults.test_nth import ALL, FAILS, MOST, each_nth, is_right

NO_TMPFS = 77
# In a mount namespace of its own: a small file system at $1.
SMALL = 'mount -t tmpfs -o "size=$2" tmpfs "$1" 2>&- || exit 77; shift 2; exec "$@"'
RIGHT = "begin\nlost 0\n"

# What writes to the folder `@`. The recorder's tables are some 2.4 MB.
RUNS: dict[str, tuple[str, dict[str, str]]] = {
    "record": ("liboverlock-record.so", {"OVERLOCK_RECORD": "@", "OVERLOCK_RECORD_EVENTS": "9999"}),
    "live": ("liboverlock-run-counted.so", {"OVERLOCK_LOCK": "mcs", "OVERLOCK_LIVE": "@"}),
    "output": (
        "liboverlock-run-counted.so",
        {"OVERLOCK_LOCK": "mcs", "OVERLOCK_OUTPUT": "@/report"},
    ),
    "chaos": ("liboverlock-chaos.so", {"OVERLOCK_CHAOS_SEED": "1", "OVERLOCK_CHAOS_RECORDS": "@"}),
}
each = pytest.mark.parametrize("kind", RUNS)


def run(
    kind: str, work: Path, folder: Path, *before: str | Path, beside: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    library, variables = RUNS[kind]
    clean = {k: v for k, v in os.environ.items() if not k.startswith("OVERLOCK_")}
    told = {name: value.replace("@", str(folder)) for name, value in variables.items()}
    preloaded = ":".join(str(path) for path in (native.file(library), beside) if path)
    words = [f"LD_PRELOAD={preloaded}", *(f"{k}={v}" for k, v in told.items())]
    return subprocess.run(
        [*before, "env", *words, work, "mutexes", "2", "3000", "3"],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_S,
        env=clean,
    )


def rooms(kind: str) -> list[int]:
    """In KiB: none but for the folder, less than is needed, and enough at first."""
    return [4, 12, 40, 76, 132, 260] if kind != "record" else [4, 500, 2380, 2440, 2500]


def on_small(folder: Path, kib: int) -> tuple[str | Path, ...]:
    small = ("unshare", "--map-root-user", "--mount", "sh", "-c", SMALL, "sh")
    return (*small, folder, f"{kib}k")


@each
def test_a_full_disk(kind: str, work: Path, tmp_path: Path) -> None:
    for kib in rooms(kind):
        done = run(kind, work, tmp_path, *on_small(tmp_path, kib))
        if done.returncode == NO_TMPFS:
            pytest.skip("no mount namespaces here")
        assert (done.returncode, done.stdout) == (0, RIGHT), (kib, done)


@pytest.mark.parametrize("call", [call for call in FAILS if call not in MOST])
@each
def test_a_full_disk_and_a_call_that_fails(
    deny: Deny, kind: str, call: str, work: Path, tmp_path: Path
) -> None:
    def end(kib: int, denial: Denial) -> Ended:
        before = (*on_small(tmp_path, kib), deny.launcher, *denial.words, "--")
        done = run(kind, work, tmp_path, *before, beside=deny.started)
        if done.returncode == LACKING:
            pytest.skip("no mount namespaces or filters here")
        return Ended(done.returncode, done.stdout, done.stderr)

    for kib in rooms(kind) if ALL else rooms(kind)[2:3]:
        for denial, ended in each_nth(call, partial(end, kib)):
            assert is_right(call, ended), (kib, denial, ended)


@each
def test_a_limit_of_files_sizes(kind: str, work: Path, tmp_path: Path) -> None:
    """In units of 512 bytes."""
    for blocks in (0, 8, 100, 200, 5000):
        limited = ("sh", "-c", 'ulimit -f "$1"; shift; exec "$@"', "sh", str(blocks))
        done = run(kind, work, tmp_path, *limited)
        assert (done.returncode, done.stdout) == (0, RIGHT), (blocks, done)


def test_a_fifo_that_nobody_reads(work: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "report")
    done = run("output", work, tmp_path)
    assert (done.returncode, done.stdout) == (0, RIGHT)
