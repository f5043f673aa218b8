# SPDX-License-Identifier: MIT
"""Runs: in one process or in many, kept and taken up again, failing in every way, as results."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from overlock_tools.core.model import results
from overlock_tools.sim import scenario
from tests.command import schema
from tests.processes import HANG_S, descendants, gone, read, until
from tests.sim.command.conftest import SCENARIO, Fake, Simulating

SCHEMA = schema("result")


def test_answers_become_cells(fake: Fake) -> None:
    fake.says(mcs={"turns": 500})
    found = fake.result("trial.toml", "--seeds", "2")
    jsonschema.validate(found, SCHEMA)
    assert fake.calls()
    assert found["complete"]
    cells = {(c["variant"], c["round"]): c for c in found["cells"]}
    assert set(cells) == {("ticket", 1), ("ticket", 2), ("mcs", 1), ("mcs", 2)}
    cell = cells["mcs", 2]
    assert (cell["threads"], cell["work"], cell["seconds"]) == (4, 4 * 502, 0.01)
    assert cell["per_thread"] == [502] * 4
    assert cell["cpu_seconds"] == pytest.approx(0.032)
    assert cell["work_seconds"] == pytest.approx(0.024)
    events = cell["events"]
    assert (events["ACQUIRE"], events["LHP"], events["LWP"]) == (1000, 12, 20)
    assert (events["SLOW_PATH"], cells["ticket", 1]["events"]["SLOW_PATH"]) == (11, 0)
    exact = cell["simulated"]
    assert (exact["holders_preempted"], exact["waiters_preempted"]) == (16, 24)
    assert (exact["held_running"], exact["held_off_cpu"]) == (0.003, 0.001)
    measures = next(s["measures"] for s in found["summary"] if s["variant"] == "mcs")
    assert measures["spinning"] == pytest.approx(0.25)
    assert (measures["lhp"], measures["lwp"]) == (pytest.approx(1600), pytest.approx(2400))
    assert measures["off_cpu"] == pytest.approx(0.25)
    assert measures["max"] == pytest.approx(900, rel=0.01)
    assert measures["p50"] == pytest.approx(102, rel=0.02)


def test_only_compared_guests_count(fake: Fake) -> None:
    more = '[[guest]]\nname = "b"\ncount = 2\n[[guest]]\nworkload = "burn"\ncontexts = 3\n'
    fake.file.write_text(SCENARIO + more)
    cell = fake.result("trial.toml")["cells"][0]
    assert cell["copies"] == [4004, 1001, 1001]
    assert len(cell["per_thread"]) == 6
    assert cell["work"] == 6006


def test_finished_runs_are_not_repeated(fake: Fake) -> None:
    first = fake.result("trial.toml")
    assert sorted(fake.calls()) == ["mcs 1", "ticket 1"]
    assert fake.result("trial.toml") == first
    assert fake.calls() == []
    fake.result("trial.toml", "--seeds", "2")
    assert sorted(fake.calls()) == ["mcs 2", "ticket 2"]
    fake.result("trial.toml", "--time", "11")
    assert len(fake.calls()) == 2


def test_another_build_is_asked_again(fake: Fake) -> None:
    fake.result("trial.toml")
    fake.calls()
    fake.program.write_text(fake.program.read_text() + "# another\n")
    fake.result("trial.toml")
    assert len(fake.calls()) == 2


def test_damaged_files_of_the_cache_are_made_again(fake: Fake) -> None:
    first = fake.result("trial.toml")
    for path in (fake.folder / "out.runs").glob("*/*.json"):
        path.write_text("{")
    fake.calls()
    assert fake.result("trial.toml") == first
    assert len(fake.calls()) == 2


def files_in(folder: Path) -> set[str]:
    found = (p.relative_to(folder) for p in folder.rglob("*") if p.is_file())
    return {str(path) for path in found if path.parts[0] not in ("native",)}


def test_it_writes_only_where_it_is_told(fake: Fake) -> None:
    before = files_in(fake.folder)
    assert fake("trial.toml").returncode == 0
    assert files_in(fake.folder) - before == {"log", "log.told"}
    assert fake("trial.toml", "--cache", "kept").returncode == 0
    assert {p.split("/")[0] for p in files_in(fake.folder) - before} == {"log", "log.told", "kept"}
    assert fake("trial.toml", "-o", "a.json").returncode == 0
    places = {p.split("/")[0] for p in files_in(fake.folder) - before}
    assert places == {"log", "log.told", "kept", "a.json", "a.runs"}


FAILS: dict[str, tuple[dict[str, Any], str]] = {
    "lost": (
        {"failure": "app: two contexts hold a lock"},
        "app: two contexts hold a lock (seed 1)",
    ),
    "deadlock": (
        {"failure": "nothing can go on: app 1 polls, for the lock of 2; app 2 sleeps"},
        "mcs with 4 threads deadlocks with seed 1: nothing can go on: app 1 polls, for the lock of "
        "2; app 2 sleeps",
    ),
    "refused": ({"status": 2, "stderr": "overlock-sim: no lock"}, "seed 1: no lock"),
    "crash": ({"signal": signal.SIGSEGV}, "seed 1: overlock-sim was ended by SIGSEGV"),
    "nonsense": ({"stdout": "[1"}, "seed 1: overlock-sim's answer is not JSON"),
    "hang": ({"hang": True}, "seed 1: not done after 1 s; give more time by --limit"),
    "fields": ({"stdout": "{}"}, "seed 1: overlock-sim's answer has no failure"),
}


@pytest.mark.parametrize("how", FAILS)
@pytest.mark.parametrize("quiet", [[], ["--quiet"]])
def test_a_run_that_fails_is_shown_with_its_reason(fake: Fake, how: str, quiet: list[str]) -> None:
    says, said = FAILS[how]
    fake.says(mcs=says)
    limit = ["--limit", "1"] if how == "hang" else []
    done = fake("trial.toml", "--jobs", "1", "-o", "out.json", *limit, *quiet)
    assert done.returncode == 1, done.stderr
    assert said in done.stdout
    kept = json.loads((fake.folder / "out.json").read_text())
    assert {c["variant"] for c in kept["cells"] if not c["wrong"]} == {"ticket"}


def test_what_failed_outside_of_the_simulation_is_tried_again(fake: Fake) -> None:
    fake.says(mcs={"signal": signal.SIGSEGV})
    assert fake("trial.toml", "--jobs", "1", "-o", "out.json").returncode == 1
    fake.calls()
    fake.says()
    assert fake("trial.toml", "--jobs", "1", "-o", "out.json").returncode == 0
    assert fake.calls() == ["mcs 1"]


def test_contexts_are_one_result_other_parameters_several(fake: Fake) -> None:
    fake.file.write_text(SCENARIO + "[sweep]\nguest.app.contexts = [1, 2]\nmachine.cpus = [2, 3]\n")
    done = fake("trial.toml", "-o", "out.json")
    assert done.returncode == 2
    assert "the sweep has 2 results; give a folder" in done.stderr
    assert fake("trial.toml", "-o", "out").returncode == 0
    found = sorted((fake.folder / "out").glob("*.json"))
    assert [path.name for path in found] == [
        "trial-machine.cpus=2.json",
        "trial-machine.cpus=3.json",
    ]
    for path in found:
        result = results.from_file(path)
        assert result.threads == [1, 2]
        assert len(result.cells) == 4


def test_without_the_simulator(fake: Fake) -> None:
    fake.program.unlink()
    done = fake("trial.toml")
    assert (done.returncode, done.stdout) == (3, "")
    assert (
        done.stderr == "overlock: overlock-sim is not built; run `make checker` in the checkout\n"
    )
    assert fake("trial.toml", "--print").returncode == 0
    assert fake("--list").returncode == 0


def wait_for(process: Any, met: Any) -> None:
    until = time.monotonic() + HANG_S
    while not met():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_keeps_what_is_done(fake: Fake, jobs: str, number: int) -> None:
    interrupted(fake, number, "--jobs", jobs)


def test_interrupted_it_ends_its_runs_on_a_cluster(fake: Fake) -> None:
    with cluster(fake) as address:
        interrupted(fake, signal.SIGINT, "--cluster", address)


def interrupted(fake: Fake, number: int, *options: str) -> None:
    """One of two runs hangs; then it goes on where it was."""
    fake.says(mcs={"hang": True})
    before = set((fake.folder / "tmp").iterdir())
    process = fake.apart("trial.toml", "-o", "out.json", *options)
    cached = fake.folder / "out.runs"
    wait_for(process, lambda: fake.log.exists() and "mcs" in fake.log.read_text())
    wait_for(process, lambda: list(cached.glob("*/*.json")))
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    said = process.communicate(timeout=HANG_S)[0]
    assert process.returncode == 130, said
    assert "interrupted: 1 of 2 runs are complete; repeat the command to continue" in said
    assert "Traceback" not in said
    assert not json.loads((fake.folder / "out.json").read_text())["complete"]
    assert set((fake.folder / "tmp").iterdir()) == before
    until(lambda: not processes_of(fake.program))
    fake.calls()
    fake.says()
    assert fake("trial.toml", "-o", "out.json").returncode == 0
    assert fake.calls() == ["mcs 1"]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_its_runs_end_with_it(real: Simulating, jobs: str) -> None:
    process = real.apart("trial.toml", "--time", "1e8", "--jobs", jobs)
    runs = until(lambda: [p for p in descendants(process.pid) if name_of(p) == "overlock-sim"])
    process.kill()
    process.communicate(timeout=HANG_S)
    until(lambda: all(map(gone, runs)))


def name_of(process: int) -> str:
    return read(f"/proc/{process}/comm").strip()


def processes_of(program: Path) -> list[int]:
    """Whoever runs it."""
    files = Path("/proc").glob("[0-9]*/cmdline")
    return [int(file.parent.name) for file in files if str(program) in read(file)]


def test_workers_of_a_cluster_that_does_not_answer(fake: Fake) -> None:
    done = fake("trial.toml", "--cluster", "nonsense")
    assert (done.returncode, done.stdout.count("Traceback")) == (2, 0)
    assert done.stderr.startswith("overlock: --cluster nonsense: no scheduler answers: ")


@contextmanager
def cluster(fake: Fake) -> Iterator[str]:
    """Its address. It runs in a process of its own: threads of Dask's do not survive our forks."""
    program = (
        "from distributed import LocalCluster\n"
        "if __name__ == '__main__':\n"
        "    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as one:\n"
        "        print(one.scheduler_address, flush=True)\n"
        "        input()\n"
    )
    file = fake.folder / "a_cluster.py"
    file.write_text(program)
    with subprocess.Popen(
        [sys.executable, file],
        cwd=fake.folder,
        env=fake.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout
        yield process.stdout.readline().strip()
        process.communicate("\n", timeout=HANG_S)


def test_on_a_cluster_that_exists(fake: Fake) -> None:
    alone = fake.result("trial.toml", "--cache", "a")
    with cluster(fake) as address:
        assert fake.result("trial.toml", "--cache", "b", "--cluster", address) == alone
        fake.program.write_text(fake.program.read_text() + "# another\n")
        assert fake("trial.toml", "--cluster", address).returncode == 0
        copy = fake.folder / "copy"
        shutil.copytree(fake.native, copy)
        fake.program.write_text(fake.program.read_text() + "# a third\n")
        done = fake("trial.toml", "--cluster", address, OVERLOCK_NATIVE=str(copy))
    assert done.returncode == 1
    assert "the worker has another build of overlock-sim; install this one there" in done.stdout


def test_the_real_simulator_gives_the_same_whatever_runs_beside_it(real: Simulating) -> None:
    one = real.result("trial.toml", "--jobs", "1", "--cache", "a")
    assert real.result("trial.toml", "--jobs", "2", "--cache", "b") == one
    assert all(cell["work"] > 0 and not cell["wrong"] for cell in one["cells"])
    jsonschema.validate(one, SCHEMA)
    done = real("trial.toml", "--jobs", "1")
    assert re.search(r"^lock +median .*÷ ticket +Jain spinning LHP LWP", done.stdout, re.MULTILINE)


def test_every_ready_scenario_can_be_run(real: Simulating) -> None:
    listed = real("--list").stdout.partition("machines")[0].splitlines()[1:]
    assert len(listed) >= 4
    for line in listed:
        name = line.split()[0]
        ready = scenario.load(name, [])
        lock = ready.locks[0] if "barrier" in ready.locks else "ticket"
        done = real(name, "--locks", lock, "--time", "1", "--set", "warm_up_ms=0", "--jobs", "1")
        if ready.axes:  # tested in test_grid.py
            assert f"run `overlock sim grid {name}`" in done.stderr
            continue
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_quota_may_be_a_part_of_the_cpus(fake: Fake) -> None:
    found = fake.result("trial.toml", "--locks", "ticket", "--set", "guest.app.quota_cpus=0.5x")
    assert found["scenario"]["settings"]["quota"] == "4"


def test_runs_that_are_the_same_are_simulated_once(fake: Fake) -> None:
    """A tunable that is set to its default changes nothing."""
    found = fake.result("trial.toml", "--locks", "ticket,ticket@tau=400")
    assert fake.calls() == ["ticket 1"]
    assert {c["variant"] for c in found["cells"]} == {"ticket", "ticket@tau=400"}
