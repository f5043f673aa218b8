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
from functools import partial
from pathlib import Path

import pytest
from conftest import children, descendants, gone, groups, hogs_of, read, until
from test_scenarios import needs_quota, needs_slices

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
        timeout=100,
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
    try:
        for cell in until(running.cells):
            threads = {int(task.name) for task in Path(f"/proc/{cell}/task").iterdir()} - {cell}
            until(partial(_have_slices, cell, threads, 700_000))
    finally:
        running.process.terminate()
        running.process.communicate()


def _have_slices(pid: int, threads: set[int], ns: int) -> bool:
    texts = [read(f"/proc/{pid}/task/{thread}/sched") for thread in threads]
    if "" in texts:  # the cell has ended, having begun before we came
        return True
    return all(re.search(rf"^se\.slice\s*:\s*{ns}$", text, re.MULTILINE) for text in texts)


@needs_quota
@pytest.mark.parametrize(
    "to", [os.kill, os.killpg], ids=["the command", "its group, as Ctrl-C does"]
)
@pytest.mark.parametrize(
    "end", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda s: s.name
)
def test_nothing_is_left(end: signal.Signals, to: Callable[[int, int], None]) -> None:
    running = Long(*ALL, *QUOTA)
    until(running.cells)
    seen = descendants(running.pid)
    assert running.groups()
    to(running.pid, end)
    _, err = running.process.communicate(timeout=60)
    assert (running.process.returncode, err) == (130, "")
    until(lambda: all(map(gone, seen)))
    assert not running.groups()


@needs_quota
def test_killed_outright_leaves_no_process_and_the_next_one_removes_its_group() -> None:
    running = Long(*ALL, *QUOTA)
    until(running.cells)
    seen = descendants(running.pid)
    running.process.kill()
    running.process.communicate(timeout=60)
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
    assert "2 CPU hogs beside, which took" in " ".join(done.stdout.split())


REFUSED = [
    (("--neighbours", "1"), r"--neighbours: '1' is not a whole number from 2 to 5"),
    (("--neighbours", "many"), r"--neighbours: 'many' is not a whole number"),
    (("--quota", "nan"), r"--quota: 'nan' is not from 0.01 to 10000, as in 1.5 or 1.5:20"),
    (("--quota", "1:0.1"), r"--quota: '0.1' is not from 1 to 1000"),
    (("--quota", "0.01:5"), r"--quota 0.01:5: less than 1 ms of each period; ask for a longer"),
    (("--quota", "9999"), r"--quota 9999: there are .* CPUs already; ask for less"),
    (("--background", "2"), r"--background: '2' is not N:hogs\|batch\|realtime, as in 2:hogs"),
    (("--background", "0:hogs"), r"--background: '0' is not a whole number from 1 to 1000"),
    (("--phases", "1"), r"--phases: '1' is not a whole number from 2 to 1000"),
    (("--slice", "0.05"), r"--slice: '0.05' is not from 0.1 to 100"),
    (("--slice", "½"), r"--slice: '½' is not"),
]


@pytest.mark.parametrize(("args", "why"), REFUSED, ids=lambda value: str(value)[:40])
def test_impossible_settings(args: tuple[str, ...], why: str) -> None:
    done = bench(*SHORT, *args)
    assert done.returncode == 2
    assert re.match(rf"overlock: {why}[^\n]*\n\Z", done.stderr), done.stderr


@needs_root
@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("--quota", "0.5"), r"--quota: no group can be made here \(.*Permission denied\); run "),
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
