# SPDX-License-Identifier: MIT
"""`overlock sim random`: the loads of `overlock bench random` as scenarios, and their verdict."""

import json
import os
import signal
from typing import Any

import jsonschema
import pytest

from overlock_tools.core.model.drawn_loads import drawn
from tests.command import Done, schema
from tests.processes import HANG_S
from tests.sim.command.conftest import Fake, Simulating
from tests.sim.command.test_runs import wait_for

LOCKS = ("--locks", "ticket,mcs")


def simulate(fake: Simulating, *args: str) -> Done:
    return fake("random", *LOCKS, "-o", "d.json", *args)


def verdict(fake: Simulating, name: str = "d.json") -> dict[str, Any]:
    body: dict[str, Any] = json.loads((fake.folder / name).read_text())
    jsonschema.validate(body, schema("random"))
    return body


def test_each_load_is_simulated_as_it_was_drawn(fake: Fake) -> None:
    done = simulate(fake, "--count", "8", "--cpus", "4,16")
    assert done.returncode == 0, done.stderr
    told = fake.all_told()
    assert len(told) == 8 * 2 * 3 * 2  # loads, machines, locks, seeds
    for number in range(1, 17, 2):
        load = drawn(1, number)
        for cpus in (4, 16):
            assert any(is_of(one, load.threads(cpus), cpus, number) for one in told)
    assert {one["host"]["scheduler"] for one in told} == {"eevdf"}


def is_of(one: dict[str, Any], threads: int, cpus: int, number: int) -> bool:
    load, guests = drawn(1, number), one["guests"]
    said = load.parameters
    wanted = {"ncs": said["ncs_ns"]}
    if load.workload == "sections":
        shapes = ["fixed", "uniform", "exponential", "pareto"]
        wanted |= {"cs": said["cs_ns"], "shape": shapes.index(said["shape"])}
        wanted |= {"locks": said.get("lock_count", 1), "zipf": said.get("zipf", 0)}
        wanted |= {"nested": said.get("nested", 0)}
    crowd = threads * load.processes / cpus
    return bool(
        one["machine"]["cpus"] == cpus
        and [guest["contexts"] for guest in guests] == [threads] * load.processes
        and guests[0]["parameters"] == {f"{load.workload}_{k}": v for k, v in wanted.items()}
        and one["time_us"] == pytest.approx(1000 * (50 + 12 * crowd), abs=100)
    )


def test_one_seed_chooses_the_best_lock_and_the_other_judges(fake: Fake) -> None:
    """The stand-in's rates: 1000 turns of each context, or as told, and the seed."""
    fake.says(ticket={"turns": 500}, mcs={"turns": 800})
    simulate(fake, "--only", "1")
    (load,) = verdict(fake)["loads"]
    assert load["peer"] == "mcs"
    assert load["ratio"] == pytest.approx(1001 / 801)
    assert (load["low"], load["high"]) == (
        pytest.approx(1002 / 802),
        pytest.approx(1001 / 801),
    )
    assert load["again"] == pytest.approx(1002 / 1001)
    lock = load["locks"]["rota"]
    assert (lock["rounds"], lock["jain"], lock["gap_ns"]) == (2, pytest.approx(1), 900.5)
    threads = drawn(1, 1).threads(16)
    assert lock["cpu"] == pytest.approx(8e6 * threads / (1001.5 * threads) / 1000, rel=0.01)


def test_finished_runs_are_not_repeated(fake: Fake) -> None:
    simulate(fake, "--count", "2")
    body = verdict(fake)
    assert len(fake.calls()) == 12
    simulate(fake, "--count", "2")
    assert fake.calls() == []
    assert verdict(fake) == body
    simulate(fake, "--count", "3")
    assert len(fake.calls()) == 6


def test_interrupted_it_judges_whole_loads_and_goes_on(fake: Fake) -> None:
    args = ("random", *LOCKS, "-o", "d.json", "--only", "1,3", "--jobs", "1")
    simulate(fake, "--only", "1")
    fake.calls()
    fake.says(mcs={"hang": 2})  # the last of load 3
    process = fake.apart(*args)
    wait_for(process, lambda: fake.log.exists() and "mcs 2" in fake.log.read_text())
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=HANG_S)[0]
    assert process.returncode == 130, said
    assert "interrupted: 11 of 12 runs are complete; repeat the command to continue" in said
    assert [load["number"] for load in verdict(fake)["loads"]] == [1]
    fake.calls()
    fake.says()
    assert fake(*args).returncode == 0
    assert fake.calls() == ["mcs 2"]
    assert [load["number"] for load in verdict(fake)["loads"]] == [1, 3]


def test_a_lock_that_is_wrong_is_told_and_is_no_best_lock(fake: Fake) -> None:
    fake.says(mcs={"failure": "not excluded", "turns": 9000}, ticket={"turns": 500})
    done = simulate(fake, "--only", "1")
    assert done.returncode == 1
    assert "failed: load 1 on 16 CPUs: mcs with 2 threads: not excluded (seed 1)" in done.stdout
    assert verdict(fake)["loads"][0]["peer"] == "ticket"
    fake.says(rota={"failure": "nothing can go on: 0 waits"})
    assert simulate(fake, "--only", "1", "--cache", "another").returncode == 1
    (load,) = verdict(fake)["loads"]
    assert (load["ratio"], verdict(fake)["summary"]["16"]["failed"]) == (0, [1])


def test_results_are_read_and_drawn_together(fake: Fake) -> None:
    simulate(fake, "--count", "3", "--cpus", "4")
    fake("random", *LOCKS, "-o", "e.json", "--count", "3", "--cpus", "16")
    fake.calls()
    read = ("random", "--read", "d.json", "--read", "e.json")
    done = fake(*read, "-o", "both.json", "--plot", "both.svg")
    assert done.returncode == 0, done.stderr
    assert fake.calls() == []
    assert list(verdict(fake, "both.json")["summary"]) == ["4", "16"]
    text = (fake.folder / "both.svg").read_text()
    assert "4 CPUs, 3 loads" in text
    assert "16 CPUs, 3 loads" in text
    done = fake("random", "--read", "d.json", "--read", "d.json")
    assert done.returncode == 2
    why = "--read: two results have load 1 on 4 CPUs; give one of them"
    assert done.stderr == f"overlock: {why}\n"


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (("--cpus", "x"), "--cpus x: expected numbers of CPUs, as in 16,64"),
        (("--cpus", "5000"), "--cpus 5000: machine.cpus: 5000 is too large; the most is 4096"),
        (("--only", "2"), "--only 2: load 2 is for tuning; give --half tuning, or all"),
        (("--locks", "nosuch"), "--baseline rota --locks nosuch: locks: unknown lock 'nosuch'; "),
        (("--scheduler", "nosuch"), '--scheduler nosuch: host.scheduler: "nosuch" is unknown; '),
        (("--machine", "nosuch"), "--machine nosuch: machine.base: there is no machine nosuch; "),
        (("--plot", "d.pdf"), "--plot d.pdf: expected a name that ends in .png or .svg"),
    ],
)
def test_bad_usage(fake: Fake, args: tuple[str, ...], line: str) -> None:
    done = fake("random", *args, "-o", "d.json")
    assert done.returncode == 2
    assert done.stderr.startswith(f"overlock: {line}")
    assert done.stderr.count("\n") == 1
    assert not (fake.folder / "d.json").exists()


def test_the_simulator_takes_loads(real: Simulating) -> None:
    """Several locks, two processes, conditions: whatever it refuses would fail here."""
    done = simulate(real, "--count", "5", "--cpus", "2", "--time", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [load["number"] for load in verdict(real)["loads"]] == [1, 3, 5, 7, 9]
