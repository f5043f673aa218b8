# SPDX-License-Identifier: MIT
"""Every workload with a lock that excludes nobody, which it must say, and with good ones."""

import os
import re
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from overlock_tools.bench import server
from overlock_tools.bench.executor import Impossible
from overlock_tools.core.system.errors import Fail
from tests.bench.workloads.conftest import (
    BUILT,
    EXCLUDES_NOBODY,
    OPENS_EARLY,
    STOPS_GRANTING,
    Bench,
)
from tests.processes import until

# With a lock, and in turns of which every one counts; parameters that make another path.
LOCKED = (
    "sections",
    "sections shape=uniform",
    "sections shape=exponential",
    "sections shape=pareto",
    "sections locks=8",
    "sections locks=8 zipf=0.99",
    "sections locks=2 nested=1",
    "sections locks=8 nested=1 zipf=0.99 shape=pareto",
    "mutexbench",
    "mutexbench cs_steps=20 ncs_range=400",
    "stress_latency",
    "lockloop",
    "fairness",
    "fairness lines=64",
    "conditions",
    "tx inodes=2",
    "tx inodes=2 scan=20",
    "tx inodes=2 tally=shared",
    "throw_locked",
)
# Two turns of it conflict where their inodes are neighbours: of as many as by default, hardly ever.
RARELY_IN_CONFLICT = ("tx",)
WITHOUT_A_LOCK = ("invalidation", "throw")
OF_BARRIERS = "rounds"
TURNS = 10_000


def test_every_workload_is_tested(bench: Bench) -> None:
    assert {text.split()[0] for text in (*LOCKED, *WITHOUT_A_LOCK, OF_BARRIERS)} == set(
        bench.workloads
    )


@pytest.mark.parametrize("workload", LOCKED)
def test_a_lock_that_excludes_nobody_is_caught(bench: Bench, workload: str) -> None:
    """By any of the first meetings of in_step.h, milliseconds each, whatever the machine does. What
    they leave of the buffer of `conditions` may be neither empty nor full enough: that is cut."""
    locks = re.search(r"locks=(\d+)", workload)
    threads = 1 + int(locks[1] if locks else 1)  # two of them want the same one
    options = {"variant": EXCLUDES_NOBODY, "threads": threads, "turns": 100, "seconds": 10}
    assert bench.measure(workload, **options)["wrong"]


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("lock", ["tas_yield", "pthread_mutex"])
@pytest.mark.parametrize("workload", LOCKED + RARELY_IN_CONFLICT)
def test_good_locks(bench: Bench, workload: str, lock: str, threads: int) -> None:
    cell = bench.measure(workload, variant=lock, threads=threads, turns=TURNS, seconds=600)
    assert (cell["wrong"], cell["cut"]) == ("", False)
    assert cell["acquisitions"] == threads * TURNS


def test_a_barrier_that_opens_early_is_caught(bench: Bench) -> None:
    options = {"variant": OPENS_EARLY, "threads": 4, "seconds": 0.1}
    assert "before another had arrived" in bench.measure(OF_BARRIERS, **options)["wrong"]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_good_barriers(bench: Bench, threads: int) -> None:
    for barrier in bench.barriers:
        if barrier == "spin_barrier" and threads > 2:
            continue  # each round would take time slices
        options = {"variant": barrier, "threads": threads}
        cell = bench.measure(OF_BARRIERS, **options, turns=2000, seconds=600)
        assert (cell["wrong"], cell["cut"]) == ("", False)
        assert cell["acquisitions"] == threads * 2000
        cell = bench.measure(f"{OF_BARRIERS} shape=exponential", **options, seconds=0.05)
        assert cell["wrong"] == ""
        assert cell["drained"], barrier  # all left after the same round


@pytest.mark.parametrize(
    ("subject", "variable", "why"),
    [
        ("gnu_openmp_barrier", "OMP_THREAD_LIMIT", "starts 2 threads, not 4"),
        ("llvm_openmp_barrier", "LD_LIBRARY_PATH", "(Debian: apt install libomp5)"),
    ],
)
def test_a_runtime_that_cannot_make_the_team_is_told(
    subject: str, variable: str, why: str, tmp_path: Path
) -> None:
    (tmp_path / "libomp.so.5").write_text("no library")
    value = {"OMP_THREAD_LIMIT": "2", "LD_LIBRARY_PATH": str(tmp_path)}[variable]
    with (
        mock.patch.dict(os.environ, {variable: value}),
        server.started([]) as running,
        pytest.raises(Impossible, match=re.escape(why)),
    ):
        running.measure({"workload": OF_BARRIERS, "variant": subject, "threads": 4})


def test_more_threads_than_a_barrier_has_room_for_are_refused(bench: Bench) -> None:
    with pytest.raises(Fail, match="more than a barrier is measured with"):
        bench.measure(OF_BARRIERS, variant="barrier", threads=16_385, seconds=0.05)


def test_barriers_are_for_their_workload_only(bench: Bench) -> None:
    for workload, variant in ((OF_BARRIERS, "ticket"), ("sections", "barrier")):
        with pytest.raises(Fail, match="rounds is for barriers"):
            bench.measure(workload, variant=variant)


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_throw_takes_no_lock(bench: Bench, threads: int) -> None:
    options = {"variant": STOPS_GRANTING, "threads": threads, "turns": TURNS, "seconds": 600}
    cell = bench.measure("throw", **options)
    assert (cell["wrong"], cell["cut"]) == ("", False)


def test_the_mutant_of_throw_takes_the_lock(bench: Bench) -> None:
    options = {"variant": STOPS_GRANTING, "threads": 2, "turns": TURNS, "seconds": 2}
    assert bench.measure("throw_locked", **options)["cut"]


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_invalidation_takes_no_lock_and_only_the_writers_turns_count(
    bench: Bench, threads: int
) -> None:
    def writers() -> int:
        cell = bench.measure("invalidation", variant=STOPS_GRANTING, threads=threads, seconds=0.5)
        assert not cell["wrong"]
        count, *readers = cell["per_thread"]
        assert not any(readers)
        return int(count)

    until(writers)


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_nobody_waits_at_the_buffer_for_one_who_left(bench: Bench, threads: int) -> None:
    options = {"variant": "pthread_mutex", "threads": threads, "seconds": 0.05}
    until(lambda: bench.measure("conditions", **options)["drained"])


def test_who_waits_at_the_buffer_is_woken(bench: Bench) -> None:
    """Without wake-ups, 20 ms of patience would pass for every 16 items: 250 s instead of one."""
    options = {"variant": "pthread_mutex", "threads": 2, "turns": 200_000, "seconds": 200}
    assert not bench.measure("conditions", **options)["cut"]


def test_fixed_work_is_not_for_readers_without_end() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "overlock_tools", "bench", "invalidation", "--turns=9"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "iterations of one thread only; give --seconds" in done.stderr


def test_a_pair_needs_two_locks(bench: Bench) -> None:
    with pytest.raises(Exception, match="nested=1 needs locks=2 or more"):
        bench.measure("sections nested=1", variant="ticket", threads=1, seconds=0.05)


def test_numbers() -> None:
    done = subprocess.run(
        [BUILT / "workloads-numbers"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
