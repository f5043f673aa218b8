#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares two builds of overlock-sim: whether their answers are the same, and which is faster.

    simulator_versus.py same OLD NEW [--draws N] [--seed S]
    simulator_versus.py speed OLD NEW [--rounds N]

`same` runs some of every scenario of the package for a short time, and N drawn ones: locks, hosts,
features, kinds of guests, mixes, traces. It ends with the first answer that differs. `speed`
measures CPU time in rounds over all loads, the two builds in turns, and prints medians with their
ranges.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from overlock_tools.core.model import defs
from overlock_tools.core.system.errors import Fail
from overlock_tools.sim import lists, mixes, resolve, scenario

SCENARIOS = Path(scenario.__file__).with_name("scenarios")
Told = dict[str, Any]

# same


def packaged(per_file: int, rng: random.Random) -> Iterator[tuple[str, Told]]:
    """Of each file some runs, short and traced."""
    for path in sorted(SCENARIOS.glob("*.toml")):
        runs = [
            (place, variant)
            for place in resolve.places(scenario.load(path.stem, []))
            for variant in place.variants
        ]
        for place, variant in rng.sample(runs, min(per_file, len(runs))):
            seed = rng.randrange(1, 1000)
            told = resolve.told(place, variant, seed)
            told |= {"warm_up_us": 3000, "time_us": 12_000, "trace": {"most_events": 20_000}}
            yield f"{path.stem}, {variant}, seed {seed}", told


def drawn(number: int, rng: random.Random) -> Iterator[tuple[str, Told]]:
    for _ in range(number):
        told = draw(rng)
        locks = ", ".join(guest.get("lock", "none") for guest in told["guests"])
        yield f"drawn: {locks} by {told['host']['scheduler']}", told


def draw(rng: random.Random) -> Told:
    cpus = rng.choice([1, 2, 4, 8, 32, 70])
    per_core = rng.choice([1, 1, 1, 2])
    machine = {
        "cpus": cpus,
        "threads_per_core": per_core,
        "cores_per_socket": rng.choice([1, 2, 8, 40]),
        "jitter_percent": rng.choice([0, 20, 20]),
    }
    told: Told = {
        "machine": machine,
        "host": draw_host(rng),
        "guests": [draw_guest(i, cpus, rng) for i in range(rng.choice([1, 1, 2, 3]))],
        "seed": rng.randrange(1 << 32),
        "warm_up_us": rng.choice([0, 500]),
        "time_us": rng.choice([300, 2000, 15_000]),
    }
    if rng.random() < 0.6:
        told["trace"] = {"most_events": 20_000}
    if rng.random() < 0.3:
        told["who_for_whom"] = True
    return told


def draw_host(rng: random.Random) -> Told:
    found = lists.load()
    features = [name for name in found.features if rng.random() < 0.2]
    return {
        "scheduler": rng.choice(list(found.hosts)),
        "features": {name: {} for name in features},
    }


def draw_guest(number: int, cpus: int, rng: random.Random) -> Told:
    kind = rng.choice(["threads", "kernel", "users"])
    guest: Told = {
        "name": f"guest{number}",
        "kind": kind,
        "contexts": rng.choice([1, 2, cpus, cpus + 1, 2 * cpus, 4 * cpus]),
        "told_slices": rng.random() < 0.3,
        "told_preempted": rng.random() < 0.3,
        "told_quota": rng.random() < 0.3,
        "told_delay_us": rng.choice([0, 0, 50]),
        "told_error_us": rng.choice([0, 0, 50]),
    }
    if kind == "users":
        guest["vcpus"] = rng.choice([1, cpus])
    if rng.random() < 0.2:
        guest |= {"quota_us": 500 * cpus, "period_us": 1000}
    if rng.random() < 0.1:
        return guest  # a neighbour
    guest["lock"] = rng.choice(list(defs.load().locks))
    guest["tunables"] = {"tau": rng.choice([100, 2000, "inf"])}
    return guest | draw_work(rng)


def draw_work(rng: random.Random) -> Told:
    if rng.random() < 0.15:
        name = rng.choice(list(mixes.ready()))
        return {"workload": "mix", "mix": mixes.told(mixes.read(mixes.ready()[name]), 100)}
    if rng.random() < 0.2:
        return {"workload": rng.choice(["mutexbench", "lockloop", "conditions", "fairness"])}
    n = rng.choice([1, 1, 1, 4])
    return {
        "workload": "sections",
        "parameters": {
            "sections_cs": rng.choice([0, 50, 300, 5000]),
            "sections_ncs": rng.choice([0, 300, 3000]),
            "sections_shape": rng.randrange(3),
            "sections_locks": n,
            "sections_nested": int(n > 1 and rng.random() < 0.5),
        },
    }


def answer(program: Path, told: str) -> tuple[int, str, str]:
    done = subprocess.run([program], input=told, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def same(old: Path, new: Path, options: argparse.Namespace) -> int:
    rng = random.Random(options.seed)  # noqa: S311 - the same scenarios again
    every = [*packaged(options.per_file, rng), *drawn(options.draws, rng)]

    def check(one: tuple[str, Told]) -> tuple[bool, int]:
        text = json.dumps(one[1])
        first, second = answer(old, text), answer(new, text)
        return first == second, first[0]

    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for (name, told), (equal, code) in zip(every, pool.map(check, every), strict=True):
            failed += code != 0
            if not equal:
                print(f"{name}: answers differ; what they were told:\n{json.dumps(told)}")
                pool.shutdown(cancel_futures=True)
                return 1
    print(f"{len(every)} answers are the same, {failed} of them refusals")
    return 0


# speed

LOADS = {
    "32 of 32 CPUs": (32, 32),
    "32 of 8 CPUs": (8, 32),
    "alone": (1, 1),
}
LOCKS = ["ticket", "mcs", "qspin", "tas", "tas_yield", "preemptable_ticket", "i_spin", "rota"]
CPU_S = 0.25  # of each run of the old build


def load(lock: str, cpus: int, contexts: int, time_us: int) -> str:
    guest = {"kind": "kernel", "contexts": contexts, "lock": lock, "workload": "sections"}
    machine = {"cpus": cpus, "cores_per_socket": min(cpus, 32)}
    return json.dumps({"machine": machine, "guests": [guest], "time_us": time_us, "seed": 1})


def cpu_s(program: Path, told: str) -> tuple[float, int]:
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin
        assert child.stdout
        child.stdin.write(told.encode())
        child.stdin.close()
        out = child.stdout.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise Fail(f"{program} failed")
    acquisitions = sum(guest["events"]["ACQUIRE"] for guest in json.loads(out)["guests"])
    return used.ru_utime + used.ru_stime, acquisitions


def length(program: Path, lock: str, cpus: int, contexts: int) -> int:
    """The simulated time of a run that takes long enough."""
    time_us = 1000
    while (took := cpu_s(program, load(lock, cpus, contexts, time_us))[0]) < CPU_S / 2:
        time_us = int(time_us * min(20, max(2, CPU_S / max(took, 0.01))))
    return time_us


def speed(old: Path, new: Path, options: argparse.Namespace) -> int:
    programs = old, new
    runs = {
        (name, lock): load(lock, *size, length(old, lock, *size))
        for name, size in LOADS.items()
        for lock in options.locks.split(",")
        if not options.load or options.load in name
    }
    rates: dict[tuple[str, str], tuple[list[float], list[float]]] = {at: ([], []) for at in runs}
    for _ in range(options.rounds):
        for at, told in runs.items():
            for program, found in zip(programs, rates[at], strict=True):
                took, acquisitions = cpu_s(program, told)
                found.append(acquisitions / took / 1e6)
    print(f"{'million acquisitions per CPU second':44} {'old':>20} {'new':>20}   ratio")
    for (name, lock), (before, now) in rates.items():
        ratios = [b / a for a, b in zip(before, now, strict=True)]
        print(f"{name + ', ' + lock:44} {said(before):>20} {said(now):>20}   {said(ratios)}")
    return 0


def said(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", choices=["same", "speed"])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--per-file", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--locks", default=",".join(LOCKS))
    parser.add_argument("--load", default="", help="only loads whose name has this")
    options = parser.parse_args()
    act = same if options.what == "same" else speed
    return act(options.old.resolve(), options.new.resolve(), options)


if __name__ == "__main__":
    sys.exit(main())
