# SPDX-License-Identifier: MIT
"""Results for other programs, as CSV: a line for each cell, or for each lock at each number of
threads. Every line says of what workload, in which scenario: files can be joined.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from overlock_tools.core.model.measures import MEASURES, Measure, value_of
from overlock_tools.core.model.results import Result

PLACE = ("workload", "parameters", "scenario", "cpus", "lock", "peer", "threads")
CELL = ("round", "work", "seconds", "cut", "collapsed", "wrong")
SUMMARY = ("rounds", "collapsed", "least", "most", "baseline", "ratio", "ratio_low", "ratio_high")


def cells(results: Sequence[Result]) -> str:
    return _csv((*PLACE, *CELL), (row for result in results for row in _cells(result)))


def summary(results: Sequence[Result]) -> str:
    """Medians or, where a measure is of all rounds together, what it is over all of them."""
    return _csv((*PLACE, *SUMMARY), (row for result in results for row in _summary(result)))


def _csv(facts: Sequence[str], rows: Iterable[list[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*facts, *map(_heading, MEASURES)])
    writer.writerows(rows)
    return out.getvalue()


def _heading(measure: Measure) -> str:
    units = {"": "", "/s": "_per_second", "s/M": "_s_per_million"}
    return measure.name + units.get(measure.unit, f"_{measure.unit}")


def _cells(result: Result) -> Iterator[list[Any]]:
    for cell in result.cells:
        given_up = result.given_up(cell.variant, cell.threads) is not None
        facts = [cell.round, cell.work, cell.seconds, cell.cut, given_up, cell.wrong]
        values = [value_of(measure.name, cell) for measure in MEASURES]
        yield [*_place(result, cell.variant, cell.threads), *facts, *values]


def _summary(result: Result) -> Iterator[list[Any]]:
    for row in result.summary():
        ratio = row["ratio"] or {}
        interval = [ratio.get(key) for key in ("value", "low", "high")]
        facts = [row[key] for key in ("rounds", "collapsed", "least", "most")]
        values = [row["measures"].get(measure.name) for measure in MEASURES]
        place = _place(result, row["variant"], row["threads"])
        yield [*place, *facts, result.baseline, *interval, *values]


def _place(result: Result, variant: str, threads: int) -> list[Any]:
    scenario = _words(result.scenario.get("settings") or {})
    facts = [result.kind, _words(result.parameters), scenario, result.cpus]
    return [*facts, variant, variant in result.peers, threads]


def _words(settings: dict[str, Any]) -> str:
    """As `cs=70 ncs=330`."""
    return " ".join(f"{name}={value}" for name, value in settings.items())
