# SPDX-License-Identifier: MIT
"""overlock bench under scenarios: its cells are under them, and nothing is left however it ends."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bench.conditions.conftest import groups, hogs_of
from tests.bench.conditions.test_scenarios import needs_quota, needs_slices
from tests.processes import HANG_S, children, descendants, gone, read, until

BENCH = [sys.executable, "-m", "overlock_tools", "bench", "sections", "--locks", "ttas,tas_yield"]
LONG = ("--threads", "3", "--rounds", "10000", "--seconds", "0.2")
SHORT = ("--threads", "3", "--rounds", "2", "--seconds", "0.2")
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root can become nobody"
)


def bench(*args: str, user: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*user, *BENCH, *args],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )


class Long:
    """A measurement under many scenarios that will not end by itself."""

    def __init__(self, *args: str) -> None:
        self.groups_before = groups()
        self.process = subprocess.Popen(
            [*BENCH, *LONG, *args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.pid = self.process.pid

    def server(self) -> int:
        (pid,) = set(children(self.pid)) - set(hogs_of(self.pid))
        return pid

    def cells(self) -> set[int]:
        """Under way, all in force: two copies."""
        if len(hogs_of(self.pid)) < 2 or len(children(self.pid)) < 3:
            return set()
        cells = children(self.server())
        return set(cells) if len(cells) == 2 else set()

    def groups(self) -> set[Path]:
        return groups() - self.groups_before


ALL = ("--background", "2:hogs", "--neighbours", "2")
QUOTA = ("--quota", "0.9")


@needs_quota
def test_cells_are_under_all_of_them() -> None:
    running = Long(*ALL, *QUOTA)
    try:
        cells = until(running.cells)
        (group,) = running.groups()
        assert cells | {running.server()} <= set(
            map(int, (group / "cgroup.procs").read_text().split())
        )
        assert not set(hogs_of(running.pid)) & set(
            map(int, (group / "cgroup.procs").read_text().split())
        )
    finally:
        running.process.terminate()
        running.process.communicate()


@needs_slices
def test_cells_have_the_slices() -> None:
    running = Long("--slice", "0.7", "--neighbours", "2")

    def all_have_it() -> bool:
        """Both copies' threads, but the one that waits for them."""
        slices = [slices_of(cell) for cell in running.cells()]
        return len(slices) == 2 and all(one == ["700000"] * 3 for one in slices)

    try:
        until(all_have_it)
    finally:
        running.process.terminate()
        running.process.communicate()


def slices_of(pid: int) -> list[str]:
    files = set(Path(f"/proc/{pid}/task").glob("*/sched")) - {Path(f"/proc/{pid}/task/{pid}/sched")}
    found = [re.search(r"^se\.slice\s*:\s*(\d+)$", read(file), re.MULTILINE) for file in files]
    return [one[1] for one in found if one]


@needs_quota
@pytest.mark.parametrize(
    ("end", "to"),
    [
        (signal.SIGINT, os.kill),
        (signal.SIGINT, os.killpg),  # as a terminal's Ctrl-C does
        (signal.SIGTERM, os.kill),
        (signal.SIGHUP, os.killpg),
    ],
)
def test_nothing_is_left(end: signal.Signals, to: Callable[[int, int], None]) -> None:
    running = Long(*ALL, *QUOTA)
    until(running.cells)
    seen = descendants(running.pid)
    assert running.groups()
    to(running.pid, end)
    _, err = running.process.communicate(timeout=HANG_S)
    assert (running.process.returncode, err) == (130, "")
    until(lambda: all(map(gone, seen)))
    assert not running.groups()


@needs_quota
def test_killed_outright_leaves_no_process_and_the_next_one_removes_its_group() -> None:
    running = Long(*ALL, *QUOTA)
    until(running.cells)
    seen = descendants(running.pid)
    running.process.kill()
    running.process.communicate(timeout=HANG_S)
    until(lambda: all(map(gone, seen)))
    (stale,) = running.groups()
    assert not (stale / "cgroup.procs").read_text()
    living = stale.with_name(f"overlock-{os.getpid()}-{_start_time(os.getpid())}")
    living.mkdir()
    try:
        assert bench(*SHORT, *QUOTA).returncode == 0
        assert not stale.exists()
        assert living.exists()
    finally:
        living.rmdir()


def _start_time(pid: int) -> str:
    return read(f"/proc/{pid}/stat").rpartition(")")[2].split()[19]


def test_result_has_the_proof(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    done = bench(*SHORT, *ALL, "--phases", "2", "--json", str(file))
    assert done.returncode == 0, done.stderr
    proof = json.loads(file.read_text())["scenario"]["proof"]
    assert set(proof) == {"neighbours", "background", "phases"}
    assert all(one["held"] for one in proof.values()), proof
    assert "2 background CPU hogs that took" in " ".join(done.stdout.split())


def test_quota_that_limits_nothing_is_refused() -> None:
    done = bench(*SHORT, "--quota", "9999")
    assert done.returncode == 2
    assert re.match(r"overlock: --quota 9999: only [\d.]+ CPUs are available; give", done.stderr)


@needs_root
@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("--quota", "0.5"), r"--quota: cannot create a cgroup here \(.*Permission denied\); run "),
        (("--background", "1:realtime"), r"--background 1:realtime: .* run as root, with CAP_SYS_"),
    ],
)
def test_nobody_is_told_what_to_do(args: tuple[str, ...], why: str) -> None:
    done = bench(*SHORT, *args, user=tuple(NOBODY))
    assert done.returncode == 3
    assert re.match(rf"overlock: {why}[^\n]*\n\Z", done.stderr), done.stderr


@needs_root
def test_nobody_needs_no_privilege_for_the_others() -> None:
    args = ("--background", "1:batch", "--neighbours", "2", "--phases", "2")
    done = bench(*SHORT, *args, user=tuple(NOBODY))
    assert done.returncode == 0, done.stderr
    assert "NOT HELD" not in done.stdout
