# SPDX-License-Identifier: MIT
"""Rates that were measured on some machine: a result of `overlock sim validate`, or a table.

A result has everything: each round's rate, the machine with what its operations cost, and its
scheduler. A table is a CSV file of a line for each lock, with the median rate (acquisitions per
second) at each number of threads; its first line names the columns: `lock,1,2,4`.
"""

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NotRequired, TypedDict, TypeVar

from overlock_tools.core.model import defs
from overlock_tools.core.system import files, reading
from overlock_tools.core.system.errors import Fail
from overlock_tools.core.system.text import printable
from overlock_tools.sim import machines
from overlock_tools.sim.machines import Machine
from overlock_tools.sim.native_points import Plan, Point, Series

T = TypeVar("T")
FORMAT = "overlock-validation"
TABLE = "table"  # the series that a table is, if the plan has none with its sections
CS_NS, NCS_NS = 70.0, 330.0  # its sections, if nothing is said
Rates = dict[str, list[float]]  # of each round or seed, by the point's name


class PointKept(TypedDict):
    point: str
    native: list[float]


class Kept(TypedDict):
    """What is read of a result. It has other keys, too."""

    format: str
    machine: dict[str, Any]
    simulated: Machine
    scheduler: str
    measured: dict[str, Any]
    points: list[PointKept]
    series: NotRequired[list[Series]]
    command: NotRequired[str]


@dataclass(frozen=True)
class Native:
    """What was measured, and on which machine."""

    rates: Rates
    series: Sequence[Series]
    facts: dict[str, Any]
    how: dict[str, Any]  # rounds and seconds, and the date
    machine: Machine | None = None  # None: nothing is known of what operations cost there


def read(path: Path, asked: Plan, sections: tuple[float, float] = (CS_NS, NCS_NS)) -> Native:
    if path.suffix == ".csv":
        return _table(path, asked, sections)
    try:
        kept: Kept = reading.checked(Kept, reading.parsed(files.read_text(path)), "the file")
        if kept["format"] != FORMAT:
            raise ValueError(f"its format is {kept['format']}")
    except ValueError as error:
        raise Fail(
            f"{path} is not a result of overlock sim validate ({error}); create one with "
            "`overlock sim validate -o FILE`"
        ) from error
    like = kept["simulated"]
    return Native(
        {one["point"]: one["native"] for one in kept["points"]},
        kept.get("series", asked.series),
        kept["machine"],
        kept["measured"],
        replace(like, costs=machines.of_today(like.costs)),
    )


def _table(path: Path, asked: Plan, sections: tuple[float, float]) -> Native:
    """Of each median, what may have been: rates are known within `judged.known` of it."""
    lines = [line for line in files.read_text(path).splitlines() if not line.startswith("#")]
    try:
        threads, rows = _cells(list(csv.reader(lines)))
    except ValueError as error:
        raise Fail(
            f"{path} is not a table of rates ({error}); expected a line `lock,1,2,4` and "
            "a line for each lock: its rates with so many threads, a second"
        ) from error
    series = Series(_name(asked, sections), list(rows), threads, *sections)
    known = asked.judged.known
    rates = {
        Point(series, lock, n).name: [rate / known, rate, rate * known]
        for lock, each in rows.items()
        for n, rate in zip(threads, each, strict=True)
    }
    return Native(rates, [series], {"table": path.name}, {"rounds": 1})


def _name(asked: Plan, sections: tuple[float, float]) -> str:
    """The plan's, for the name of a point decides whether it is held out."""
    plain = (s for s in asked.series if not s.quota_cpus and s.copies == s.lock_count == 1)
    return next((s.name for s in plain if (s.cs_ns, s.ncs_ns) == sections), TABLE)


def _cells(rows: Sequence[Sequence[str]]) -> tuple[list[int], dict[str, list[float]]]:
    if not rows or len(rows[0]) < 2:
        raise ValueError("it has no columns")
    threads = [_number(int, word, "number of threads") for word in rows[0][1:]]
    if threads != sorted(set(threads)) or threads[0] < 1:
        raise ValueError("its numbers of threads do not ascend")
    found: dict[str, list[float]] = {}
    for lock, *cells in filter(None, rows[1:]):
        if lock not in defs.load().locks:
            raise ValueError(f"there is no lock {printable(lock)[:40]}")
        if len(cells) != len(threads):
            raise ValueError(f"{lock} has {len(cells)} rates for {len(threads)} columns")
        found[lock] = [_number(float, cell, "rate") for cell in cells]
        if not all(0 <= rate < float("inf") for rate in found[lock]):
            raise ValueError(f"a rate of {lock} is no number to count with")
    return threads, found


def _number(kind: Callable[[str], T], word: str, what: str) -> T:
    try:
        return kind(word)
    except ValueError:
        raise ValueError(f"{printable(word)[:40]} is not a {what}") from None
