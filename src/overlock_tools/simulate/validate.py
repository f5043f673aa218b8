# SPDX-License-Identifier: MIT
"""The simulator against this machine: the points of validation.toml, measured and simulated."""

import hashlib
import itertools
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from overlock_tools.model.results import Result, from_file
from overlock_tools.simulate.machines import Machine
from overlock_tools.system.errors import Fail

PLAN = Path(__file__).with_name("validation.toml")


@dataclass(frozen=True)
class Series:
    name: str
    locks: list[str]
    threads: list[int]
    cs_ns: float
    ncs_ns: float
    quota_cpus: float | None = None
    copies: int = 1


@dataclass(frozen=True)
class Judged:
    within: float
    steady: float
    collapsed: float
    right: float
    held_out: int


@dataclass(frozen=True)
class Plan:
    judged: Judged
    native: dict[str, Any]
    simulated: dict[str, Any]
    series: list[Series]


@dataclass(frozen=True)
class Point:
    series: Series
    lock: str
    threads: int

    @property
    def name(self) -> str:
        return f"{self.series.name}/{self.lock}/{self.threads}"

    def is_held_out(self, judged: Judged) -> bool:
        """By its name: nobody chooses."""
        number = int(hashlib.sha256(self.name.encode()).hexdigest(), 16)
        return number % judged.held_out == 0


def plan(path: Path = PLAN) -> Plan:
    raw = tomllib.loads(path.read_text())
    return Plan(
        Judged(**raw["judged"]),
        raw["native"],
        raw["simulated"],
        [Series(**series) for series in raw["series"]],
    )


def points(asked: Plan) -> list[Point]:
    return [
        Point(series, lock, threads)
        for series in asked.series
        for threads in series.threads
        for lock in series.locks
    ]


# Measured


def measure(series: Series, how: Mapping[str, Any], file: Path) -> None:
    """By `overlock bench`, whose progress is shown; an interrupted one is gone on with."""
    command = [
        *(sys.executable, "-m", "overlock_tools", "bench", "sections"),
        *("--locks", ",".join(series.locks), "--threads", ",".join(map(str, series.threads))),
        *("--cs-ns", f"{series.cs_ns:g}", "--ncs-ns", f"{series.ncs_ns:g}"),
        *("--rounds", str(how["rounds"]), "--seconds", f"{how['seconds']:g}"),
        *("--no-pilot", "--no-latency", "--json", str(file)),
    ]
    if series.quota_cpus:
        command += ["--quota", f"{series.quota_cpus:g}"]
    if series.copies > 1:
        command += ["--neighbours", str(series.copies)]
    if subprocess.run(command, check=False).returncode:
        raise Fail(f"the series {series.name} could not be measured")


# Simulated


def told(
    point: Point, machine: Machine, host: str, how: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    """As overlock-sim takes it."""
    series = point.series
    guest: dict[str, Any] = {
        "contexts": point.threads,
        "lock": point.lock,
        "parameters": {"sections_cs": series.cs_ns, "sections_ncs": series.ncs_ns},
    }
    if series.quota_cpus:
        guest |= {"quota_us": series.quota_cpus * 100_000, "period_us": 100_000}
    return {
        "machine": machine.told(),
        "host": {"scheduler": host},
        "guests": [guest] * series.copies,
        "seed": seed,
        "warm_up_us": how["warm_up"] * 1e6,
        "time_us": how["seconds"] * 1e6,
    }


def rate(answer: Mapping[str, Any]) -> float:
    turns = sum(context["turns"] for guest in answer["guests"] for context in guest["contexts"])
    return float(turns / answer["time_ns"] * 1e9)


# Judged


@dataclass(frozen=True)
class Compared:
    point: Point
    native: list[float]  # rates of the rounds
    simulated: list[float]  # of the seeds
    alone: tuple[float, float]  # the lock's rate with the fewest threads: native, simulated
    judged: Judged

    @property
    def steady(self) -> bool:
        return max(self.native) < self.judged.steady * min(self.native)

    @property
    def factor(self) -> float:
        """Simulated over native."""
        return median(self.simulated) / median(self.native)

    @property
    def both_collapsed(self) -> bool:
        mine, theirs = median(self.native), median(self.simulated)
        return (
            mine < self.judged.collapsed * self.alone[0]
            and theirs < self.judged.collapsed * self.alone[1]
        )

    @property
    def right(self) -> bool:
        if self.steady:
            return 1 / self.judged.within <= self.factor <= self.judged.within
        return self.both_collapsed

    @property
    def held_out(self) -> bool:
        return self.point.is_held_out(self.judged)


@dataclass(frozen=True)
class Order:
    """Of two locks at one place, whose native ranges are disjoint."""

    faster: Compared
    slower: Compared

    @property
    def right(self) -> bool:
        return median(self.faster.simulated) > median(self.slower.simulated)


def orders(compared: Sequence[Compared]) -> Iterator[Order]:
    for a, b in itertools.combinations(compared, 2):
        if (a.point.series, a.point.threads) != (b.point.series, b.point.threads):
            continue
        if min(a.native) > max(b.native):
            yield Order(a, b)
        elif min(b.native) > max(a.native):
            yield Order(b, a)


def compare(
    asked: Plan, natives: Mapping[str, Result], simulated: Mapping[str, list[float]]
) -> list[Compared]:
    found = []
    for point in points(asked):
        fewest = Point(point.series, point.lock, point.series.threads[0])
        result = natives[point.series.name]
        alone = (
            median(result.rates(point.lock, fewest.threads)),
            median(simulated[fewest.name]),
        )
        rates = result.rates(point.lock, point.threads)
        found.append(Compared(point, rates, simulated[point.name], alone, asked.judged))
    return found


def read_native(asked: Plan, folder: Path) -> dict[str, Result]:
    return {series.name: from_file(folder / f"{series.name}.json") for series in asked.series}


# Told


@dataclass(frozen=True)
class Score:
    """Of all points, or of those that nothing was calibrated by."""

    steady: int
    steady_right: int
    other: int
    other_right: int
    orders: int
    orders_right: int


def score(compared: Sequence[Compared]) -> Score:
    steady = [one for one in compared if one.steady]
    other = [one for one in compared if not one.steady]
    pairs = list(orders(compared))
    return Score(
        len(steady),
        sum(one.right for one in steady),
        len(other),
        sum(one.right for one in other),
        len(pairs),
        sum(pair.right for pair in pairs),
    )


def to_json(asked: Plan, compared: Sequence[Compared], machine: Mapping[str, Any]) -> str:
    rows = [
        {
            "point": one.point.name,
            "held_out": one.held_out,
            "native": [round(rate) for rate in sorted(one.native)],
            "simulated": [round(rate) for rate in sorted(one.simulated)],
            "steady": one.steady,
            "right": one.right,
        }
        for one in compared
    ]
    wrong = [
        {"faster": pair.faster.point.name, "slower": pair.slower.point.name}
        for pair in orders(compared)
        if not pair.right
    ]
    body = {
        "judged": asked.judged.__dict__,
        "machine": dict(machine),
        "points": rows,
        "wrong_orders": wrong,
    }
    return json.dumps(body, indent=1) + "\n"
