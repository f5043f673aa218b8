# SPDX-License-Identifier: MIT
"""Results whose meaning is known, because they are made up."""

import math
import random
from dataclasses import dataclass

from overlock_tools.core.model.histograms import packed
from overlock_tools.core.model.measures import Cell
from overlock_tools.core.model.results import Result

SAMPLES = 60
NOISE = (0.97, 1.0, 1.03, 0.99, 1.01, 0.98, 1.02, 0.96, 1.0)
MACHINE = {
    "cpu": "Made-up CPU",
    "architecture": "x86_64",
    "cpus_online": 2,
    "cpus_allowed": [0, 1],
    "quota_cpus": None,
    "smt": False,
    "virtual": True,
    "kernel": "6.1",
    "preemption": "PREEMPT",
    "scheduler": "CFS",
    "libc": "glibc 2.36",
    "governor": "unknown",
    "thp": "always",
    "clocksource": "tsc",
    "loadavg": [0.1, 0.1, 0.1],
}


def result(rates: dict[str, dict[int, float]], peers: list[str], kind: str = "sections") -> Result:
    """Nine rounds with a little noise, the same in all variants, on 2 CPUs."""
    threads = sorted({n for by_threads in rates.values() for n in by_threads})
    cells = [
        Cell(round_number, variant, n, rate * noise, 1.0, 1.0)
        for variant, by_threads in rates.items()
        for n, rate in by_threads.items()
        for round_number, noise in enumerate(NOISE, 1)
    ]
    return Result(
        kind=kind,
        title="t",
        unit="acquisitions",
        baseline=next(iter(rates)),
        command="",
        settings={"cpus": 2, "rounds": len(NOISE), "seconds": 1.0},
        machine=MACHINE,
        native={},
        variants=list(rates),
        threads=threads,
        peers=peers,
        cells=cells,
    )


def give(found: Result, measure: str, values: dict[str, float]) -> Result:
    """Sets a field of every cell, with the rounds' noise, by variant."""
    for cell in found.cells:
        if cell.variant in values:
            setattr(cell, measure, values[cell.variant] * NOISE[cell.round - 1])
    return found


@dataclass(frozen=True)
class Kind:
    """How a made-up lock behaves once threads outnumber CPUs."""

    rate: float  # of the best
    slope: float  # exponent of overcommit
    tail_ns: float
    even: float
    spinning: float


FIFO = Kind(0.01, -0.2, 2e8, 0.995, 0.99)
CURED = Kind(0.5, -0.8, 3e7, 0.98, 0.7)
GREEDY = Kind(1.0, -0.05, 1e8, 0.8, 0.1)
SLEEPING = Kind(0.75, -0.02, 3e7, 0.93, 0.2)
WORLD = {
    "ticket": FIFO,
    "mcs": FIFO,
    "twa": FIFO,
    "ticket_backoff": Kind(0.02, -0.1, 1.5e8, 0.99, 0.98),
    "byte": Kind(0.7, -0.5, 8e7, 0.8, 0.6),
    "tas": Kind(0.65, -0.5, 8e7, 0.78, 0.7),
    "ttas": Kind(0.7, -0.5, 8e7, 0.8, 0.65),
    "tas_yield": GREEDY,
    "pv_ticket": Kind(0.2, -0.1, 1e7, 0.99, 0.4),
    "preemptable_ticket": CURED,
    "pv_preemptable_ticket": Kind(0.6, -0.5, 2e7, 0.98, 0.5),
    "pthread_mutex": SLEEPING,
    "pthread_mutex_adaptive": Kind(0.97, -0.03, 9e7, 0.85, 0.15),
    "pthread_spin": Kind(0.7, -0.55, 8e7, 0.8, 0.7),
    "ck_spinlock_fas": Kind(0.7, -0.5, 8e7, 0.8, 0.7),
    "ck_spinlock_ticket": FIFO,
    "ck_spinlock_mcs": FIFO,
    "tbb_spin_mutex": Kind(0.9, -0.1, 1e8, 0.7, 0.2),
    "tbb_queuing_mutex": Kind(0.3, -0.2, 1e8, 0.98, 0.5),
    "absl_mutex": Kind(0.85, -0.1, 6e7, 0.9, 0.2),
    "nsync_mu": Kind(0.8, -0.05, 5e7, 0.92, 0.15),
    "parking_lot_mutex": Kind(0.95, -0.02, 7e7, 0.93, 0.1),
    "rust_std_mutex": Kind(0.9, -0.03, 7e7, 0.85, 0.1),
}
PEERS = list(WORLD)[11:]
WORKLOADS = {
    "sections": "Critical and non-critical sections",
    "mutexbench": "MutexBench",
    "throw": "Throwing exceptions",
    "stress_latency": "stress_latency",
    "diameter": "Invalidation diameter",
    "lock_unlock": "Lock and unlock in a loop",
    "fairness": "Fairness",
    "nested": "Nested sections",
    "condvar": "Condition variables",
}


def world(kind: str = "sections", seed: int = 1, rounds: int = 9) -> Result:
    """A whole workload: eleven locks and twelve peers at 1 to 64 threads, all measures."""
    chance = random.Random(f"{kind} {seed}")  # noqa: S311 - no secret
    threads = [1, 2, 4, 8, 16, 32, 64]
    turns = kind in ("lock_unlock", "fairness")
    cells = [
        _cell(chance, name, n, number, turns)
        for number in range(1, rounds + 1)
        for name in WORLD
        for n in threads
    ]
    found = result({"ticket": {1: 1.0}}, PEERS, kind)
    found.title, found.variants, found.threads, found.cells = (
        WORKLOADS.get(kind, kind),
        list(WORLD),
        threads,
        cells,
    )
    found.settings |= {"rounds": rounds}
    found.parameters = {"cs": 70, "ncs": 330}
    found.native = {"relax_ns": 40.0, "work_unit_ns": 0.4, "measure_ns": 31.0}
    found.command = f"overlock bench {kind} --locks all --threads 1,2,4,8,16,32,64"
    found.complete = True
    return found


def _cell(chance: random.Random, name: str, n: int, number: int, turns: bool) -> Cell:
    kind, over = WORLD[name], max(1.0, n / 2)
    noise = math.exp(chance.gauss(0, 0.5 if kind.rate < 0.05 and n > 2 else 0.04))
    alone = 2.3e6 if n == 1 else 4e6 * (0.5 + kind.rate / 2)
    rate = alone * noise if n <= 2 else 4.2e6 * kind.rate * (over / 2) ** kind.slope * noise
    shares = [rate / n * math.exp(chance.gauss(0, (1 / kind.even - 1) ** 0.5)) for _ in range(n)]
    typical = 60.0 if n == 1 else 200 + 1e9 * n / rate * kind.spinning**3
    tail = 400.0 if n <= 2 else kind.tail_ns * over / 4
    span = math.log(max(tail / typical, 2))
    waits = [
        typical * math.exp(span * chance.random() ** 12 + chance.gauss(0, 0.3))
        for _ in range(SAMPLES)
    ]
    busy = 1 - kind.spinning if n > 1 else 0.9
    cpu = min(2.0, n * 1.0)
    return Cell(
        round=number,
        variant=name,
        threads=n,
        work=round(rate),
        seconds=1.0,
        cpu_seconds=cpu,
        voluntary=round(kind.spinning * 100),
        involuntary=round(n * 50),
        per_thread=[round(share) for share in shares],
        copies=[round(rate)],
        work_seconds=cpu * busy * (0.9 + 0.1 * chance.random()),
        gap_ns=tail * (1 + chance.random()),
        latency=packed(waits, [max(1, rate / SAMPLES)] * SAMPLES),
        handover=packed([w / 10 + 80 for w in waits], [1] * SAMPLES) if n > 1 else "",
        queue_mean=(n - 1) * kind.spinning * 0.9,
        queue_max=n - 1,
        finish_ns=[round(1e9 * rate / n / share) for share in shares] if turns else [],
    )
