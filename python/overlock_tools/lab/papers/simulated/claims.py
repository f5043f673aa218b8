# SPDX-License-Identifier: MIT
"""The papers' experiments in the simulator: whether it shows what they say.

claims.toml has what they say and by which numbers it is so; why.toml the reasons for what is
not so here, from measurements.
"""

import itertools
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from math import isfinite
from pathlib import Path
from statistics import mean, median
from typing import Any

from rich.text import Text

from overlock_tools.bench.conditions.base import deferred
from overlock_tools.core.model.quantities import factor, plain
from overlock_tools.core.system import files
from overlock_tools.core.system.errors import FAILED, INTERRUPTED, Fail
from overlock_tools.core.system.terminal import console
from overlock_tools.lab.papers.simulated.measures import Answer, value_of
from overlock_tools.sim import resolve, scenario
from overlock_tools.sim.batch import Batch, Shown
from overlock_tools.sim.cache import Cache
from overlock_tools.sim.campaign import kept_in
from overlock_tools.sim.resolve import Place, Run

CLAIMS = Path(__file__).with_name("claims.toml")
WHY = Path(__file__).with_name("why.toml")
FORMAT = "overlock-simulated-papers"
TAKES: dict[str, Callable[[list[float]], float]] = {
    "most": max,
    "least": min,
    "mean": mean,
    "range": lambda values: max(values) / min(values),
}
EACH = "each"
Range = tuple[float, float]
Point = dict[str, Any]


class Verdict(StrEnum):
    HOLDS = "holds"
    PARTLY = "partly"
    NOT = "not"
    NOTHING = "not measured"


WORTH = {Verdict.HOLDS: 1.0, Verdict.PARTLY: 0.5, Verdict.NOT: 0.0, Verdict.NOTHING: 0.0}


@dataclass(frozen=True)
class Check:
    scenarios: Sequence[str]
    measure: str
    locks: Sequence[str]
    by: str | None
    at: Point
    by_at: Point
    take: str
    paper: float | str
    holds: Range
    partly: Range

    def judged(self, value: float | None) -> Verdict:
        if value is None:
            return Verdict.NOTHING
        for verdict, (low, high) in ((Verdict.HOLDS, self.holds), (Verdict.PARTLY, self.partly)):
            if low <= value <= high:
                return verdict
        return Verdict.NOT


@dataclass(frozen=True)
class Claim:
    id: str
    paper: str
    figure: str
    claim: str
    checks: Sequence[Check]


@dataclass(frozen=True)
class Found:
    """Of a check, or of one of its points: the seeds' median and range."""

    what: str
    at: str
    paper: float | str
    median: float | None
    least: float | None
    most: float | None
    verdict: Verdict


@dataclass(frozen=True)
class Judged:
    claim: Claim
    verdict: Verdict
    found: Sequence[Found]


def claims(only: Sequence[str] = ()) -> list[Claim]:
    """All, or those of papers or with ids that begin so."""
    raw = tomllib.loads(CLAIMS.read_text())["claim"]
    found = [_claim(entry) for entry in raw if not only or entry["id"].startswith(tuple(only))]
    if not found:
        known = ", ".join(dict.fromkeys(entry["paper"] for entry in raw))
        raise Fail(f"--only {','.join(only)}: no claim begins so; expected a paper: {known}")
    return found


def why() -> dict[str, str]:
    found: dict[str, str] = tomllib.loads(WHY.read_text())
    return found


def _claim(raw: dict[str, Any]) -> Claim:
    checks = [_check(raw | entry) for entry in raw["check"]]
    return Claim(raw["id"], raw["paper"], raw["figure"], raw["claim"], checks)


def _check(raw: dict[str, Any]) -> Check:
    holds, partly = _bounds(raw)
    return Check(
        _listed(raw["scenario"]),
        raw["measure"],
        _listed(raw["of"]),
        raw.get("by"),
        raw.get("at", {}),
        raw.get("by_at", {}),
        raw.get("take", EACH),
        raw["paper"],
        holds,
        partly,
    )


def _bounds(raw: dict[str, Any]) -> tuple[Range, Range]:
    if "within" not in raw:
        return tuple(raw["holds"]), tuple(raw["partly"])
    number, within = raw["paper"], raw["within"]
    side = (1.0, float("inf")) if number > 1 else (0.0, 1.0)
    return (number / within, number * within), side


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


# Running


@dataclass
class Runs:
    """The answers of scenarios, by scenario, point, lock and seed."""

    places: dict[str, list[Place]]
    answers: dict[tuple[str, str, str, int], tuple[Run, Answer]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

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
        return self.places[name][0].scenario.seeds

    def locks(self, name: str) -> list[str]:
        return self.places[name][0].variants


def _key(point: Point) -> str:
    return json.dumps(point, sort_keys=True)


def _allowed(at: Point, path: str) -> list[Any]:
    return _listed(at[path])


def load(asked: Sequence[Claim]) -> Runs:
    names = dict.fromkeys(name for c in asked for check in c.checks for name in check.scenarios)
    return Runs({name: resolve.places(scenario.load(name, [])) for name in names})


# Judging


def judge(claim: Claim, runs: Runs) -> Judged:
    found = [one for check in claim.checks for one in _found(check, runs)]
    score = mean(WORTH[one.verdict] for one in found)
    verdict = Verdict.HOLDS if score == 1 else Verdict.PARTLY if score >= 0.5 else Verdict.NOT
    return Judged(claim, verdict, found)


def _found(check: Check, runs: Runs) -> Iterator[Found]:
    for lock in check.locks:
        series = list(_series(check, lock, runs))
        if check.take == EACH:
            for words, values in series:
                yield _summed(check, _words(check, lock), words, values)
        else:
            whole = [_taken(check.take, each) for each in zip(*(v for _, v in series), strict=True)]
            yield _summed(check, f"{check.take} of {_words(check, lock)}", "", whole)


def _taken(take: str, values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return TAKES[take](known) if known else None


def _series(check: Check, lock: str, runs: Runs) -> Iterator[tuple[str, list[float | None]]]:
    """For each point its words, and the seeds' values."""
    for name in check.scenarios:
        if lock not in runs.locks(name) or (check.by and check.by not in runs.locks(name)):
            raise Fail(f"{CLAIMS.name}: the scenario {name} has not {lock} or {check.by}")
        for point in runs.points(name, check.at):
            words = ", ".join(filter(None, (_named(name, check), point_words(point))))
            yield words, [_value(check, lock, (name, point, s), runs) for s in runs.seeds(name)]


def _named(name: str, check: Check) -> str:
    """Which scenario, where a check has several: by its load."""
    if len(check.scenarios) == 1 or name in UNNAMED:
        return ""
    return LOADS.get(name, name.rpartition("-")[2])


def _value(check: Check, lock: str, where: tuple[str, Point, int], runs: Runs) -> float | None:
    name, point, seed = where
    value = runs.value(name, point, lock, seed, check.measure)
    if not check.by and not check.by_at:
        return value
    other = runs.value(name, {**point, **check.by_at}, check.by or lock, seed, check.measure)
    if value is None or other is None:
        return None
    if value == other:  # also if there is nothing of either
        return 1.0
    return value / other if other else float("inf")


def _summed(check: Check, what: str, at: str, values: Sequence[float | None]) -> Found:
    known = [value for value in values if value is not None]
    if not known:
        return Found(what, at, check.paper, None, None, None, Verdict.NOTHING)
    middle = median(known)
    return Found(what, at, check.paper, middle, min(known), max(known), check.judged(middle))


LOADS = {
    "ouyang2013-fig5a": "hackbench",
    "ouyang2013-fig5b": "kernbench",
    "ouyang2013-fig5c": "ebizzy",
    "ouyang2013-fig6": "DVD Store",
}
UNNAMED = ("ouyang2013-hosts", "ouyang2013-features")
COUNTED = {
    "guest.vm.count": "VM",
    "machine.cpus": "CPU",
    "guest.vm.contexts": "vCPU",
    "guest.app.contexts": "thread",
}


def point_words(point: Point) -> str:
    """`2 VMs`, `8 CPUs`, `ple`, `ratelimit_us 1000`."""
    return ", ".join(_coordinate(path, value) for path, value in point.items())


def _coordinate(path: str, value: Any) -> str:
    if not isinstance(value, int):
        return _shown(value)
    if unit := COUNTED.get(path):
        return f"{value} {unit}{'' if value == 1 else 's'}"
    return f"{path.rpartition('.')[2]} {value}"


def _shown(value: Any) -> str:
    if isinstance(value, dict):  # features of a host, with what is not as usual
        named = [" ".join([name, *map(str, own)]) for name, own in value.items()]
        return " and ".join(named) or "no feature"
    return str(value).removeprefix("paper-")


def _words(check: Check, lock: str) -> str:
    by = f" ÷ {check.by}" if check.by else ""
    by_at = f" ÷ that with {point_words(check.by_at)}" if check.by_at else ""
    return f"{check.measure} of {lock}{by}{by_at}"


# Told


def to_json(judged: Sequence[Judged], runs: Runs) -> str:
    body = {
        "format": FORMAT,
        "version": 1,
        "scenarios": {name: _about(places) for name, places in runs.places.items()},
        "claims": [
            {
                "id": one.claim.id,
                "paper": one.claim.paper,
                "figure": one.claim.figure,
                "claim": one.claim.claim,
                "scenarios": list(
                    dict.fromkeys(itertools.chain(*(c.scenarios for c in one.claim.checks)))
                ),
                "verdict": one.verdict,
                "found": [_rounded(found) for found in one.found],
            }
            for one in judged
        ],
    }
    return json.dumps(body, indent=1, ensure_ascii=False) + "\n"


def _about(places: Sequence[Place]) -> dict[str, Any]:
    told = resolve.told(places[0], places[0].variants[0], 1)
    return {
        "title": places[0].scenario.title,
        "machine": places[0].machine.title,
        "host": told["host"]["scheduler"],
        "ms": told["time_us"] / 1000,
        "seeds": len(places[0].scenario.seeds),
        "runs": sum(1 for place in places for _ in resolve.runs(place)),
    }


def _rounded(found: Found) -> dict[str, Any]:
    shown = asdict(found)
    for name in ("median", "least", "most"):
        if shown[name] is not None:  # JSON has no infinity
            shown[name] = float(f"{shown[name]:.3g}") if isfinite(shown[name]) else "inf"
    return shown


def number(value: float | str | None) -> str:
    if isinstance(value, str) or value is None:
        return "∞" if value == "inf" else value or "nothing"
    if not isfinite(value):
        return "∞"
    return factor(value) if value < 999.5 else plain(value).strip()


def run(options: Mapping[str, Any]) -> int:
    out = console()
    asked = claims(options["only"])
    runs = load(asked)
    wanted = [
        (name, run)
        for name, places in runs.places.items()
        for place in places
        for run in resolve.runs(place)
    ]

    def add(number: int, answer: Answer) -> None:
        runs.add(*wanted[number], answer)

    batch = Batch([run.told for _, run in wanted], Cache(kept_in(options)), add)
    shown = Shown(out, options["quiet"], lambda: Text("the papers' experiments", style="bold"))
    with deferred() as asked_to_end:
        batch.simulate(options, shown, asked_to_end)
        if asked_to_end():
            out.print(batch.interrupted(), soft_wrap=True)
            return INTERRUPTED
    return _tell([judge(claim, runs) for claim in asked], runs, options["output"])


def _tell(judged: Sequence[Judged], runs: Runs, output: Path | None) -> int:
    out = console()
    if output:
        files.write(output, to_json(judged, runs))
    for one in judged:
        out.print(f"{one.verdict:8}{one.claim.id}: {one.claim.claim}", soft_wrap=True)
        for found in one.found:
            out.print(f"        {found.verdict:8} {_line(found)}", soft_wrap=True)
    for failure in runs.failures:
        out.print(f"failed: {failure}", soft_wrap=True)
    return FAILED if runs.failures else 0


def _line(found: Found) -> str:
    at = f", {found.at}" if found.at else ""
    span = f" ({number(found.least)} – {number(found.most)})"
    return f"{found.what}{at}: {number(found.median)}{span}; the paper: {number(found.paper)}"
