# SPDX-License-Identifier: MIT
"""`overlock run --record` of programs whose use of locks is known, and replays of what it wrote."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from overlock_tools.bench.replaying import plan_file
from overlock_tools.core.trace import fidelity, plan, raw
from overlock_tools.core.trace import format as traces
from overlock_tools.core.trace.format import ACQUIRE, FAIL, READ, RELEASE, WAIT, Trace
from tests.conftest import NATIVE, TOP
from tests.core.trace.made_up import made_up
from tests.processes import HANG_S

HERE = Path(__file__).parent
MANY = 3000
OVERLOCK = [sys.executable, "-m", "overlock_tools"]
Done = subprocess.CompletedProcess[str]


@pytest.fixture(scope="session")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("record") / "planted"
    flags = ["-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]
    subprocess.run(["cc", *flags, HERE / "planted.c", "-o", program], check=True)
    return program


def overlock(*words: str | Path) -> Done:
    return subprocess.run(
        [*OVERLOCK, *map(str, words)], capture_output=True, text=True, timeout=HANG_S, check=False
    )


def record(planted: Path, pattern: str, file: Path, *options: str) -> tuple[Trace, Done]:
    done = overlock("run", "--record", file, *options, "--", planted, pattern)
    return traces.read(file), done


def steps_of(trace: Trace, name: str) -> list[tuple[int, int]]:
    (thread,) = [thread for thread in trace.threads if thread.name == name]
    events = trace.events_of(thread)
    return list(zip(events["kind"].tolist(), events["lock"].tolist(), strict=True))


def renamed(steps: list[tuple[int, int]], names: dict[int, int]) -> list[tuple[int, int]]:
    """By the lock's number in the program; names are given as they come."""
    return [(kind, names[lock]) for kind, lock in steps]


def test_each_thread_s_order_is_recorded_and_replayed(planted: Path, tmp_path: Path) -> None:
    trace, done = record(planted, "order", tmp_path / "t.trace")
    said: dict[int, list[tuple[int, int]]] = {}
    for line in done.stdout.splitlines():
        thread, what, lock = line.split()
        kind = ACQUIRE if what == "a" else RELEASE
        said.setdefault(int(thread), []).append((kind, int(lock)))
    assert len(said) == 3
    names: dict[int, int] = {}
    for n, steps in said.items():
        seen = steps_of(trace, f"order-{n}")
        assert len(seen) == len(steps)
        for (_, number), (_, known) in zip(seen, steps, strict=True):
            assert names.setdefault(number, known) == known
        assert renamed(seen, names) == steps
    assert sorted(names.values()) == [0, 1, 2, 3, 4]
    assert trace.lost_events == 0

    made = plan.of(trace)
    assert not made.told()
    again = replay(made, tmp_path)
    found = fidelity.compare(trace, made, again)
    assert found.in_order == 1.0
    assert found.replayed.acquisitions == found.recorded.acquisitions
    assert found.use == 0


def replay(made: plan.Plan, tmp_path: Path) -> Trace:
    """Recorded by the same library."""
    records = tmp_path / "records"
    records.mkdir()
    ours = {
        "LD_PRELOAD": str(NATIVE / "liboverlock-record.so"),
        "OVERLOCK_RECORD": str(records),
        "OVERLOCK_RECORD_EVENTS": "500000",
    }
    cell = f"workload=replay variant=pthread_mutex threads={len(made.ops)} seconds=0.3 measure=0"
    with plan_file(made) as file:
        done = subprocess.run(
            [NATIVE / "overlock-bench", f"--replay={file}"],
            input=cell + "\n",
            env=os.environ | ours,
            capture_output=True,
            text=True,
            check=True,
            timeout=HANG_S,
        )
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["type"] == "cell"
    assert not answer["wrong"]
    found = [one for each in raw.processes(records).values() for one in each]
    return raw.trace_of(max(found, key=lambda one: len(one.events)), "overlock-bench")


def test_who_waited_for_whom(planted: Path, tmp_path: Path) -> None:
    trace, _ = record(planted, "waits", tmp_path / "t.trace")
    acquired = trace.events[trace.events["kind"] == ACQUIRE]
    waited = acquired[acquired["whom"] != 0]
    assert len(waited) == 1
    assert trace.threads[int(waited[0]["whom"]) - 1].name == "planted"
    (waiter,) = [thread for thread in trace.threads if thread.name == "waiter0"]
    assert int(waited[0]["wait_ns"]) > 0
    assert int(trace.events_of(waiter)[0]["whom"]) == int(waited[0]["whom"])


def test_kinds_of_events_and_what_is_left_out(planted: Path, tmp_path: Path) -> None:
    trace, _ = record(planted, "kinds", tmp_path / "t.trace")
    kinds = [kind for kind, _ in steps_of(trace, "planted")]
    twice = [ACQUIRE, ACQUIRE, RELEASE, RELEASE]
    rwlock = [READ, RELEASE, ACQUIRE, RELEASE]
    tried = [ACQUIRE, FAIL, FAIL, RELEASE]
    assert kinds[:13] == [*twice, *rwlock, *tried, ACQUIRE]
    waits = kinds[13:-1]
    assert waits
    assert waits == [WAIT, ACQUIRE] * (len(waits) // 2)
    assert kinds[-1] == RELEASE
    assert sorted({lock.kind for lock in trace.locks}) == ["mutex", "rwlock"]
    events = trace.events_of(next(t for t in trace.threads if t.name == "planted"))
    assert int(events[11]["idle_ns"]) >= 45_000_000, "the sleep in the section"
    assert int(events[11]["work_ns"]) < int(events[11]["idle_ns"])
    assert int(events["idle_ns"][14:].sum()) >= 25_000_000, "the wait for the condition"
    functions = {site.function for site in trace.sites}
    assert "kinds" in functions or not any(functions)  # without llvm-symbolizer

    left_out = plan.of(trace).left_out
    assert {why: n for why, n in left_out.items() if n} == {
        "recursive": 1,
        "readers": 1,
        "failed": 2,
    }


def test_losses_are_counted(planted: Path, tmp_path: Path) -> None:
    trace, done = record(planted, "many", tmp_path / "t.trace", "--record-events", "1000")
    assert 1000 <= len(trace.events) < 1000 + 255
    assert len(trace.events) + trace.lost["limit"] == 2 * MANY
    assert f"{trace.lost['limit']} later events are lost" in done.stderr


CROWD, ROWS = 40000, 32768  # of planted.c; of run/record/record.h


def test_locks_beyond_the_table_are_left_out(planted: Path, tmp_path: Path) -> None:
    trace, done = record(planted, "crowded", tmp_path / "t.trace", "--record-events", "100000")
    without_row = CROWD + 1 - ROWS
    assert trace.lost["locks"] >= 2 * (without_row + 1000)
    assert len(trace.events) + trace.lost["locks"] == 2 * (2 + CROWD + 1000)
    assert (
        f"; {trace.lost['locks']} events of locks after the first 32768 are left out" in done.stderr
    )
    first = trace.events["lock"][0]
    assert (trace.events["lock"] == first).sum() == 4, "before and after the crowd"


@pytest.mark.skipif(not shutil.which("valgrind"), reason="there is no valgrind")
def test_a_lock_beyond_the_table_costs_no_look_at_all_of_it(planted: Path, tmp_path: Path) -> None:
    """In instructions. At each call 256 rows are looked at, some 15 instructions for each."""
    tool = ["--tool=callgrind", "--callgrind-out-file=/dev/null", "--trace-children=yes"]
    only = ["--collect-atstart=no", "--toggle-collect=take_last"]
    told = [f"LD_PRELOAD={NATIVE / 'liboverlock-record.so'}", f"OVERLOCK_RECORD={tmp_path}"]
    words: list[str | Path] = ["env", *told, "OVERLOCK_RECORD_EVENTS=100000", planted, "crowded"]
    done = subprocess.run(
        ["valgrind", *tool, *only, *words],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=True,
    )
    found = re.search(r"Collected : (\d+)", done.stderr)
    assert found
    each = int(found[1]) // 1000
    assert 2 * 256 < each < 2 * ROWS


@pytest.mark.parametrize("pattern", ["killed", "interrupted"])
def test_a_program_that_is_killed_leaves_its_trace(
    planted: Path, pattern: str, tmp_path: Path
) -> None:
    file = tmp_path / "t.trace"
    command = [*OVERLOCK, "run", "--record", str(file), "--", str(planted), pattern]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )
    assert child.stdout
    if pattern == "interrupted":
        assert child.stdout.readline() == b"ready\n"
        os.killpg(child.pid, signal.SIGINT)
    wanted = signal.SIGKILL if pattern == "killed" else signal.SIGINT
    assert child.wait(HANG_S) == -wanted
    child.stdout.close()
    assert len(traces.read(file).events) == 2 * MANY
    assert [path.name for path in tmp_path.iterdir()] == ["t.trace"]


def test_a_child_of_fork_has_a_trace_of_its_own(planted: Path, tmp_path: Path) -> None:
    overlock("run", "--record", tmp_path / "%p.trace", "--", planted, "forked")
    lengths = {}
    for path in tmp_path.iterdir():
        trace = traces.read(path)
        lengths[len(trace.events)] = plan.of(trace)
    assert sorted(lengths) == [3, 2 + 2 * MANY]
    assert lengths[3].left_out["unmatched"] == 1
    one, _ = record(planted, "forked", tmp_path / "one.trace")
    assert len(one.events) == 2 + 2 * MANY


def test_under_a_lock_of_ours(planted: Path, tmp_path: Path) -> None:
    trace, _ = record(planted, "many", tmp_path / "t.trace", "--lock", "ticket")
    assert len(trace.events) == 2 * MANY


def test_a_program_without_locks(planted: Path, tmp_path: Path) -> None:
    done = overlock("run", "--record", tmp_path / "t.trace", "--", planted, "none")
    assert done.returncode == 0
    assert "no trace is written" in done.stderr
    assert not (tmp_path / "t.trace").exists()


def test_a_disk_without_room_is_named(planted: Path, tmp_path: Path) -> None:
    limited = ["sh", "-c", 'ulimit -f 8; exec "$@"', "sh", *OVERLOCK]
    options: list[str | Path] = ["--record", tmp_path / "t.trace"]
    command = [*limited, "run", *options, "--", planted, "many"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert done.returncode == 0
    assert "no trace is written: planted could not make a file in" in done.stderr
    assert "`ulimit -f` is too low" in done.stderr
    assert not (tmp_path / "t.trace").exists()


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--record", "t", "--counters"], "--record and --counters exclude each other"),
        (["--record", "no/t"], "the folder no does not exist"),
        (["--record", "t", "--record-events", "5"], "not in the range"),
    ],
)
def test_bad_usage(options: list[str], line: str, planted: Path) -> None:
    done = overlock("run", *options, "--", planted, "none")
    assert done.returncode == 125
    assert line in done.stderr


def test_the_command_replays(planted: Path, tmp_path: Path) -> None:
    file, result = tmp_path / "t.trace", tmp_path / "r.json"
    record(planted, "order", file)
    options = ["--locks", "ticket,pthread_mutex", "--rounds", "2", "--seconds", "0.05"]
    done = overlock("bench", "--replay", file, *options, "--json", result)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(result.read_text())
    assert found["kind"] == "replay"
    assert found["threads"] == [3]
    assert f"overlock bench --replay {file}" in found["command"]
    assert all(cell["work"] > 0 and not cell["wrong"] for cell in found["cells"])


def test_a_replay_detects_a_lock_without_exclusion(tmp_path: Path) -> None:
    """Two threads that hold one lock nearly all the time."""
    file = tmp_path / "t.trace"
    threads = [[(ACQUIRE, 0, 10), (RELEASE, 0, 1_000_000)] * 10] * 2
    traces.write(file, made_up(threads))
    broken = TOP / "tests/bench/measuring/open_door.h"
    options = ["--baseline", "ticket", "--rounds", "1", "--seconds", "0.5"]
    done = overlock("bench", "--replay", file, "--locks", broken, *options)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "two contexts were in the critical section at once" in done.stdout + done.stderr


SCENARIO = """
title = "a recorded program"
machine = "typical"
locks = ["ticket"]
time_ms = 5

[[guest]]
name = "app"
contexts = 2
workload = "mix"
mix = "./t.trace"
"""


def test_the_simulator_takes_a_trace(tmp_path: Path) -> None:
    threads = [[(ACQUIRE, 0, 1000), (RELEASE, 0, 2000)] * 10]
    traces.write(tmp_path / "t.trace", made_up(threads))
    (tmp_path / "s.toml").write_text(SCENARIO)
    done = overlock("sim", tmp_path / "s.toml", "-o", tmp_path / "r.json")
    assert done.returncode == 0, done.stdout + done.stderr
    (cell,) = json.loads((tmp_path / "r.json").read_text())["cells"]
    assert 2 <= cell["work"] <= 5_000_000 // 1024 * 2, "sections of 1024 to 2047 ns or more"
    (tmp_path / "t.trace").write_bytes(b"\x1f\x8b")
    done = overlock("sim", tmp_path / "s.toml")
    assert done.returncode == 2
    assert "is not a whole trace" in done.stderr


def test_the_command_refuses_a_broken_trace(tmp_path: Path) -> None:
    file = tmp_path / "t.trace"
    file.write_bytes(b"\x1f\x8bnothing")
    done = overlock("bench", "--replay", file)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "is not a whole trace" in done.stderr
