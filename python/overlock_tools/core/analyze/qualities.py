# SPDX-License-Identifier: MIT
"""What a result says beside rates: waiting, gaps, fairness, cost, hand-over, run times."""

from collections.abc import Callable
from dataclasses import dataclass

from overlock_tools.core.analyze.derived import Spread, View
from overlock_tools.core.analyze.wording import (
    TOO_FEW,
    at,
    by_measure,
    listed,
    next_to_it,
    shortened,
    times,
)
from overlock_tools.core.model.quantities import duration, per_unit, seconds

# Jain's index: below the first in every round is unfair, above the second in every round is even.
UNFAIR, EVEN = 0.8, 0.95
# An index this low with a top rate: the rate is one of few threads running alone.
ALONE = 0.5
# The wait of one in 10,000 is this often the median one: a tail to name.
LONG_TAIL = 1000


@dataclass(frozen=True)
class Less:
    """A measure of which less is better, and the words for it."""

    measure: str
    name: str  # "Waiting, 99th percentile, at 8 threads: least with ..."
    text: Callable[[float], str] = duration


P99 = Less("p99", "Waiting, 99th percentile,")
GAP = Less("gap", "Longest gap between two acquisitions of one thread")
COST = Less("cpu", "CPU time per unit of work", per_unit)
HANDOVER = Less("handover", "Hand-over")
RUN_TIME = Less("run_time", "Mean run time", seconds)
DEVIATION = Less("run_time_sd", "Standard deviation of the run times", seconds)


def about_less(view: View, words: Less) -> list[str]:
    """The lock with the least, those not significantly different, and the best lock and peer."""
    known = view.known(words.measure, view.at)
    if not known:
        return []
    ordered = sorted(known, key=lambda variant: known[variant].value)
    # What has collapsed does so little that it hardly waits: it is no one's example.
    least = next((v for v in ordered if not view.unfinished(v, view.at)), ordered[0])
    if len(view.variants) == 1:
        return [f"{words.name} {at([view.at])}: {words.text(known[least].value)}."]
    said = f"{words.name} {at([view.at])}: least with {least}, {words.text(known[least].value)}"
    told = by_measure(view, words.measure, ordered, least)
    others = len(ordered) - 1
    if others and len(told.above) == others:
        said += "; all others have more"
    elif others and len(told.alike) == others:
        said += "; no other lock differs significantly"
    else:
        said += next_to_it(view, told, told.below, [view.at])
    return [said + ".", *_lock_and_peer(view, words)]


def _lock_and_peer(view: View, words: Less) -> list[str]:
    ours, theirs = view.best_lock, view.best_peer
    if not ours or not theirs:
        return []
    ratio = view.between(words.measure, (ours, view.at), (theirs, view.at))
    if ratio is None:
        return []
    if ratio.alike:
        return [
            f"{words.name.rstrip(',')}: no significant difference between the fastest lock and the "
            f"fastest peer, {ours} and {theirs}."
        ]
    few = "" if ratio.known else f", {TOO_FEW}"
    return [
        f"The value of {ours}, the fastest lock, is {times(ratio)} that of {theirs}, the best "
        f"peer{few}."
    ]


def about_latency(view: View) -> list[str]:
    said = about_less(view, P99)
    tails = []
    for variant in dict.fromkeys(filter(None, (view.best_of_all, view.best_lock, view.best_peer))):
        typical = view.spread("p50", variant, view.at)
        rare = view.spread("p99.99", variant, view.at)
        # In every round, for one long wait is chance.
        if typical and rare and rare.least > LONG_TAIL * max(typical.most, 1):
            tails.append(f"{variant} {duration(rare.value)} (median {duration(typical.value)})")
    if tails:
        said.append(f"The longest of 10,000 waits (p99.99): {listed(tails)}.")
    return said


def about_gap(view: View) -> list[str]:
    said = about_less(view, GAP)
    known = view.known("gap", view.at)
    if len(known) > 1:
        worst = max(known, key=lambda variant: known[variant].most)
        longest = known[worst].most
        said.append(f"The longest gap of all: {duration(longest)}, with {worst}.")
    return said


def about_fairness(view: View) -> list[str]:
    known = view.known("jain", view.at)
    if not known:
        return []
    unfair = {v: s for v, s in known.items() if s.most < UNFAIR}
    even = [v for v, s in known.items() if s.least > EVEN]
    said = []
    if even:
        who = "all" if len(even) == len(known) else shortened(even)
        said.append(f"Fair in every round (Jain above {EVEN:g}) {at([view.at])}: {who}.")
    if unfair:
        words = [f"{v} ({s.value:.2f})" for v, s in sorted(unfair.items(), key=_by_value)]
        said.append(f"Unfair in every round (Jain below {UNFAIR:g}): {shortened(words)}.")
    if not unfair:
        said.append(f"No lock is unfair in every round (Jain below {UNFAIR:g}) {at([view.at])}.")
    alone = [v for v, s in unfair.items() if s.most < ALONE and _fast(view, v)]
    if alone:
        said.append(
            f"The rate of {listed(alone)} comes from a few threads that run alone; the threads do "
            "not share the lock."
        )
    return said


def _by_value(item: tuple[str, Spread]) -> float:
    return item[1].value


def _fast(view: View, variant: str) -> bool:
    """No significant difference from the best rate at the number of threads shown."""
    top = view.best(view.variants, [view.at])
    ratio = view.ratio(variant, top, [view.at]) if top else None
    return variant == top or (ratio is not None and (ratio.alike or ratio.above_one))


def about_cost(view: View) -> list[str]:
    said = about_less(view, COST)
    spinning = {v: s for v, s in view.known("spinning", view.at).items() if s.least > 0.5}
    if spinning:
        most = sorted(spinning.items(), key=_by_value, reverse=True)
        words = [f"{variant} {spread.value:.0%}" for variant, spread in most]
        said.append(
            "More than half of the CPU time in every round is not the workload's own work: "
            f"{shortened(words)}."
        )
    elif view.has("spinning"):
        said.append(
            "No lock spends more than half of the CPU time in every round outside the workload's "
            "own work."
        )
    return said


def about_handover(view: View) -> list[str]:
    return about_less(view, HANDOVER)


def about_queue(view: View) -> list[str]:
    known = view.known("queue", view.at)
    if not known:
        return []
    ordered = sorted(known.items(), key=_by_value)
    (short, least), (long, most) = ordered[0], ordered[-1]
    if least.most >= most.least:
        return [f"Queue length {at([view.at])}: the ranges of all locks overlap."]
    return [
        f"Mean queue length {at([view.at])}: {most.value:.3g} waiters with {long}, "
        f"{least.value:.3g} with {short}."
    ]


def about_run_times(view: View) -> list[str]:
    return about_less(view, RUN_TIME) + about_less(view, DEVIATION)
