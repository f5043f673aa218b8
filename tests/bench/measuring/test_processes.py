# SPDX-License-Identifier: MIT
"""Copies, phases and slices seen from outside, and that nothing is left of a cell that is ended."""

import os
import re
import signal
import time
from pathlib import Path

import pytest

from overlock_tools.bench import server
from tests.bench.measuring.conftest import Bench, started
from tests.processes import HANG_S, gone, until

LONG = "workload=sections variant=tas_yield threads=3 copies=3 seconds=600"


def threads(pid: int) -> set[int]:
    try:
        return {int(name) for name in os.listdir(f"/proc/{pid}/task")} - {pid}
    except FileNotFoundError:
        return set()


def running(bench: Bench, line: str) -> list[int]:
    """Starts the cell; its processes, once all have their threads."""
    bench.start(line)
    until(lambda: len(bench.copies()) == 3)
    pids = bench.copies()
    until(lambda: all(len(threads(pid)) == 3 for pid in pids))
    return pids


def test_copies(bench: Bench) -> None:
    cell = bench.ask("workload=sections variant=ticket threads=2 copies=3 seconds=0.3")
    assert (len(cell["copies"]), len(cell["per_thread"])) == (3, 6)
    by_copy = [sum(cell["per_thread"][i : i + 2]) for i in (0, 2, 4)]
    assert cell["copies"] == by_copy
    assert sum(by_copy) == cell["acquisitions"]
    assert min(by_copy) > 0


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted(bench: Bench, end: signal.Signals) -> None:
    pids = running(bench, LONG)
    bench.process.send_signal(end)
    assert bench.process.wait(HANG_S) == 130
    assert all(gone(pid) for pid in pids)


def test_killed(bench: Bench) -> None:
    """Nobody is left to kill the copies: the kernel does."""
    pids = running(bench, LONG)
    bench.process.kill()
    bench.process.wait()
    until(lambda: all(gone(pid) for pid in pids))


def test_nobody_reads(bench: Bench) -> None:
    pids = running(bench, LONG)
    assert bench.process.stdout is not None
    bench.process.stdout.close()
    bench.process.wait(HANG_S)
    assert all(gone(pid) for pid in pids)


def test_a_copy_that_dies_ends_the_cell(bench: Bench) -> None:
    pids = running(bench, LONG)
    os.kill(pids[1], signal.SIGSEGV)
    answer = bench.answer()
    assert (answer["type"], answer["kind"]) == ("error", "impossible")
    assert answer["message"] == "killed by signal 11 (Segmentation fault)"
    assert all(gone(pid) for pid in pids)
    assert bench.ask("workload=sections variant=ticket threads=1 turns=9")["type"] == "cell"


def test_phases(bench: Bench) -> None:
    """Half of four threads go, and others come, at each of four boundaries."""
    seen: set[int] = set()
    bench.start("workload=sections variant=tas_yield threads=4 phases=5 seconds=4")
    until(lambda: bool(bench.copies()))
    (pid,) = bench.copies()
    while not gone(pid):
        seen |= threads(pid)
        time.sleep(0.02)
    cell = bench.answer()
    assert cell["arrivals"] == 4 + 4 * 2
    assert len(seen) > 4
    assert (len(cell["per_thread"]), cell["wrong"]) == (4, "")
    assert bench.ask("workload=sections variant=ticket threads=4 seconds=0.1")["arrivals"] == 4


def slices(pid: int) -> list[str]:
    texts = [Path(f"/proc/{pid}/task/{tid}/sched").read_text() for tid in threads(pid)]
    return [found[1] for text in texts for found in re.finditer(r"se\.slice +: +(\d+)", text)]


def test_slice(bench: Bench) -> None:
    """The kernel says that each thread has the slice asked for, or the cell says why not."""
    line = "workload=sections variant=tas_yield threads=3 seconds=4 slice_us=700"
    bench.start(line)
    until(lambda: bool(bench.copies()) and len(threads(bench.copies()[0])) == 3)
    seen = slices(bench.copies()[0])
    answer = bench.answer()
    if answer["type"] == "error":
        assert "Linux 6.12" in answer["message"] or "sched_setattr" in answer["message"]
        return
    assert answer["slice_us"] == 700
    assert seen in ([], ["700000"] * 3)  # empty: a kernel without /proc/PID/sched
    assert bench.ask("workload=sections variant=ticket threads=1 turns=9")["slice_us"] != 700


def test_hung_cells_are_told_apart_from_slow_ones() -> None:
    """A process that stands still is killed, and the next cell is served."""
    with started() as bench:
        bench.start("workload=sections variant=ticket threads=1 seconds=4")
        until(lambda: bool(bench.copies()))
        os.kill(bench.copies()[0], signal.SIGSTOP)
        answer = bench.answer()
        assert (answer["type"], answer["kind"]) == ("error", "hung")
        assert bench.ask("workload=sections variant=ticket threads=1 turns=9")["type"] == "cell"


def test_it_says_where_locks_have_their_knowledge_from() -> None:
    """Of each fact, from those sources alone that it was told to use."""
    with server.started(knowledge="none") as bench:
        assert set(bench.facts["knowledge"].values()) == {None}
    with server.started(knowledge="rusage") as bench:
        assert bench.facts["knowledge"]["slice_id"] == "rusage"
        assert bench.facts["knowledge"]["slice_end"] is None
