#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tables of docs/results/simulator_grid.md: what `overlock sim grid -o` wrote to FILE.

`overlock` came later, and has run in some of the scenarios: OURS.
"""

import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from lock_pages import table
from numpy.typing import NDArray

from overlock_tools.model import defs
from overlock_tools.simulate import grid
from overlock_tools.simulate.grid import Grid, Regret

TOP = Path(__file__).resolve().parent.parent
FILE = TOP / "docs/measured/simulator_grid.json"
OURS = TOP / "docs/measured/simulator_grid_overlock.json"
LOAD, HOST, CONTEXTS = "load", "host", "contexts"
SHOWN = 3  # locks of a class of scenarios
FIRST = 8  # locks beside `overlock`, itself included
HEADINGS = [
    *("lock", "≥ 95 % of the best", "collapsed", "best ÷ it", "in 9 of 10 ≤"),
    *("worst", "Jain", "longest wait, 9 of 10 ≤"),
]


@cache
def known() -> Grid:
    return grid.read(FILE)


def times(value: float) -> str:
    return "∞" if np.isinf(value) else f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"


def _cells(one: Regret) -> list[str]:
    return [
        f"[`{one.lock}`](locks/{one.lock}.md)",
        f"{one.like_best:.0%}",
        f"{one.collapsed:.0%}",
        times(one.median),
        times(one.most_of_ten),
        f"{times(one.worst)} ({', '.join(one.where)})",
        f"{one.jain:.2f}",
        f"{one.longest_us / 1000:.3g} ms",
    ]


def regrets() -> str:
    return table(HEADINGS, [_cells(one) for one in grid.regrets(known())])


def _part(wanted: dict[str, str]) -> Grid:
    """The scenarios whose places on some axes begin with these words."""
    whole = known()
    names = list(whole.axes)
    rows = [
        row
        for row, scenario in enumerate(whole.scenarios)
        if all(scenario[names.index(axis)].startswith(word) for axis, word in wanted.items())
    ]
    axes = {"scenario": [" ".join(whole.scenarios[row]) for row in rows]}
    rate, jain, longest = (of[rows] for of in (whole.rate, whole.jain, whole.longest_us))
    return replace(whole, axes=axes, rate=rate, jain=jain, longest_us=longest, validated={})


def _first(wanted: dict[str, str]) -> str:
    best = grid.regrets(_part(wanted))[:SHOWN]
    return ", ".join(f"`{one.lock}` {times(one.most_of_ten)}" for one in best)


def classes() -> str:
    """Least regret, and what `ticket` has, by load and contexts."""
    axes = known().axes
    rows = []
    for load in axes[LOAD]:
        for contexts in axes[CONTEXTS]:
            place = {LOAD: load, CONTEXTS: contexts}
            ticket = next(one for one in grid.regrets(_part(place)) if one.lock == "ticket")
            of = [_first(place | {HOST: kind}) for kind in ("threads", "vCPUs")]
            rows.append([load, contexts, *of, times(ticket.most_of_ten)])
    return table(["load", "contexts per CPU", "threads", "virtual CPUs", "`ticket`, both"], rows)


def together(whole: Grid, other: Grid) -> Grid:
    """The locks of both, in the scenarios of `other`, which may be fewer."""
    row = {scenario: number for number, scenario in enumerate(whole.scenarios)}
    if unknown := [scenario for scenario in other.scenarios if scenario not in row]:
        sys.exit(
            f"the grid has no scenario {', '.join(unknown[0])}; simulate scenarios that it has"
        )
    rows = [row[scenario] for scenario in other.scenarios]
    rate, jain, longest_us = (of[rows] for of in (whole.rate, whole.jain, whole.longest_us))
    one = replace(other, locks=whole.locks, rate=rate, jain=jain, longest_us=longest_us)
    for lock in set(one.locks) & set(other.locks):
        ours, theirs = (g.rate[:, g.locks.index(lock)] for g in (one, other))
        if not np.array_equal(ours, theirs, equal_nan=True):
            sys.exit(f"{lock} has other rates in the two grids; simulate all locks again")
    locks = [lock for lock in defs.load().locks if lock in {*one.locks, *other.locks}]
    found = [(one if lock in one.locks else other, lock) for lock in locks]

    def columns(name: str) -> NDArray[np.float64]:
        return np.column_stack([getattr(g, name)[:, g.locks.index(lock)] for g, lock in found])

    return replace(
        other,
        locks=locks,
        rate=columns("rate"),
        jain=columns("jain"),
        longest_us=columns("longest_us"),
    )


def ours() -> str:
    """`overlock` beside the locks with the least regret, where it was simulated."""
    found = grid.regrets(together(known(), grid.read(OURS)))
    return table(HEADINGS, [_cells(one) for one in found[:FIRST]])
