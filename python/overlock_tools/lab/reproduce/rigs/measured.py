# SPDX-License-Identifier: MIT
"""What is measured, on this machine or in guests: rounds until each row's question is decided.

Keys of a way:

    check    as in checks.py; `scenario` names measurements of measurements.toml, `at` the threads:
             a number, or a multiple of the CPUs such as "2x"
    numbers  of `why`: by name, what is taken of a measurement, as in a check
    cpus     that the machine must have; 1 by default
    vcpus    that the paper's guests had: with fewer, the condition is not met
"""

import re
import shlex
import tomllib
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from math import inf, isfinite
from statistics import fmean, median, pstdev
from typing import Any

from overlock_tools.core.analyze.paper_claims import CSD_NS
from overlock_tools.core.model import sequential
from overlock_tools.core.model.histograms import Times
from overlock_tools.core.model.measures import Cell, value_of
from overlock_tools.core.model.results import Result, from_file
from overlock_tools.core.system import machine
from overlock_tools.core.system.errors import Fail
from overlock_tools.lab.reproduce.answers import shown
from overlock_tools.lab.reproduce.checks import (
    EACH,
    TAKES,
    Check,
    Found,
    Verdict,
    check,
    listed,
    together,
)
from overlock_tools.lab.reproduce.rigs import counted
from overlock_tools.lab.reproduce.rigs.base import Asked, Judged, Known, Place, Source
from overlock_tools.lab.reproduce.rigs.counted import Boot
from overlock_tools.lab.reproduce.rows import Way
from overlock_tools.lab.reproduce.simulated.why import Told

FIRST_ROUNDS = 6  # five cannot decide
MORE_ROUNDS = 4
GUESTS, COUNTED = ["guest", "run"], ["guest", "sched"]
MULTIPLE = re.compile(r"(\d+)x")


@cache
def measurements() -> dict[str, Any]:
    text = (resources.files("overlock_tools.lab.reproduce") / "measurements.toml").read_text()
    return tomllib.loads(text)


@dataclass(frozen=True)
class Plan:
    """Of a measurement: a command, and what a round of it takes."""

    command: Sequence[str]
    round_s: float
    needs: Sequence[str] = ()
    more: Sequence[str] = ()  # options that a user has added
    rounds: int = FIRST_ROUNDS
    most: int = sequential.MOST_ROUNDS

    def words(self, rounds: int, file: str) -> list[str]:
        cpus = machine.cpus()
        given = {"file": file, "folder": file.removesuffix(".json"), "rounds": str(rounds)}
        given |= {"fitting": fitting()} | {f"{n}x": str(n * cpus) for n in (1, 2, 4)}
        return [*(word.format_map(given) for word in self.command), *self.more]


def fitting() -> str:
    """Threads that have a CPU each: 1, 2, 4, 6 and so on, as many as there are CPUs."""
    cpus = machine.cpus()
    papers = (1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 72)
    return ",".join(str(n) for n in sorted({*(n for n in papers if n <= cpus), cpus}))


class Measurement(Source):
    def __init__(self, name: str, known: Known) -> None:
        raw = dict(measurements()[name])
        raw["command"] = shlex.split(raw["command"])
        if raw["command"][:2] == GUESTS and known.guest:
            # Such guests may need another kernel than ours: `overlock guest run` tells which.
            raw |= {"more": known.guest, "needs": ()}
        self.plan = Plan(**raw)
        self.rounds = 0
        self.results: list[Result | Boot] = []
        self.short, source = name, f"measured {name}"
        self.of_round = known.kept_s.get(f"{source}, a round", self.plan.round_s)
        least = self.of_round * self.plan.rounds
        forecast = max(known.kept_s.get(source, 0.0), least)
        super().__init__(source, forecast, self.plan.needs)

    @property
    def commands(self) -> Sequence[str]:
        words = self.plan.words(self.rounds or self.plan.rounds, f"{self.short}.json")
        return [shlex.join(["overlock", *words])]

    @property
    def file_name(self) -> str:
        """Of the next step, apart from what other options have measured."""
        other = f"-{zlib.crc32(repr(self.plan.more).encode()):x}" if self.plan.more else ""
        return f"{self.short}{other}-{len(self.results) + 1}"

    def advance(self, place: Place) -> str:
        rounds = MORE_ROUNDS if self.rounds else self.plan.rounds
        rounds = min(rounds, self.plan.most - self.rounds)
        name = self.file_name
        file = place.measured / f"{name}.json"
        self.was_kept = file.exists()
        if not self.was_kept:
            part = file.with_name(f"{name}-part.json")
            words = self.plan.words(rounds, str(part))
            if failed := place.overlock(words, name, self.of_round * rounds):
                return failed
            for left in part.with_suffix("").glob("*.json"):  # a command that fills a folder
                left.replace(part)
            if not part.exists():
                return "it left no result"
            part.replace(file)
        try:
            is_counted = self.plan.command[:2] == COUNTED
            self.results.append(counted.from_file(file) if is_counted else from_file(file))
        except Fail as error:
            return error.message
        self.rounds += rounds
        self.is_over = self.rounds >= self.plan.most
        return ""

    def more_s(self) -> float:
        return self.of_round * MORE_ROUNDS

    def next_s(self) -> float:
        return self.of_round * (MORE_ROUNDS if self.rounds else self.plan.rounds)

    def took(self) -> dict[str, float]:
        return super().took() | {f"{self.name}, a round": self.took_s / max(self.rounds, 1)}

    def cells(self, lock: str, threads: int) -> list[dict[int, Cell]]:
        """By round, of each of the results."""
        return [{cell.round: cell for cell in r.of(lock, threads)} for r in self.results]

    def has(self, threads: int) -> bool:
        return any(threads in result.threads for result in self.results)

    @property
    def knowledge(self) -> str:
        """What locks knew of their CPUs, and from where: `slice_end by getattr`."""
        return ", ".join(dict.fromkeys(filter(None, (_knowledge(r) for r in self.results))))

    @property
    def contexts(self) -> str:
        return "vCPU" if self.plan.command[:2] == GUESTS else "thread"


class Measured(Asked):
    def __init__(self, way: Way, known: Known) -> None:
        self.checks = [check({"holds": [-inf, inf], **raw}) for raw in way.asked["check"]]
        self.why, self.cpus = way.why, way.asked.get("cpus", 1)
        self.vcpus = way.asked.get("vcpus", 1)
        anything = {"paper": "", "holds": [-inf, inf]}
        numbers = way.asked.get("numbers", {})
        self.numbers = {name: check({**raw, **anything}) for name, raw in numbers.items()}
        asked = (*self.checks, *self.numbers.values())
        names = dict.fromkeys(name for one in asked for name in _measurements_of(one))
        self.by_name = {name: known.source(Measurement(name, known)) for name in names}
        self.sources = list(self.by_name.values()) if machine.cpus() >= self.cpus else []

    def judge(self) -> Judged:
        if (here := machine.cpus()) < self.cpus:
            return Judged(
                Verdict.NOTHING, takes=f"a machine of {self.cpus} CPUs; this one has {here}"
            )
        found = [one for asked in self.checks for one in self._found(asked)]
        verdict = together(found)
        knowledge = ", ".join(
            dict.fromkeys(filter(None, (m.knowledge for m in self.by_name.values())))
        )
        takes = self._takes(verdict)
        why = "" if verdict == Verdict.HOLDS else self._reason()
        lacks = self._lacks() if verdict != Verdict.NOTHING else ""
        return Judged(verdict, [shown(one) for one in found], why, takes, knowledge, lacks)

    def _lacks(self) -> str:
        """For want of CPUs: points of a check that have no numbers here, and the paper's vCPUs."""
        without = {
            n
            for asked in self.checks
            for n in map(threads_of, listed(asked.at.get("threads", 1)))
            if not any(self.by_name[name].has(n) for name in asked.scenarios)
        }
        words = ", ".join(map(str, sorted(without)))
        lacks = [f"{words} threads, which were not measured"] if without else []
        if (here := machine.cpus()) < self.vcpus:
            lacks.append(f"{self.vcpus} vCPUs: here a guest has as many as there are CPUs, {here}")
        return "; ".join(lacks)

    def _takes(self, verdict: Verdict) -> str:
        if verdict == Verdict.NOTHING:
            return "the measurement has not run"
        if verdict != Verdict.UNDECIDED:
            return ""
        rounds = max((one.rounds for one in self.by_name.values()), default=0)
        return f"more rounds, or a quieter machine: {rounds} rounds did not decide it"

    def _reason(self) -> str:
        known = {}
        for name, asked in self.numbers.items():
            values = [one.median for one in self._found(asked) if one.median is not None]
            if values:
                known[name] = Told(values[0])
        try:
            return self.why.format_map(known)
        except KeyError:
            return ""

    def _found(self, asked: Check) -> Iterator[Found]:
        for lock in asked.locks:
            series = [one for name in asked.scenarios for one in self._series(asked, lock, name)]
            what = asked.what(lock, lambda point: f"{point.get('threads', '')} threads")
            if asked.take == EACH:
                for at, values in series or [("", [])]:
                    yield _summed(asked, what, at, values)
            else:
                rounds = zip(*(values for _, values in series), strict=False)
                taken = [TAKES[asked.take](list(each)) for each in rounds]
                yield _summed(asked, f"{asked.take} of {what}", "", taken)

    def _series(self, asked: Check, lock: str, name: str) -> list[tuple[str, list[float]]]:
        """By number of threads; one without values, if the measurement has not run."""
        if not self.by_name[name].results:
            return [(name, [])]
        numbers = self._threads(asked, name)
        return [(self._at(name, n, asked), self._values(asked, lock, name, n)) for n in numbers]

    def _at(self, name: str, n: int, asked: Check) -> str:
        several = f"{name}, " if len(asked.scenarios) > 1 else ""
        return f"{several}{n} {self.by_name[name].contexts}{'' if n == 1 else 's'}"

    def _threads(self, asked: Check, name: str) -> list[int]:
        numbers = map(threads_of, listed(asked.at.get("threads", 1)))
        return [n for n in numbers if self.by_name[name].has(n)]

    def _values(self, asked: Check, lock: str, name: str, n: int) -> list[float]:
        """Round by round, those in which both were whole."""
        ours = self.by_name[name].cells(lock, n)
        if not asked.by and not asked.by_at:
            values = [_value_of(asked.measure, cell) for r in ours for _, cell in sorted(r.items())]
            return [value for value in values if value is not None]
        other = asked.by_at.get("scenario", name)
        at = threads_of(asked.by_at.get("threads", n))
        theirs = self.by_name[other].cells(asked.by or lock, at)
        found = []
        for one, two in zip(ours, theirs, strict=False):
            for number in sorted(one.keys() & two.keys()):
                ratio = _ratio(asked.measure, one[number], two[number])
                if ratio is not None:
                    found.append(ratio)
        return found


def _measurements_of(asked: Check) -> list[str]:
    other = asked.by_at.get("scenario")
    return [*asked.scenarios, *([other] if other else [])]


def _knowledge(result: Result | Boot) -> str:
    if slices := result.native.get("slices_by"):
        return f"slices by {slices}"
    sources = result.native.get("knowledge") or {}
    return ", ".join(f"{what} by {source}" for what, source in sources.items() if source)


def threads_of(wanted: Any) -> int:
    """A number, or `2x` the CPUs."""
    if isinstance(wanted, int):
        return wanted
    multiple = MULTIPLE.fullmatch(str(wanted))
    if not multiple:
        raise Fail(f"rows: threads = {wanted!r}: expected a number, or a multiple such as 2x")
    return int(multiple[1]) * machine.cpus()


def _of_holds(of: Callable[[Times], float]) -> Callable[[Cell], float | None]:
    def value(cell: Cell) -> float | None:
        times = Times([cell.hold])
        return of(times) if times.count else None

    return value


def _spread(cell: Cell) -> float | None:
    """As the simulator has it: of the threads' times for the same work, if each went on so."""
    if not cell.per_thread:
        return None
    times = [1 / max(done, 1) for done in cell.per_thread]
    return pstdev(times) / fmean(times)


# Measures that only rows ask for; long_holds is the share of sections above 2^14 cycles.
OWN: dict[str, Callable[[Cell], float | None]] = {
    "long_holds": _of_holds(lambda times: times.share_above(CSD_NS)),
    "hold_mean": _of_holds(lambda times: times.mean),
    "spread": _spread,
}


def _value_of(measure: str, cell: Cell) -> float | None:
    own = OWN.get(measure)
    return own(cell) if own else value_of(measure, cell)


def _ratio(measure: str, ours: Cell, theirs: Cell) -> float | None:
    if measure == "rate":
        return ours.rate_or_bound / theirs.rate_or_bound
    one, two = _value_of(measure, ours), _value_of(measure, theirs)
    if one is None or two is None:
        return None
    return 1.0 if one == two else one / two if two else inf


def _summed(asked: Check, what: str, at: str, values: Sequence[float]) -> Found:
    if not values:
        return Found(what, at, asked.paper)
    finite = [value if isfinite(value) else inf for value in values]
    worst, best = asked.of_rounds(finite)
    ends = median(finite), min(finite), max(finite)
    return Found(what, at, asked.paper, *ends, worst, best, count=len(values))
