# SPDX-License-Identifier: MIT
"""A waiter lets the holder run, whatever the lock and the scheduling policies (run/sleep.c)."""

import json
import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from overlock_tools.core.system import native
from tests.processes import HANG_S
from tests.run.conformance.test_mutants import Mutant, build
from tests.run.conftest import LOCKS, SPINLOCKS, Compile, environment, on_terminal, run

Env = dict[str, str]

NO_RIGHT = 77  # progress.c: real-time scheduling or ptrace is not allowed


def progress(
    program: Path, *words: str, lock: str, patience_s: float = HANG_S, more: Env | None = None
) -> int:
    done = run([program, *words], environment(lock) | (more or {}), timeout=patience_s)
    if done.returncode == NO_RIGHT:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return int(done.stdout)


@pytest.fixture(scope="session")
def shared_cpu(program: Compile) -> Path:
    return program("progress.c")


@pytest.mark.parametrize("holder", ["fifo", "other", "idle"])
@pytest.mark.parametrize("lock", LOCKS)
def test_a_realtime_waiter_lets_a_lower_holder_run(
    shared_cpu: Path, lock: str, holder: str
) -> None:
    progress(shared_cpu, "20", "200", holder, "3", lock=lock)


@pytest.mark.parametrize("lock", LOCKS)
def test_so_does_one_with_a_deadline(shared_cpu: Path, lock: str) -> None:
    progress(shared_cpu, "20", "200", "fifo", "3", "timed", lock=lock)


@pytest.mark.parametrize("kind", ["mutex", "timed", "signals", "broadcast"])
@pytest.mark.parametrize("lock", [None, *LOCKS])
def test_realtime_waiters_get_it_in_the_order_of_their_priorities(
    program: Compile, lock: str | None, kind: str
) -> None:
    done = run([program("realtime_order.c"), "5", kind], environment(lock), timeout=HANG_S)
    if done.returncode == NO_RIGHT:
        pytest.skip("real-time scheduling is not allowed")
    assert (done.returncode, done.stdout) == (0, "0 of 5\n")


def test_so_does_a_writer(shared_cpu: Path) -> None:
    more = {"OVERLOCK_RWLOCK": "qrw"}
    progress(shared_cpu, "20", "200", "fifo", "3", "rwlock", lock="tas_yield", more=more)


@pytest.mark.parametrize("lock", SPINLOCKS)
def test_so_does_a_spinlock(shared_cpu: Path, lock: str) -> None:
    more = {"OVERLOCK_SPINLOCK": lock}
    progress(shared_cpu, "20", "200", "fifo", "3", "spin", lock="tas_yield", more=more)


def test_without_sleeping_it_does_not(shared_cpu: Path) -> None:
    """The same test catches a library in which nobody sleeps: `longest_spin` is for ever."""
    words = ("20", "200", "fifo", "1")
    for patience_s in (3, 30, HANG_S):
        with suppress(subprocess.TimeoutExpired):
            progress(shared_cpu, *words, lock="tas", patience_s=patience_s)
            break
    more = {"OVERLOCK_LONGEST_SPIN_NS": "inf"}
    with pytest.raises(subprocess.TimeoutExpired):
        progress(shared_cpu, *words, lock="tas", patience_s=patience_s, more=more)


@pytest.mark.parametrize("lock", LOCKS)
def test_a_stopped_holder_costs_no_cpu(shared_cpu: Path, lock: str) -> None:
    """A tracer holds the holder for a second. CPU time, which other work does not add to."""
    assert progress(shared_cpu, "traced", "1000", lock=lock) < 200_000_000


def test_nor_does_it_spin_for_ever(shared_cpu: Path) -> None:
    """On a busy machine a second may give it little CPU time, but not ever longer ones."""
    more = {"OVERLOCK_LONGEST_SPIN_NS": "inf"}
    spun = (progress(shared_cpu, "traced", ms, lock="tas", more=more) for ms in ("1000", "100000"))
    assert any(ns > 200_000_000 for ns in spun)


@pytest.mark.parametrize("lock", LOCKS)
def test_unlocking_a_free_mutex_changes_nothing(program: Compile, lock: str) -> None:
    done = run([program("free_unlock.c")], environment(lock), timeout=HANG_S)
    assert (done.returncode, done.stdout) == (0, "0\n"), (done.stdout, done.stderr)


def long_waits(command: list[str | Path], lock: str, report: Path, counted: Path) -> int:
    env = environment(lock, counted, OVERLOCK_OUTPUT=str(report))
    assert run(command, env).returncode == 0
    sites = json.loads(report.read_text())["sites"]["sites"]
    return sum(site["events"].get("LONG_WAIT", 0) for site in sites)


def test_long_waits_are_counted(program: Compile, tmp_path: Path) -> None:
    counted = native.file("liboverlock-run-counted.so")
    crowd: list[str | Path] = [program("crowd.c"), "4"]
    assert long_waits(crowd, "ticket", tmp_path / "report.json", counted) == 4


def test_a_lock_whose_waiters_sleep_in_time_needs_no_other_sleep(
    program: Compile, tmp_path: Path
) -> None:
    """And loses its turns by it, as a mutant shows."""
    rounds: list[str | Path] = [program("rounds.c"), "16", "100"]
    changed = ("ops->traits & OL_BY_CLOCK;", "ops == 0;")
    mutant = build(tmp_path, Mutant("twice", "sleep.c", *changed, "rota", ()), "counted")
    report = tmp_path / "report.json"
    counted = native.file("liboverlock-run-counted.so")
    assert long_waits(rounds, "rota", report, counted) == 0
    assert long_waits(rounds, "rota", report, mutant) > 0


@pytest.mark.parametrize(("lock", "says"), [("ticket", True), ("mcs", True), ("tas_yield", False)])
def test_a_fifo_lock_says_what_it_does_to_many_threads(
    program: Compile, lock: str, says: bool
) -> None:
    crowd = [str(program("crowd.c")), "16"]
    said = on_terminal(crowd, environment(lock))
    assert ("is a FIFO lock, and this program has" in said) == says, said
    assert said.count("overlock:") <= 1


def test_threads_that_are_bound_to_cpus_of_their_own_are_not_too_many(program: Compile) -> None:
    """Each may use one CPU, as OMP_PROC_BIND=true has it; all of them together may use all."""
    n = os.cpu_count() or 1
    bound = [str(program("crowd.c")), str(n - 1), "bound"]
    assert "is a FIFO lock" not in on_terminal(bound, environment("ticket"))
    assert "is a FIFO lock" in on_terminal([*bound[:1], "16", "bound"], environment("ticket"))
