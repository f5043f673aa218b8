# SPDX-License-Identifier: MIT
"""How a plan is measured, in this process: what is saved when, what is said of other work."""

import fcntl
import itertools
import json
import os
import pty
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import jsonschema
import pytest
from rich.console import Console

from overlock_tools.bench import campaign, machine_queue, rounds, subjects
from overlock_tools.bench.rounds import Job, Watching
from overlock_tools.bench.server import Server
from overlock_tools.bench.subjects import Subjects
from overlock_tools.core.model import histograms, results
from overlock_tools.core.model.plan import Plan, cell_seconds, in_words
from overlock_tools.core.model.results import Result
from overlock_tools.core.model.workloads import Workload
from overlock_tools.core.system import machine
from overlock_tools.core.system.errors import Fail
from tests.bench.command.fake_bench import answer
from tests.bench.command.test_plan import SCHEMA, World
from tests.command import COMMAND
from tests.processes import HANG_S, descendants, until

RATES = {"tas": 1e6, "ttas": 1e6}


class StandIn:
    """overlock-bench in this process; what it is asked for takes no time."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.asked: list[dict[str, str]] = []
        self.stop_after = stop_after

    def measure(self, cell: dict[str, object]) -> dict[str, Any]:
        if len(self.asked) == self.stop_after:
            raise KeyboardInterrupt
        self.asked.append({key: str(value) for key, value in cell.items()})
        return answer(self.asked[-1], {"rates": RATES})


def nothing() -> None:
    pass


@pytest.fixture
def job() -> Job:
    workload = Workload("sections", "sections, made up")
    plan = Plan(workload, list(RATES), [1, 2], "tas", seed=1, rounds=3, seconds=0.1)
    return Job(plan, subjects.new_result(plan, Subjects({}, {}, {}, [], [], {})))


def go(job: Job, watching: Watching, stand_in: StandIn | None = None, **more: Any) -> None:
    rounds.run(cast("Server", stand_in or StandIn()), job, watching, **more)


def test_what_is_whole_is_saved_now_and_then(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the file is a result, which can be read, shown and taken up again."""
    clock = iter(range(0, 100_000, 25))  # it is asked for at least once a cell
    job.saved = 0
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    saved: list[Result] = []

    def save() -> None:
        path = tmp_path / "partial.json"
        path.write_text(job.result.partial_json())
        jsonschema.validate(json.loads(path.read_text()), SCHEMA)
        saved.append(results.from_file(path))

    go(job, Watching(nothing, save))
    assert 2 <= len(saved) <= 6  # of 12 cells
    assert [len(one.cells) for one in saved] == sorted(len(one.cells) for one in saved)
    assert not any(one.complete for one in saved)
    assert job.result.complete


def test_a_round_that_would_not_end_in_time_is_not_begun(job: Job) -> None:
    go(job, Watching(nothing, nothing), until=time.monotonic() - 1)
    assert {cell.round for cell in job.result.cells} == {1}
    assert job.result.warnings[0] == "stopped at the time limit after 1 of 3 rounds"
    assert job.result.complete


def test_interruption_leaves_what_is_whole(job: Job) -> None:
    with pytest.raises(KeyboardInterrupt):
        go(job, Watching(nothing, nothing), StandIn(stop_after=5))
    assert len(job.result.cells) == 5
    assert job.to_do == 7
    assert not job.result.complete


def test_time_left_follows_from_the_time_taken(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    assert job.seconds_left is None
    seen: list[float | None] = []
    monkeypatch.setattr(time, "monotonic", lambda: job.began + 2.0 * job.measured)
    go(job, Watching(lambda: seen.append(job.seconds_left), nothing))
    assert seen == [pytest.approx(2.0 * left) for left in range(11, -1, -1)]


def test_time_before_a_run_is_not_its_own(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other parts of a matrix, or waiting for a quiet machine."""
    clock = itertools.count(time.monotonic() + 1000, 0.01)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    seen: list[float | None] = []
    go(job, Watching(lambda: seen.append(job.seconds_left), lambda: pytest.fail("saved")))
    assert seen[0] is not None
    assert seen[0] < 100


def test_rounds_disturbed_by_others_are_named(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    shares = iter([0.01, 0.31, 0.07])
    monkeypatch.setattr(machine.Load, "others_since", lambda *_: next(shares))
    go(job, Watching(nothing, nothing))
    assert job.result.warnings == [
        "other work took up to 31% of the CPUs in rounds 2, 3: expect noise, in rates more "
        "than in ratios"
    ]


def is_taken(file: Path) -> bool:
    with file.open("a") as asked:
        try:
            fcntl.flock(asked, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@pytest.fixture
def turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "turn"
    monkeypatch.setenv(machine_queue.VARIABLE, str(file))
    return file


def when_taken(job: Job, turn: Path) -> tuple[list[bool], list[bool]]:
    """Within the cells and before each."""
    within: list[bool] = []
    before: list[bool] = []

    class Asking(StandIn):
        def measure(self, cell: dict[str, object]) -> dict[str, Any]:
            within.append(is_taken(turn))
            return super().measure(cell)

    def pass_on(self: machine_queue.Turns, real: Any = machine_queue.Turns.pass_on) -> None:
        real(self)
        before.append(is_taken(turn))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine_queue.Turns, "pass_on", pass_on)
        go(job, Watching(nothing, nothing), Asking())
    return within, before


def test_cells_hold_the_turn(job: Job, turn: Path) -> None:
    within, between = when_taken(job, turn)
    assert within == [True] * 12
    assert between == [True] * 12
    assert not is_taken(turn)


def test_a_turn_that_has_lasted_is_passed_on(
    job: Job, turn: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_queue, "TURN_SECONDS", 0)
    monkeypatch.setattr(machine_queue, "PAUSE_SECONDS", 0)
    assert when_taken(job, turn) == ([True] * 12, [False] * 12)


def waits_for_a_file(pid: int) -> bool:
    return f"-> FLOCK  ADVISORY  WRITE {pid} " in Path("/proc/locks").read_text()


def test_who_waits_for_a_turn_gets_it_before_the_next_cell(
    turn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_queue, "TURN_SECONDS", 0)
    got = tmp_path / "got"
    with machine_queue.asked_for() as ours:
        ours.take()
        other = subprocess.Popen(["flock", "-o", turn, "touch", got])
        until(lambda: waits_for_a_file(other.pid))
        ours.pass_on()
        ours.take()
        assert got.exists()
    assert other.wait(HANG_S) == 0


def test_time_spent_waiting_for_a_turn_is_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    """What others did in their turns disturbed nothing."""
    load = machine.Load(0.0, 0.0, 0.0, 0.0)
    ended = machine.Load(50.0, 2 * 50.0, 1.0, 0.5)
    now = machine.Load(60.0, 2 * 50.0 + 3.0, 1.0 + 3.0, 0.5)
    monkeypatch.setattr(machine, "cpus", lambda: 2)
    assert now.others_since(load) > 0.8
    assert now.others_since(load.but_for(load, ended)) == 0


def test_a_turn_that_cannot_be_taken_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(machine_queue.VARIABLE, str(tmp_path))
    with pytest.raises(Fail, match="give a writable file"), machine_queue.asked_for():
        pass


def test_other_peoples_cpus_are_none_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 10})
    idle = "0 0 0 100 0 0 0 0 0 0"
    now = "\n".join(["cpu 9999 0 0 0 0 0 0 9 0 0", f"cpu0 9999{idle[1:]}", f"cpu1 {idle}"])
    monkeypatch.setattr(machine, "_read", lambda file: now if file == "/proc/stat" else "")
    assert machine.Load.now().busy == 0
    now += "\ncpu10 300 0 0 0 0 0 0 7 0 0\nintr 5"
    tick = os.sysconf("SC_CLK_TCK")
    load = machine.Load.now()
    assert (load.busy, load.stolen) == (300 / tick, 7 / tick)
    then = machine.Load(load.when - 10, load.busy - 5, load.own, load.stolen)
    assert load.others_since(then) == pytest.approx(0.25)


def test_our_own_running_children_are_not_others() -> None:
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as child:
        until(lambda: machine.Load.now().own - sum(os.times()[:4]) >= 0.05)
        child.kill()


# If the machine is busy


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For two looks."""
    said = iter(["other work took 50% of the CPUs: expect noise"] * 2)
    monkeypatch.setattr(machine, "busy_now", lambda: next(said, None))
    monkeypatch.setattr(campaign, "LOOK_AGAIN_SECONDS", 0.001)
    return iter(())


@pytest.mark.usefixtures("busy")
def test_busy_machine_is_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert campaign.quiet_enough("warn", Console(width=200)) == [
        "at the start other work took 50% of the CPUs: expect noise"
    ]
    assert "warning: other work took 50%" in capsys.readouterr().out


@pytest.mark.usefixtures("busy")
def test_busy_machine_is_refused() -> None:
    with pytest.raises(Fail) as failure:
        campaign.quiet_enough("refuse", Console())
    assert failure.value.message == (
        "other work took 50% of the CPUs: expect noise; stop that work, or "
        "give --if-busy wait or warn"
    )
    assert failure.value.code == 1


@pytest.mark.usefixtures("busy")
def test_busy_machine_is_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert campaign.quiet_enough("wait", Console(width=200)) == []
    assert capsys.readouterr().out.count("waiting until the CPUs are free") == 1
    assert machine.busy_now() is None


# While a cell is measured


def has_no_cpu_for_a_second(pid: int) -> bool:
    before = Path(f"/proc/{pid}/schedstat").read_text().split()[2]
    time.sleep(1)
    return Path(f"/proc/{pid}/schedstat").read_text().split()[2] == before


def test_nothing_of_ours_runs_beside_a_cell(tmp_path: Path) -> None:
    """On a terminal, where a table is kept up to date: one thread, which waits for the answer."""
    world = World(tmp_path)
    world.world["seconds"] = 3600
    ours, theirs = pty.openpty()
    command = ["bench", "sections", "--locks", "tas,ticket", "--threads", "2", "--rounds", "2"]
    with subprocess.Popen(
        [*COMMAND, *command], env=world.environment(), stdin=theirs, stdout=theirs, stderr=theirs
    ) as child:
        os.close(theirs)
        until(world.asked)
        until(lambda: has_no_cpu_for_a_second(child.pid))
        threads = os.listdir(f"/proc/{child.pid}/task")
        for pid in (*descendants(child.pid), child.pid):
            os.kill(pid, signal.SIGKILL)
    os.close(ours)
    assert len(threads) == 1


# Distributions


def test_rounds_of_waiting_add_up() -> None:
    one, other = histograms.packed([100, 200], [3, 1]), histograms.packed([10_000], [4])
    times = histograms.Times([one, other])
    assert times.count == 8
    assert times.percentile(50) == pytest.approx(200, rel=0.002)
    assert times.percentile(90) == pytest.approx(10_000, rel=0.002)
    assert histograms.Times([""]).count == 0
    assert histograms.packed([], []) == ""


def test_values_beyond_the_scale_are_kept_at_its_end() -> None:
    times = histograms.Times([histograms.packed([0, 1e16], [1, 1])])
    assert times.count == 2
    assert times.percentile(100) == pytest.approx(histograms.MOST_NS, rel=0.002)


def test_estimates_in_words() -> None:
    assert [in_words(s) for s in (3, 99, 150, 5000, 7300)] == [
        "3 s",
        "99 s",
        "2 min",
        "83 min",
        "2 h 2 min",
    ]
    assert cell_seconds(1) > 1
