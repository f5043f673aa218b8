# SPDX-License-Identifier: MIT
"""What the committed measurements say of a lock in a situation of advice.toml.

A cell compares a lock with a baseline at one place. Where the file has the interval of the ratio
(programs, neighbours), the cell has that; else its bounds are the worst round of one beside
the best of the other. A cell whose bounds lie below 1 is worse, one above 1 better. Of many cells
a few are so by chance: with 95 % intervals one in forty on each side, with three rounds of each one
in twenty. So a lock is called worse, or better, in a situation if more of its cells are so than
chance explains.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from math import comb, nan
from pathlib import Path
from typing import Any

from overlock_tools.core.model import advice
from overlock_tools.core.model.advice import Evidence, Situation
from overlock_tools.core.model.quantities import factor
from overlock_tools.core.system.errors import Fail

TOP = Path(__file__).resolve().parent.parent
MEASURED = TOP / "docs/measured"
BY_CHANCE = 0.025  # a 95 % interval lies on one side of the truth
# What is less likely is no chance. Recommendations rest on "faster", so it needs more.
SLOWER_BY_CHANCE = 0.05
FASTER_BY_CHANCE = 0.01
FAR = 20.0  # times, in the worst round: not by chance, as docs/results/guest.md has it
BY_CHANCE_FAR = 0.001
FAR_BELOW = 0.1  # "< 0.1×", "cut": given up as less than a tenth
NATIVE = "native"


class Called(Enum):
    WORSE = "slower"
    BETTER = "faster"
    MIXED = "faster here, slower there"
    ALIKE = "no significant difference"
    UNKNOWN = "not measured"


@dataclass(frozen=True)
class Cell:
    lock: str
    baseline: str
    where: str  # a program, a load or a workload
    place: str
    ratio: float | None  # None: given up as slower than a tenth
    low: float
    high: float
    rounds: int = 0  # of each, if the bounds are of rounds
    rates: tuple[float, float] = (nan, nan)  # medians of the lock and of the baseline, if known

    @property
    def by_chance(self) -> float:
        """How likely it is to be on that side of 1 though there is no difference."""
        if self.low >= FAR or self.high <= 1 / FAR:
            return BY_CHANCE_FAR
        # Of all orders of the rounds of two equal locks, one has those of one lock first.
        return 1 / comb(2 * self.rounds, self.rounds) if self.rounds else BY_CHANCE

    @property
    def worse(self) -> bool:
        return self.high < 1

    @property
    def better(self) -> bool:
        return self.low > 1

    @property
    def text(self) -> str:
        if self.ratio is None:
            return f"< {FAR_BELOW:g}×"
        return f"{factor(self.ratio)}× ({factor(self.low)} – {factor(self.high)})"


@cache
def _raw(name: str) -> dict[str, Any]:
    path = MEASURED / f"{name}.json"
    if not path.exists():
        raise Fail(f"advice.toml names docs/measured/{path.name}, which is not there")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def _by_rounds(raw: dict[str, Any], evidence: Evidence, where: str, rounds: int) -> Iterator[Cell]:
    """The worst round of one beside the best of the other; not of a single round, or of a bound."""
    rates: dict[str, dict[str, dict[str, float]]] = raw["rates"]
    for baseline in evidence.baselines:
        for place in evidence.places:
            base, beside = rates[baseline][place], _name(raw, baseline)
            for variant, of_lock in rates.items():
                mine, lock = of_lock.get(place), _name(raw, variant)
                if lock == beside or not mine or any(map(_single, (mine, base))):
                    continue
                ratio = mine["median"] / base["median"]
                bounds = mine["least"] / base["most"], mine["most"] / base["least"]
                medians = mine["median"], base["median"]
                yield Cell(lock, beside, where, place, ratio, *bounds, rounds, medians)


def _name(raw: dict[str, Any], variant: str) -> str:
    """A kernel's own lock as the guest names it, for `native` may be any of three."""
    if not variant.startswith(NATIVE):
        return variant
    return str(raw["in_force"][variant].partition(" (")[0])


def _single(numbers: dict[str, float]) -> bool:
    return "cut" in numbers or numbers["least"] == numbers["most"]


def _of_programs(evidence: Evidence) -> Iterator[Cell]:
    (baseline,) = evidence.baselines
    for program, raw in _raw("apps").items():
        if "@" in program or raw["baseline"] != baseline:
            continue
        for lock, places in raw["locks"].items():
            for place in evidence.places:
                numbers = places.get(place, {})
                if "interval" in numbers:
                    low, high = numbers["interval"]
                    yield Cell(lock, baseline, program, place, numbers["ratio"], low, high)
                elif "why" in numbers:
                    yield Cell(lock, baseline, program, place, None, 0, FAR_BELOW)


def _of_neighbours(evidence: Evidence) -> Iterator[Cell]:
    (baseline,) = evidence.baselines
    for place in evidence.places:
        for lock, bounds in _raw("neighbours")["ratios"][place].items():
            yield Cell(lock, baseline, "neighbours", place, *bounds)


def cells_of(evidence: Evidence) -> list[Cell]:
    match evidence.source:
        case "sections":
            raw = _raw("sections")
            return list(_by_rounds(raw, evidence, "sections", int(raw["rounds"])))
        case "apps":
            return list(_of_programs(evidence))
        case "openmp":
            raw = _raw("openmp")
            those, rounds = raw["loads"][evidence.load], int(raw["rounds"])
            return list(_by_rounds(those, evidence, evidence.load, rounds))
        case "guest":
            raw = _raw("guest")["loads"][evidence.load]
            rounds = int(raw["rounds"].partition(" ")[0])
            return list(_by_rounds(raw, evidence, evidence.load, rounds))
        case "neighbours":
            return list(_of_neighbours(evidence))
    raise Fail(f"advice.toml: there is no evidence from {evidence.source!r}")


@cache
def cells(situation: str) -> list[Cell]:
    return [cell for one in advice.situation(situation).evidence for cell in cells_of(one)]


def of_lock(situation: str, lock: str) -> list[Cell]:
    return [cell for cell in cells(situation) if cell.lock == lock]


def locks(situation: str) -> list[str]:
    return list(dict.fromkeys(cell.lock for cell in cells(situation)))


def likely_by_chance(hits: int, by_chance: list[float]) -> float:
    """How likely chance alone puts at least so many cells on one side of 1."""
    likely = [1.0]  # of each number of hits
    for one in by_chance:
        none, hit = [*likely, 0.0], [0.0, *likely]
        likely = [a * (1 - one) + b * one for a, b in zip(none, hit, strict=True)]
    return round(sum(likely[hits:]), 9)


def judged(those: list[Cell]) -> Called:
    if not those:
        return Called.UNKNOWN
    by_chance = [cell.by_chance for cell in those]
    hits = [sum(getattr(cell, name) for cell in those) for name in ("worse", "better")]
    worse = likely_by_chance(hits[0], by_chance) < SLOWER_BY_CHANCE
    better = likely_by_chance(hits[1], by_chance) < FASTER_BY_CHANCE
    if worse:
        return Called.MIXED if better else Called.WORSE
    return Called.BETTER if better else Called.ALIKE


def called(situation: str, lock: str) -> Called:
    """What the measurements call the lock, beside the one in place."""
    return judged(of_lock(situation, lock))


def is_worse(situation: str, lock: str) -> bool:
    return called(situation, lock) in (Called.WORSE, Called.MIXED)


def worse(situation: str) -> list[str]:
    return [lock for lock in locks(situation) if is_worse(situation, lock)]


def commands(situation: Situation) -> list[str]:
    """That measured the evidence, in its order."""
    found = []
    for one in situation.evidence:
        if one.source in ("sections", "openmp", "neighbours"):
            found.append(_raw(one.source)["command"])
        elif one.source == "apps":
            found += _of_apps(one)
        else:
            found.append(one.command)
    return list(dict.fromkeys(found))


def _of_apps(evidence: Evidence) -> list[str]:
    """Those of apps.json that measured these places."""
    copies = {place.rpartition("x")[0] for place in evidence.places}
    every = [
        command
        for program, raw in _raw("apps").items()
        if "@" not in program and set(raw["places"]) & set(evidence.places)
        for those in raw["runs"].values()
        for command in those
    ]
    neighbours = re.compile(r"--neighbours (\d+)")
    return [
        command
        for command in every
        if (found[1] if (found := neighbours.search(command)) else "") in copies
    ]
