# SPDX-License-Identifier: MIT
"""Is a lock a regression for a program? Rao & Dunlap's comparison, ours, and which to take."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from rich.console import Console
from rich.table import Table

from overlock_tools.apps.executor import NATIVE
from overlock_tools.core.analyze import best_peer, ministat
from overlock_tools.core.analyze.ministat import Difference
from overlock_tools.core.model import results, stats
from overlock_tools.core.model.quantities import ratio_text
from overlock_tools.core.model.results import PROGRAM, Result
from overlock_tools.core.model.stats import Ratio
from overlock_tools.core.system import files
from overlock_tools.core.system.errors import FAILED, Fail

ROUNDS_OF_RAO = 10


class Verdict(StrEnum):
    REGRESSION = "regression"
    FASTER = "faster"
    NONE = "no difference"
    OPEN = "not decided"
    FEW = "too few rounds"
    COLLAPSED = "collapsed"


@dataclass(frozen=True)
class Line:
    """One lock beside the program as it is, at one number of threads."""

    program: str
    threads: int
    variant: str
    rounds: int
    ratio: Ratio | None
    students_t: Difference | None  # of the rates, as ministat has it
    verdict: Verdict

    @property
    def ministat(self) -> str:
        if not self.students_t:
            return ""
        if not self.students_t.proven:
            return "not significant"
        return f"{self.students_t.relative:+.1f} % ± {self.students_t.relative_error:.1f}"


def verdict(ratio: Ratio, margin: float) -> Verdict:
    """No difference is claimed only where the whole interval says so."""
    if ratio.low is None or ratio.high is None:
        return Verdict.FEW
    if ratio.low >= 1 - margin and ratio.high <= 1 + margin:
        return Verdict.NONE
    if ratio.below_one:
        return Verdict.REGRESSION
    return Verdict.FASTER if ratio.above_one else Verdict.OPEN


def read(paths: Sequence[Path]) -> list[Result]:
    """Of files, and of folders all that are of programs."""
    found = []
    for path in paths:
        inside = sorted(path.glob("*.json")) if path.is_dir() else [path]
        found += [results.from_file(file) for file in inside]
    programs = [r for r in found if r.kind.startswith(f"{PROGRAM}-") and r.cells]
    if not programs:
        raise Fail("no results of programs found; create them with `overlock apps run`")
    for result in programs:
        if result.settings.get("counters"):
            raise Fail(
                f"{_name(result)} was measured with --counters; measure it without to compare"
            )
        if NATIVE not in result.variants:
            raise Fail(
                f"{_name(result)} has no native measurement; measure it with `overlock apps run`"
            )
    return programs


def _name(result: Result) -> str:
    return result.kind.removeprefix(f"{PROGRAM}-")


def lines(result: Result, margin: float) -> Iterator[Line]:
    for threads in result.threads:
        for variant in result.variants:
            if variant != NATIVE and result.of(variant, threads):
                yield _line(result, variant, threads, margin)


def _line(result: Result, variant: str, threads: int, margin: float) -> Line:
    ours, native = result.rates(variant, threads), result.rates(NATIVE, threads)
    ratio = result.ratio(variant, NATIVE, [threads])
    if result.given_up(variant, threads) or result.cut(variant, threads):
        found, students_t = Verdict.COLLAPSED, None
    else:
        found = verdict(ratio, margin) if ratio else Verdict.FEW
        enough = min(len(ours), len(native)) >= ministat.LEAST_VALUES
        students_t = ministat.difference(native, ours) if enough else None
    return Line(_name(result), threads, variant, len(ours), ratio, students_t, found)


WORST_FIRST = (
    Verdict.COLLAPSED,
    Verdict.REGRESSION,
    Verdict.FEW,
    Verdict.OPEN,
    Verdict.NONE,
    Verdict.FASTER,
)


def show_comparison(
    paths: Sequence[Path], margin: float, fails: bool, file: Path | None, out: Console
) -> int:
    found = [line for result in read(paths) for line in lines(result, margin)]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("program", "threads", "lock", "÷ native", "95 %", "ministat", ""):
        right = heading in ("threads", "÷ native", "95 %", "ministat")
        table.add_column(heading, no_wrap=True, justify="right" if right else "left")
    for line in found:
        ratio = ratio_text(line.ratio)
        words = str(line.verdict)
        table.add_row(line.program, str(line.threads), line.variant, *ratio, line.ministat, words)
    out.print(table, "")
    for text in sentences(found, margin):
        out.print(text, soft_wrap=True, highlight=False)
    if file:
        body = {
            "format": "overlock-apps-comparison",
            "version": 1,
            "margin": margin,
            "lines": [asdict(line) for line in found],
        }
        files.write(file, json.dumps(body, indent=1) + "\n")
    worse = any(line.verdict in (Verdict.REGRESSION, Verdict.COLLAPSED) for line in found)
    return FAILED if fails and worse else 0


def sentences(found: Sequence[Line], margin: float) -> Iterator[str]:
    """For each program, which locks are what at the worst of the numbers of threads."""
    for program in dict.fromkeys(line.program for line in found):
        worst: dict[str, Verdict] = {}
        for line in (line for line in found if line.program == program):
            both = (worst.get(line.variant, line.verdict), line.verdict)
            worst[line.variant] = min(both, key=WORST_FIRST.index)
        told = [
            f"{word}{f' (within {margin:.0%})' if word is Verdict.NONE else ''}: {', '.join(named)}"
            for word in WORST_FIRST
            if (named := [variant for variant, found in worst.items() if found is word])
        ]
        yield f"{program}: {'; '.join(told)}."
    repeated = [line.rounds for line in found if line.verdict is not Verdict.COLLAPSED]
    if (fewest := min(repeated, default=ROUNDS_OF_RAO)) < ROUNDS_OF_RAO:
        yield f"Rao & Dunlap 2012 ran {ROUNDS_OF_RAO} rounds; some comparisons here have {fewest}."


# Advice


@dataclass(frozen=True)
class Advice:
    program: str
    lock: str  # NATIVE: keep glibc's
    words: str


def advise(result: Result) -> Advice:
    """Half of the rounds choose a lock, the others judge it; where nothing is proven, keep glibc's.

    A lock is advised over all numbers of threads that were measured, and only if it is slower at
    none of them.
    """
    program = _name(result)
    judged = best_peer.judge(result, peers=[NATIVE])
    if not judged:
        return Advice(program, NATIVE, "keep glibc's: no lock was measured in full beside it")
    overall = judged[-1]
    if overall.verdict is best_peer.Verdict.FEW:
        needed = stats.rounds_needed()
        return Advice(program, NATIVE, f"keep glibc's: too few rounds to tell, {needed} are needed")
    said = f"{overall.ours} is {_judged(overall.bound)}"
    if overall.verdict is not best_peer.Verdict.BETTER:
        return Advice(program, NATIVE, f"keep glibc's: the best of the others, {said}")
    for threads in result.threads:
        ratio = result.ratio(overall.ours, NATIVE, [threads])
        if ratio and ratio.below_one:
            slower = f"but at {threads} threads {_judged(ratio)}"
            return Advice(program, NATIVE, f"keep glibc's: {said} over all, {slower}")
    return Advice(program, overall.ours, f"take {overall.ours}: {_judged(overall.bound)}")


def _judged(ratio: Ratio) -> str:
    value, interval = ratio_text(ratio)
    return f"{value} glibc's, {interval} at {100 * stats.CONFIDENCE:g} %" if interval else value


def show_advice(paths: Sequence[Path], file: Path | None, out: Console) -> int:
    found = [advise(result) for result in read(paths)]
    for advice in found:
        out.print(f"{advice.program}: {advice.words}", soft_wrap=True, highlight=False)
    if file:
        body = {
            "format": "overlock-apps-advice",
            "version": 1,
            "advice": [asdict(advice) for advice in found],
        }
        files.write(file, json.dumps(body, indent=1) + "\n")
    return 0
