# SPDX-License-Identifier: MIT
"""The figures of a result: what each draws, how to read it, and its verdict in words."""

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.figure import Figure

from overlock_tools.core.analyze import qualities, verdict
from overlock_tools.core.analyze.derived import View
from overlock_tools.core.model.results import PROGRAM
from overlock_tools.core.render import canvas, plots
from overlock_tools.core.render.canvas import Frame


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
        "Median of the rounds; bars show the range. Both axes are logarithmic. The dotted line "
        "marks one thread per CPU.",
        over_threads=True,
    ),
    Kind(
        "ratio",
        "rate relative to the baseline",
        "rate",
        plots.ratios,
        verdict.about_ratios,
        "Geometric mean over the numbers of threads above the number of CPUs, with a 95 % "
        "bootstrap interval over rounds.",
    ),
    Kind(
        "latency",
        "waiting to acquire",
        "p50",
        plots.latency,
        qualities.about_latency,
        "All rounds together, from randomly sampled acquisitions. The bar extends from the median "
        "to the longest sampled wait. The longest gap is over all acquisitions.",
    ),
    Kind(
        "gap",
        "longest gap",
        "gap",
        plots.gaps,
        qualities.about_gap,
        "The longest time between two acquisitions of one thread in any round, minus the work of "
        "one iteration.",
        over_threads=True,
    ),
    Kind(
        "fairness",
        "fairness",
        "jain",
        plots.fairness,
        qualities.about_fairness,
        "Jain's index of the threads' acquisitions: 1 if all have equally many, 1/n if one thread "
        "has all.",
    ),
    Kind(
        "cost",
        "CPU time",
        "cpu",
        plots.cost,
        qualities.about_cost,
        "CPU time per unit of work, and the share of it outside the workload's own work: busy "
        "waiting, and the lock's own instructions.",
    ),
    Kind(
        "handover",
        "hand-over",
        "handover",
        plots.handover,
        qualities.about_handover,
        "Time from a release until the next waiter acquires the lock.",
    ),
    Kind(
        "queue",
        "queue",
        "queue",
        plots.queue,
        qualities.about_queue,
        "Number of other waiters when a thread begins to wait.",
    ),
    Kind(
        "run-time",
        "run times",
        "run_time",
        plots.run_times,
        qualities.about_run_times,
        "Run time of a thread for a fixed number of iterations: mean, bars ± standard deviation.",
    ),
)


def of(view: View) -> list[Kind]:
    return [kind for kind in FIGURES if kind.shown(view)]


def key(view: View) -> str:
    """What the colours and marks mean, in words."""
    drawn = canvas.styles(view)
    named = {s.role: v for v, s in drawn.items() if s.bold and s.role}
    words = [f"{role}: {variant}" for role, variant in named.items()]
    if any(style.role == "collapsed" for style in drawn.values()):
        words.append("red-brown: collapsed")
    if any(style.dashed for style in drawn.values()):
        words.append("dashed: peers")
    if view.collapsed:
        words.append(f"{canvas.COLLAPSED_SIGN} less than a tenth of the best rate")
    if any(view.bound(v, n) for v in view.variants for n in view.threads):
        words.append("hollow: cut, measured in one round only, or no work done")
    said = "; ".join(words)
    return said[:1].upper() + said[1:] + "." if said else ""
