# SPDX-License-Identifier: MIT
"""The figures of a result: what each draws, how to read it, and its verdict in words."""

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.figure import Figure

from overlock_tools import plots, verdict
from overlock_tools.plots import Frame
from overlock_tools.results import PROGRAM
from overlock_tools.view import View


@dataclass(frozen=True)
class Kind:
    name: str  # of its files
    title: str
    measure: str  # without which there is nothing to draw
    draw: Callable[[View, Frame | None], Figure]
    verdict: Callable[[View], list[str]]
    how: str  # to read it
    over_threads: bool = False

    def shown(self, view: View) -> bool:
        result = view.result
        if result.kind == PROGRAM and self.name not in ("rate", "ratio"):
            return False
        if self.name == "ratio":
            return any(view.ratio(v, result.baseline, view.judged) for v in view.variants[1:])
        if self.over_threads and len(view.threads) < 2:
            return False
        return any(view.value(self.measure, v, view.at) for v in view.variants)

    def title_of(self, view: View) -> str:
        where = "" if self.over_threads or self.name == "ratio" else f", {view.at} threads"
        return f"{self.title}{where}"

    def said(self, view: View) -> list[str]:
        return [*verdict.few_rounds(view), *self.verdict(view)]

    def frame(self, view: View) -> Frame:
        """For a figure that stands alone."""
        return Frame(
            f"{view.name}: {self.title_of(view)}", [*self.said(view), f"{self.how} {key(view)}"]
        )


FIGURES = (
    Kind(
        "rate",
        "rate",
        "rate",
        plots.rates,
        verdict.about_rates,
        "Median of the rounds; bars from least to most. Both axes are logarithmic; the dotted "
        "line is where threads are as many as CPUs.",
        over_threads=True,
    ),
    Kind(
        "ratio",
        "times the baseline",
        "rate",
        plots.ratios,
        verdict.about_ratios,
        "Geometric mean over the numbers of threads that do not fit the CPUs, 95 % interval by "
        "the bootstrap over rounds.",
    ),
    Kind(
        "latency",
        "waiting to acquire",
        "p50",
        plots.latency,
        verdict.about_latency,
        "All rounds together, sampled at random turns; the bar is from the median to the longest "
        "that was sampled. The longest gap between two turns of one thread is of all turns.",
    ),
    Kind(
        "gap",
        "longest gap",
        "gap",
        plots.gaps,
        verdict.about_gap,
        "The longest time in which a thread had no turn, less the work of one turn, in any round.",
        over_threads=True,
    ),
    Kind(
        "fairness",
        "fairness",
        "jain",
        plots.fairness,
        verdict.about_fairness,
        "Jain's index of the threads' turns: 1 if all had as many, 1/n if one had all.",
    ),
    Kind(
        "cost",
        "CPU time",
        "cpu",
        plots.cost,
        verdict.about_cost,
        "CPU time burnt per unit of work, and the share of it that was not the turns' own work: "
        "waiting, and the lock's own instructions.",
    ),
    Kind(
        "handover",
        "hand-over",
        "handover",
        plots.handover,
        verdict.about_handover,
        "From a release until the next waiter has the lock.",
    ),
    Kind(
        "queue",
        "queue",
        "queue",
        plots.queue,
        verdict.about_queue,
        "How many others wait, as seen by one that begins to wait.",
    ),
    Kind(
        "run-time",
        "run times",
        "run_time",
        plots.run_times,
        verdict.about_run_times,
        "Each thread does a fixed number of turns; mean of their times, bars ± standard deviation.",
    ),
)


def of(view: View) -> list[Kind]:
    return [kind for kind in FIGURES if kind.shown(view)]


def key(view: View) -> str:
    """What the colours and marks mean, in words."""
    drawn = plots.styles(view)
    named = {s.role: v for v, s in drawn.items() if s.bold and s.role}
    words = [f"{role}: {variant}" for role, variant in named.items()]
    if any(style.role == "collapsed" for style in drawn.values()):
        words.append("red-brown: collapsed")
    if any(style.dashed for style in drawn.values()):
        words.append("dashed: peers")
    if view.collapsed:
        words.append(f"{plots.COLLAPSED_SIGN} less than a tenth of the best rate")
    if any(view.bound(v, n) for v in view.variants for n in view.threads):
        words.append("hollow: cut, given up after one observation, or nothing done")
    said = "; ".join(words)
    return said[:1].upper() + said[1:] + "." if said else ""
