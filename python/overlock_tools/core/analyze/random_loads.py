# SPDX-License-Identifier: MIT
"""Drawn loads, judged: a lock beside the best other lock of each load, and beside itself.

Half of the rounds choose the best other lock, the others judge (best_peer.py). The lock under test
is measured twice in each round. The ratio of these two is 1 but for chance, so what it spreads by
is what a verdict on one load cannot tell: that much is taken off the bar.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from overlock_tools.core.analyze import best_peer
from overlock_tools.core.model import stats
from overlock_tools.core.model.results import Result
from overlock_tools.core.system import files, reading
from overlock_tools.core.system.errors import Fail

FORMAT, VERSION = "overlock-random", 1
NATIVE = "pthread_mutex"
AS_GOOD = 0.95  # of the best other lock's rate: less than a user notices
FAR = 0.7
SPREAD_OF = 0.9  # of the loads, whose A/A ratios are within the spread
MOST_THREADS_OF = 0.1  # of the loads: those with the most threads for each CPU
WORST = 10


@dataclass(frozen=True)
class OfLock:
    """One lock under one load: medians over the rounds, and the longest gap of all rounds."""

    rounds: int
    rate: float
    jain: float | None
    gap_ns: float | None  # of a simulation: the longest wait
    cpu: float | None  # seconds per million operations


@dataclass(frozen=True)
class Judged:
    number: int
    cpus: int
    threads: int  # of all processes
    what: str
    repeat: str  # a command that measures or simulates the two locks again
    ratio: float  # to the best other lock's rate; 0: the lock under test failed
    low: float | None
    high: float | None
    peer: str
    again: float | None  # the A/A ratio
    ours: str
    locks: dict[str, OfLock]
    natively: str = ""  # of a simulation: a command that measures them
    failure: str = ""

    @property
    def per_cpu(self) -> float:
        return self.threads / self.cpus

    @property
    def gap_ns(self) -> float | None:
        return self.locks[self.ours].gap_ns if self.ours in self.locks else None

    @property
    def peer_gap_ns(self) -> float | None:
        return self.locks[self.peer].gap_ns if self.peer in self.locks else None

    @property
    def cpu_beside_mutex(self) -> float | None:
        """CPU time per operation, divided by that of pthread_mutex."""
        both = [self.locks[lock].cpu for lock in (self.ours, NATIVE) if lock in self.locks]
        if len(both) < 2 or both[0] is None or not both[1]:
            return None
        return both[0] / both[1]


@dataclass(frozen=True)
class Load:
    """Of which a result is."""

    number: int
    what: str
    repeat: str  # with OURS for the lock under test, PEER for the best other lock
    processes: int = 1
    natively: str = ""
    files: Mapping[str, Path] = field(default_factory=dict)  # of locks that are files


OURS, PEER = "OURS", "PEER"


def judge(result: Result, load: Load, ours: str, again: str | None) -> Judged | None:
    """None: too little was measured. `again`: the lock under test by its other name.

    Without that, as in a simulation, the A/A ratio is that of the two halves of the rounds.
    """
    threads = result.threads[0]
    wrong = {cell.variant for cell in result.cells if cell.wrong}
    others = [v for v in result.variants if v not in (ours, again, *wrong)]
    locks = {v: _of(result, v, threads) for v in result.variants if result.of(v, threads)}
    failure = next((line for line in result.wrong() if line.startswith(f"{ours} with ")), "")
    found = best_peer.judge(result, [ours], others)
    if not found and not failure:
        return None
    ratio, peer = (found[0].bound, found[0].theirs) if found and not failure else (_NONE, "")
    low, high = (ratio.low, ratio.high) if ratio.known else _range(result, ours, peer, threads)
    return Judged(
        number=load.number,
        cpus=result.cpus,
        threads=threads * load.processes,
        what=load.what,
        repeat=_with(load, load.repeat, ours, peer),
        ratio=ratio.value,
        low=low,
        high=high,
        peer=peer,
        again=_again(result, ours, again, threads),
        ours=ours,
        locks=locks,
        natively=_with(load, load.natively, ours, peer),
        failure=failure,
    )


_NONE = stats.Ratio(0.0, None, None)


def _with(load: Load, command: str, ours: str, peer: str) -> str:
    if not peer:
        command = command.replace(f",{PEER}", "").replace(PEER, OURS)
    return command.replace(PEER, _typed(load, peer)).replace(OURS, _typed(load, ours))


def _typed(load: Load, variant: str) -> str:
    name, at, settings = variant.partition("@")
    return f"{load.files[name]}{at}{settings}" if name in load.files else variant


def _of(result: Result, variant: str, threads: int) -> OfLock:
    def value(measure: str) -> float | None:
        return result.value(measure, variant, threads)

    gap = value("gap")
    return OfLock(
        rounds=len(result.of(variant, threads)),
        rate=value("rate") or 0.0,
        jain=value("jain"),
        gap_ns=value("max") if gap is None else gap,
        cpu=value("cpu"),
    )


def _range(result: Result, ours: str, peer: str, threads: int) -> tuple[float | None, float | None]:
    """Over all rounds, where they are too few for an interval."""
    ratios = [
        a / b
        for one, two in result.paired(ours, peer, [threads])
        for a, b in zip(one, two, strict=True)
    ]
    return (min(ratios), max(ratios)) if ratios else (None, None)


def _again(result: Result, ours: str, again: str | None, threads: int) -> float | None:
    if again:
        found = best_peer.judge(result, [again], [ours])
        return found[0].bound.value if found else None
    rates = list(result.rates_by_round(ours, threads).values())
    if len(rates) < 2:
        return None
    return stats.median(rates[1::2]) / stats.median(rates[::2])


# All loads


@dataclass(frozen=True)
class Summary:
    loads: int
    spread: float | None  # of the A/A ratios
    bar: float  # AS_GOOD less the spread
    reach_bar: float  # share of the loads
    as_good: float  # the same, with the bar at AS_GOOD
    again_as_good: float | None  # of the A/A ratios: what chance alone leaves of it
    not_far: float  # share of the loads with a ratio of FAR or more
    median: float
    geometric_mean: float
    cpu_beside_mutex: float | None  # median
    most_threads: list[int]  # the loads' numbers
    gap_ns: float | None  # the longest, of these
    peers_gap_ns: float | None  # of the best other lock there
    worst: list[int]
    failed: list[int]


def spread(again: Sequence[float]) -> float | None:
    """Nine of ten A/A ratios are no farther from 1 than this; 1.25 is as far as 0.8."""
    off = sorted(1 - min(ratio, 1 / ratio) if ratio > 0 else 1.0 for ratio in again)
    return off[math.ceil(SPREAD_OF * len(off)) - 1] if off else None


def summary(loads: Sequence[Judged]) -> Summary:
    """Of at least one."""
    again = [load.again for load in loads if load.again is not None]
    off = spread(again)
    bar = AS_GOOD - (off or 0.0)
    ratios = [load.ratio for load in loads]
    crowded = sorted(loads, key=lambda load: -load.per_cpu)
    crowded = crowded[: math.ceil(MOST_THREADS_OF * len(loads))]
    cpu = [c for load in loads if (c := load.cpu_beside_mutex) is not None]
    return Summary(
        loads=len(loads),
        spread=off,
        bar=bar,
        reach_bar=_share(ratios, bar),
        as_good=_share(ratios, AS_GOOD),
        again_as_good=_share(again, AS_GOOD) if again else None,
        not_far=_share(ratios, FAR),
        median=stats.median(ratios),
        geometric_mean=math.exp(sum(math.log(max(r, stats.NOTHING)) for r in ratios) / len(ratios)),
        cpu_beside_mutex=stats.median(cpu) if cpu else None,
        most_threads=[load.number for load in crowded],
        gap_ns=_longest([load.gap_ns for load in crowded]),
        peers_gap_ns=_longest([load.peer_gap_ns for load in crowded]),
        worst=[load.number for load in worst(loads)],
        failed=[load.number for load in loads if load.failure],
    )


def worst(loads: Sequence[Judged]) -> list[Judged]:
    return sorted(loads, key=lambda load: load.ratio)[:WORST]


def by_cpus(loads: Sequence[Judged]) -> dict[int, list[Judged]]:
    found: dict[int, list[Judged]] = {}
    for load in sorted(loads, key=lambda load: (load.cpus, load.number)):
        found.setdefault(load.cpus, []).append(load)
    return found


def _share(ratios: Sequence[float], bar: float) -> float:
    return sum(ratio >= bar for ratio in ratios) / len(ratios)


def _longest(gaps: Sequence[float | None]) -> float | None:
    return max((gap for gap in gaps if gap is not None), default=None)


# Kept


@dataclass(frozen=True)
class Document:
    """schema/random.json describes the file."""

    command: str
    machine: str
    ours: str
    seed: int
    half: str
    simulated: bool
    loads: list[Judged]
    unjudged: list[int] = field(default_factory=list)  # too little was measured

    @property
    def gap(self) -> str:
        """What is kept as the gap of a thread."""
        return "wait" if self.simulated else "gap"

    def to_json(self) -> str:
        body: dict[str, Any] = {"format": FORMAT, "version": VERSION, **asdict(self)}
        body["summary"] = {
            str(cpus): asdict(summary(loads)) for cpus, loads in by_cpus(self.loads).items()
        }
        return json.dumps(body, indent=1) + "\n"


def read(path: Path) -> Document:
    try:
        body = reading.parsed(files.read_text(path))
        if (body.get("format"), body.get("version")) != (FORMAT, VERSION):
            raise ValueError(f"the format is not {FORMAT}, version {VERSION}")
        known = {one.name for one in fields(Document)}
        return reading.made(Document, {k: v for k, v in body.items() if k in known}, "the file")
    except ValueError as error:
        raise Fail(
            f"{path} is not a result of random loads ({error}); create one with "
            "`overlock bench random --json FILE`"
        ) from error
