#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tables of docs/results/simulator_grid.md: what `overlock sim grid -o` wrote to FILE."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from lock_pages import table
from overlock_tools.sim import grid
from overlock_tools.sim.grid import Grid, Regret

TOP = Path(__file__).resolve().parent.parent
FILE = TOP / "docs/measured/simulator_grid.json"
LOAD, HOST, CONTEXTS = "load", "host", "contexts"
SHOWN = 3  # locks of a class of scenarios
FAR = 1.2  # times as fast
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


def against_others() -> str:
    """`rota` beside the best other lock of each scenario, by load."""
    whole = known()
    ours = whole.locks.index("rota")
    ratio = whole.rate[:, ours] / np.delete(whole.rate, ours, axis=1).max(axis=1)
    loads = [scenario[list(whole.axes).index(LOAD)] for scenario in whole.scenarios]
    rows = []
    for load in (*whole.axes[LOAD], "all"):
        those = ratio[[load in (one, "all") for one in loads]]
        mean = np.exp(np.log(those).mean())
        behind = f"{(those < 1 / FAR).sum()} of {len(those):,}"
        rows.append([load, f"{mean:.2f}", behind, times(1 / those.min())])
    headings = ["load", "mean ÷ the best other", f"another > {FAR} times as fast", "at most"]
    return table(headings, rows)
