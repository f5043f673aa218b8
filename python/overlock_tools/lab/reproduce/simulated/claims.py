# SPDX-License-Identifier: MIT
"""The papers' experiments in the simulator: whether it shows what they say.

claims.toml has by which numbers it is so, why.toml the reasons for what is not so here. Their
numbers come from the same runs.
"""

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import comb, inf
from pathlib import Path
from statistics import median
from typing import Any

from rich.text import Text

from overlock_tools.bench.conditions.base import deferred
from overlock_tools.core.system.errors import Fail
from overlock_tools.core.system.terminal import console
from overlock_tools.lab.reproduce.checks import (
    EACH,
    TAKES,
    Check,
    Found,
    Point,
    Range,
    Verdict,
    check,
    listed,
    together,
)
from overlock_tools.lab.reproduce.simulated import why
from overlock_tools.lab.reproduce.simulated.measures import ACQUIRING, Answer, value_of
from overlock_tools.lab.reproduce.simulated.words import CONTENDED, LOADS, UNNAMED, point_words
from overlock_tools.sim import resolve, scenario
from overlock_tools.sim.batch import Batch, Shown
from overlock_tools.sim.cache import Cache
from overlock_tools.sim.resolve import Place, Run

CLAIMS = Path(__file__).with_name("claims.toml")
LIMIT_S = 600.0  # of a run
Where = tuple[str, Point, int]  # a scenario, its point, a seed


MISSED = 128
HARDLY = 0.01  # of the CPU time: below that, a lock cannot make a difference that is seen


@dataclass(frozen=True)
class Claim:
    id: str
    checks: Sequence[Check]
    numbers: Mapping[str, Check]  # of its reason


@dataclass(frozen=True)
class Judged:
    verdict: Verdict
    found: Sequence[Found]
    why: str


@cache
def claims() -> Mapping[str, Claim]:
    file = tomllib.loads(CLAIMS.read_text())
    raw = [one for entry in file["claim"] for one in _forms(entry, file["forms"])]
    return {entry["id"]: _claim(entry) for entry in raw}


def _forms(raw: dict[str, Any], known: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A claim as often as it is asked."""
    if "forms" not in raw:
        yield raw
        return
    for form in known[raw["forms"]].values():
        yield {**raw, **form, "id": raw["id"] + form["id"]}


def _claim(raw: dict[str, Any]) -> Claim:
    checks = [check(_in_its_form(raw, entry)) for entry in raw["check"]]
    numbers = {name: _asked(entry) for name, entry in why.numbers(raw["id"]).items()}
    return Claim(raw["id"], checks, numbers)


def _in_its_form(claim: dict[str, Any], check: dict[str, Any]) -> dict[str, Any]:
    return {**claim, **check, "at": {**claim.get("at", {}), **check.get("at", {})}}


def _asked(raw: dict[str, Any]) -> Check:
    """A number of a reason: nothing is judged by it."""
    name = raw["scenario"] + (f" {json.dumps(raw['set'])}" if "set" in raw else "")
    anything = [-inf, inf]
    return check({**raw, "scenario": name, "paper": "", "holds": anything, "partly": anything})


# Running


@dataclass
class Runs:
    """The answers of scenarios, by scenario, point, lock and seed."""

    places: dict[str, list[Place]]  # one for each point, with the seeds of the last that joined
    answers: dict[tuple[str, str, str, int], tuple[Run, Answer]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def join(self, other: "Runs") -> None:
        self.places |= other.places
        self.answers |= other.answers
        self.failures += other.failures

    def add(self, name: str, run: Run, answer: Answer) -> None:
        if failure := answer.get("error") or answer.get("failure"):
            self.failures.append(f"{name}, {run.variant}, {run.place.point}: {failure}")
            return
        self.answers[name, _key(run.place.point), run.variant, run.seed] = run, answer

    def points(self, name: str, at: Point) -> list[Point]:
        """Of a scenario's sweep, those that `at` allows; what it has beyond them is left out."""
        found = []
        for place in self.places[name]:
            if all(place.point[path] in _allowed(at, path) for path in at if path in place.point):
                found.append(place.point)
        return found

    def value(self, name: str, point: Point, lock: str, seed: int, measure: str) -> float | None:
        known = self.answers.get((name, _key(point), lock, seed))
        return value_of(measure, *known) if known else None

    def seeds(self, name: str) -> list[int]:
        return sorted({seed for scenario, *_, seed in self.answers if scenario == name})

    def locks(self, name: str) -> list[str]:
        return self.places[name][0].variants


def _key(point: Point) -> str:
    return json.dumps(point, sort_keys=True)


def _allowed(at: Point, path: str) -> list[Any]:
    return listed(at[path])


def scenarios(asked: Sequence[Claim]) -> list[str]:
    checks = [check for claim in asked for check in (*claim.checks, *claim.numbers.values())]
    return list(dict.fromkeys(name for check in checks for name in check.scenarios))


def load(names: Sequence[str], seeds: Iterable[int]) -> Runs:
    return Runs({name: resolve.places(_scenario(name, list(seeds))) for name in names})


def _scenario(name: str, seeds: list[int]) -> scenario.Scenario:
    """A ready one; with settings, after a blank, that a reason changes."""
    name, _, settings = name.partition(" ")
    changes = {**json.loads(settings or "{}"), "seeds": seeds}
    return scenario.load(name, [(path, value, why.FILE.name) for path, value in changes.items()])


def simulate(runs: Runs, folder: Path, cluster: str | None) -> float:
    """All that the folder does not have yet: which share. Ctrl-C keeps what is done."""
    wanted = [
        (name, run)
        for name, places in runs.places.items()
        for place in places
        for run in resolve.runs(place)
    ]

    def add(number: int, answer: Answer) -> None:
        runs.add(*wanted[number], answer)

    batch = Batch([run.told for _, run in wanted], Cache(folder), add)
    options = {"jobs": None, "cluster": cluster, "limit": LIMIT_S}
    with deferred() as asked_to_end:
        batch.simulate(options, Shown(console(), True, Text), asked_to_end)
    return len(batch.tasks) / max(len(wanted), 1)


# Judging


def judge(claim: Claim, runs: Runs) -> Judged:
    found = [one for check in claim.checks for one in _found(check, runs)]
    numbers = {name: _number(check, runs) for name, check in claim.numbers.items()}
    known = {name: value for name, value in numbers.items() if value is not None}
    verdict = together(found)
    reason = "" if verdict == Verdict.HOLDS else " ".join(why.sentences(claim.id, known))
    return Judged(verdict, found, reason)


def _number(check: Check, runs: Runs) -> float | None:
    """Of a check of one lock: the first value, or what is taken of all."""
    return next(_found(check, runs)).median


def _found(check: Check, runs: Runs) -> Iterator[Found]:
    for lock in check.locks:
        series = list(_series(check, lock, runs))
        if check.take == EACH:
            for words, values, vacuous in series:
                yield _summed(check, check.what(lock, point_words), words, values, vacuous)
        else:
            by_seed = zip(*(values for _, values, _ in series), strict=True)
            whole = [_taken(check.take, each) for each in by_seed]
            vacuous = all(vacuous for *_, vacuous in series)
            yield _summed(
                check, f"{check.take} of {check.what(lock, point_words)}", "", whole, vacuous
            )


def _taken(take: str, values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return TAKES[take](known) if known else None


def _series(check: Check, lock: str, runs: Runs) -> Iterator[tuple[str, list[float | None], bool]]:
    """For each point its words, the seeds' values, and whether these are vacuous."""
    for name in check.scenarios:
        if lock not in runs.locks(name) or (check.by and check.by not in runs.locks(name)):
            raise Fail(f"{CLAIMS.name}: the scenario {name} has not {lock} or {check.by}")
        for point in runs.points(name, check.at):
            words = ", ".join(filter(None, (_named(name, check), point_words(point))))
            where = [(name, point, seed) for seed in runs.seeds(name)]
            values = [_value(check, lock, one, runs) for one in where]
            yield words, values, bool(check.by) and _is_vacuous(check, lock, where, runs)


def _is_vacuous(check: Check, lock: str, where: Sequence[Where], runs: Runs) -> bool:
    """Neither lock cost anything worth mentioning, with any seed."""
    shares = [
        runs.value(name, {**point, **at}, of, seed, ACQUIRING)
        for name, point, seed in where
        for of, at in ((lock, {}), (check.by or lock, check.by_at))
    ]
    return all(share is not None and share < HARDLY for share in shares)


def _named(name: str, check: Check) -> str:
    """Which scenario, where a check has several: by its load."""
    if name in CONTENDED:
        return CONTENDED[name]
    if len(check.scenarios) == 1 or name in UNNAMED:
        return ""
    return LOADS.get(name, name.rpartition("-")[2])


def _value(check: Check, lock: str, where: Where, runs: Runs) -> float | None:
    name, point, seed = where
    value = runs.value(name, point, lock, seed, check.measure)
    if not check.by and not check.by_at:
        return value
    other = runs.value(name, {**point, **check.by_at}, check.by or lock, seed, check.measure)
    if value is None or other is None:
        return None
    if value == other:  # also if there is nothing of either
        return 1.0
    return value / other if other else inf


def _summed(
    check: Check, what: str, at: str, values: Sequence[float | None], vacuous: bool
) -> Found:
    known = [value for value in values if value is not None]
    if not known:
        return Found(what, at, check.paper)
    ends = sure_ends(known)
    verdicts = check.worst(*ends), check.best(*ends)
    middle = median(known), min(known), max(known)
    return Found(what, at, check.paper, *middle, *verdicts, vacuous, len(known))


def sure_ends(values: Sequence[float]) -> Range:
    """Between which the median is, but in one case of MISSED: of eight the least and the most."""
    ordered, left_out = sorted(values), 0
    while MISSED * 2 * _below(len(ordered), left_out + 2) <= 1:
        left_out += 1
    return ordered[left_out], ordered[-1 - left_out]


def _below(count: int, most: int) -> float:
    """The chance that fewer than so many of them are on one side of the median."""
    return sum(comb(count, n) for n in range(most)) / float(2**count)
