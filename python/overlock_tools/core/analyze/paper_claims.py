# SPDX-License-Identifier: MIT
"""Whether a result here shows what the papers' figures say, sentence by sentence.

paper_claims.toml has the sentences. The papers' threads had a CPU each unless said otherwise: what
needs more CPUs than there are here is said to need them, rather than tested with threads that take
turns.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any

from overlock_tools.core.analyze.derived import View
from overlock_tools.core.analyze.wording import surely
from overlock_tools.core.model import stats
from overlock_tools.core.model.measures import value_of
from overlock_tools.core.model.quantities import count
from overlock_tools.core.model.results import GUEST, Result, named
from overlock_tools.core.model.stats import Ratio

CSD_NS = (
    6000.0  # Teabe et al. 2017: 2^14 cycles of its machines, the most that a critical section takes
)
MEAN_CSD_NS = 1500.0  # Teabe et al. 2017: 2^12, the average
# The papers repeat five times: the range of five rounds is an interval at 93.75 %, and no more.
CONFIDENCE = 0.9

Range = tuple[float, float]
MORE: Range = (1.0, float("inf"))
LESS: Range = (0.0, 1.0)
ALIKE: Range = (0.9, 1 / 0.9)  # "comparable": within a tenth
RANGES = {"more": MORE, "less": LESS, "alike": ALIKE}

# How many copies of the program a statement is about.
ALONE, SEVERAL, ANY_NUMBER = "alone", "several", "any number"
# Which numbers of threads: those that have a CPU each, or all; or a list of the paper's own.
FITTING, ALL = "fitting", "all"

MEASURES = {
    "rate": "",
    "one_copy": ", one copy at random",
    "run_time": ", run time",
    "run_time_sd": ", σ of run times",
}


class Verdict(StrEnum):
    SEEN = "seen here"
    NOT_SEEN = "not seen here"
    OPEN = "undecided"
    NOT_MEASURED = "not measured here"


@dataclass(frozen=True)
class Finding:
    verdict: Verdict
    reason: str


@dataclass(frozen=True)
class Claim:
    paper: str
    figure: str
    sentence: str
    verdict: str  # Verdict's words, or "needs N CPUs"
    reason: str


@dataclass(frozen=True)
class RunTime:
    """What PAIRS_OF_LONG lock-unlock pairs take each thread."""

    threads: int
    mean_ms: float
    sd_ms: float


@dataclass(frozen=True)
class Statement:
    """A sentence of paper_claims.toml, whose head says what its keys mean."""

    paper: str
    figure: str
    sentence: str
    workloads: Sequence[str]
    check: str
    expect: Range
    threads: str | Sequence[int] = FITTING
    least: int = 1
    most: int = 10**6
    cpus: int = 2
    copies: str = ALONE
    arguments: Mapping[str, Any] = field(default_factory=dict)  # of the check

    def about(self, result: Result) -> bool:
        here = SEVERAL if copies(result) > 1 else ALONE
        known = result.kind in self.workloads or (GUEST in self.workloads and result.in_guests)
        return known and self.copies in (here, ANY_NUMBER)

    def numbers(self, result: Result) -> list[int]:
        if self.threads == FITTING:
            return fitting(result, self.least, self.most)
        known = result.threads if self.threads == ALL else self.threads
        return [n for n in result.threads if n in known and n >= self.least]

    def claim(self, result: Result) -> Claim:
        if result.cpus < self.cpus:
            verdict = f"needs {self.cpus} CPUs"
            reason = f"the result has {result.cpus} CPUs, which the threads must share"
        else:
            check = CHECKS[self.check]
            found = check(result, self, **self.arguments)
            verdict, reason = found.verdict.value, found.reason
        return Claim(self.paper, self.figure, self.sentence, verdict, reason)


def _statement(raw: dict[str, Any], groups: Mapping[str, Sequence[str]]) -> Statement:
    expect = raw.pop("expect")
    workloads = [kind for name in raw.pop("workloads") for kind in groups.get(name, [name])]
    own = {f.name: raw.pop(f.name) for f in fields(Statement) if f.name in raw}
    return Statement(
        **own,
        workloads=workloads,
        expect=RANGES[expect] if isinstance(expect, str) else tuple(expect),
        arguments=raw,
    )


_TEXT = (resources.files("overlock_tools.core.analyze") / "paper_claims.toml").read_text()
_SAID = tomllib.loads(_TEXT)
PAIRS_OF_LONG: int = _SAID["pairs_of_long"]
BYTE_OF_LONG = tuple(RunTime(**row) for row in _SAID["byte_of_long"])


@cache
def statements() -> list[Statement]:
    return [_statement(dict(raw), _SAID["groups"]) for raw in _SAID["statement"]]


def claims(result: Result) -> list[Claim]:
    """What the papers say of this workload in this scenario, each with whether it is so here."""
    result = named(result)
    return [statement.claim(result) for statement in statements() if statement.about(result)]


def copies(result: Result) -> int:
    """Programs that ran at once."""
    return max((len(cell.copies) for cell in result.cells), default=1)


def byte_run_times(result: Result) -> list[RunTime]:
    """For a table beside BYTE_OF_LONG: of all rounds together, for as many pairs as the paper's."""
    scale = 1000 * PAIRS_OF_LONG / (result.settings.get("turns") or PAIRS_OF_LONG)
    found = []
    for n in result.threads:
        mean, sd = (result.value(name, "byte", n) for name in ("run_time", "run_time_sd"))
        if mean is not None and sd is not None:
            found.append(RunTime(n, mean * scale, sd * scale))
    return found


# What can be asked of a result


def compared(
    result: Result, one: tuple[str, int], other: tuple[str, int], measure: str = "rate"
) -> Ratio | None:
    return View(result).between(measure, one, other, CONFIDENCE)


def fitting(result: Result, least: int, most: int) -> list[int]:
    """Numbers of threads that have a CPU each, between bounds."""
    return [n for n in result.threads if least <= n <= min(most, result.cpus)]


def within(ratio: Ratio, expected: Range) -> Verdict:
    """Whether the whole interval is where it should be, or nothing of it is."""
    is_there = ratio.within(*expected)
    return {True: Verdict.SEEN, False: Verdict.NOT_SEEN, None: Verdict.OPEN}[is_there]


def everywhere(found: Sequence[tuple[Verdict, str]], missing: str) -> Finding:
    """Seen if all are, not seen if one is not."""
    verdicts = {verdict for verdict, _ in found}
    if not found:
        return Finding(Verdict.NOT_MEASURED, missing)
    reason = "; ".join(reason for _, reason in found)
    for verdict in (Verdict.NOT_SEEN, Verdict.OPEN):
        if verdict in verdicts:
            return Finding(verdict, reason)
    return Finding(Verdict.SEEN, reason)


def _ratios(found: Sequence[tuple[str, Ratio | None]], expect: Range, missing: str) -> Finding:
    """Each ratio that is known, with what it is of."""
    known = [(within(ratio, expect), f"{of}: {surely(ratio)}") for of, ratio in found if ratio]
    return everywhere(known, missing)


def _beside(
    result: Result,
    said: Statement,
    ours: str,
    theirs: Sequence[str],
    measures: Sequence[str] = ("rate",),
) -> Finding:
    """One lock's measures by those of each of the others."""
    found = []
    for other in theirs:
        ratios = [
            (f"{ours} ÷ {other} with {count(n)}{MEASURES[measure]}", ratio)
            for n in said.numbers(result)
            for measure in measures
            if (ratio := compared(result, (ours, n), (other, n), measure))
        ]
        if not ratios:
            return Finding(Verdict.NOT_MEASURED, f"needs {ours} and {other}")
        found += ratios
    return _ratios(found, said.expect, "")


def _by_one_thread(result: Result, said: Statement, locks: Sequence[str] = ()) -> Finding:
    """Each lock's rate with several threads by its own with one."""
    variants = [v for v in result.variants if v in locks] or result.variants[:1]
    found = [
        (f"{v} with {count(n)} ÷ one", compared(result, (v, n), (v, 1)))
        for v in variants
        for n in said.numbers(result)
    ]
    return _ratios(found, said.expect, "needs one thread and several threads, one per CPU at most")


def _beyond(result: Result, said: Statement, lock: str, few: int) -> Finding:
    """A lock's rate with the most threads by that with a few at most."""
    numbers = said.numbers(result)
    some, many = [n for n in numbers if n <= few], [n for n in numbers if n > few]
    needed = f"needs {lock} with 2 to {few} threads and with more"
    if not some or not many:
        return Finding(Verdict.NOT_MEASURED, needed)
    least, most = max(some), max(many)
    ratio = compared(result, (lock, most), (lock, least))
    return _ratios([(f"{lock} with {count(most)} ÷ {least}", ratio)], said.expect, needed)


def _doubled(result: Result, said: Statement, lock: str) -> Finding:
    """A lock's run time by that with half as many threads."""
    found = [
        (
            f"{lock}'s run time with {count(2 * n)} ÷ {n}",
            compared(result, (lock, 2 * n), (lock, n), "run_time"),
        )
        for n in said.numbers(result)
        if 2 * n in said.numbers(result)
    ]
    return _ratios(
        found, said.expect, f"needs {lock}, fixed work, and two numbers of threads, N and 2N"
    )


def _spread_of(variant: str, result: Result, n: int) -> Ratio | None:
    """Standard deviation of the threads' run times by their mean."""
    cells = result.of(variant, n)
    pairs = [(value_of("run_time_sd", c), value_of("run_time", c)) for c in cells]
    known = [(sd, mean) for sd, mean in pairs if sd is not None and mean]
    sds, means = [sd for sd, _ in known], [mean for _, mean in known]
    return stats.ratio(sds, means, CONFIDENCE) if known else None


def _spread(result: Result, said: Statement, locks: Sequence[str]) -> Finding:
    """Of the first of the locks that was measured."""
    lock = next((lock for lock in locks if lock in result.variants), locks[-1])
    found = [
        (f"{lock}'s σ ÷ mean with {count(n)}", _spread_of(lock, result, n))
        for n in said.numbers(result)
    ]
    first, *bases = locks
    base = f" (or {bases[0]}, its base)" if bases else ""
    return _ratios(found, said.expect, f"needs {first}{base} and fixed work")


def _longest_queue(result: Result, said: Statement, lock: str) -> Finding:
    """By the number of threads that can wait."""
    found = []
    for n in said.numbers(result):
        longest = [v for c in result.of(lock, n) if (v := value_of("queue_max", c)) is not None]
        if longest:
            seen = max(longest) >= said.expect[0] * (n - 1)
            words = f"with {count(n)}, {lock}'s longest queue was {max(longest):g}"
            found.append((Verdict.SEEN if seen else Verdict.NOT_SEEN, words))
    return everywhere(found, f"needs {lock} with a sampled queue")


CHECKS: Mapping[str, Callable[..., Finding]] = {
    "beside": _beside,
    "by one thread": _by_one_thread,
    "beyond": _beyond,
    "doubled": _doubled,
    "spread": _spread,
    "longest queue": _longest_queue,
}
