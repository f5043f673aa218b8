# SPDX-License-Identifier: MIT
"""A full disk or a limit of files' sizes: the program is right; at most what we write is lost."""

import os
import subprocess
from pathlib import Path

import pytest

from overlock_tools.system import native
from tests.faults.conftest import HANG_S

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


def run(kind: str, work: Path, folder: Path, *before: str) -> "subprocess.CompletedProcess[str]":
    library, variables = RUNS[kind]
    clean = {k: v for k, v in os.environ.items() if not k.startswith("OVERLOCK_")}
    told = {name: value.replace("@", str(folder)) for name, value in variables.items()}
    words = [f"LD_PRELOAD={native.file(library)}", *(f"{k}={v}" for k, v in told.items())]
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


@each
def test_a_full_disk(kind: str, work: Path, tmp_path: Path) -> None:
    for kib in rooms(kind):
        small = ("unshare", "--map-root-user", "--mount", "sh", "-c", SMALL, "sh")
        done = run(kind, work, tmp_path, *small, str(tmp_path), f"{kib}k")
        if done.returncode == NO_TMPFS:
            pytest.skip("no mount namespaces here")
        assert (done.returncode, done.stdout) == (0, RIGHT), (kib, done)


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
