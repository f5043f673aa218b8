# SPDX-License-Identifier: MIT
"""What a result means, in words, and only as far as its intervals carry."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from overlock_tools.analyze import throw_count
from overlock_tools.analyze.best_peer import Verdict
from overlock_tools.analyze.derived import COLLAPSED, Spread, View
from overlock_tools.model import defs, stats
from overlock_tools.model.quantities import duration, factor, per_unit, seconds, si
from overlock_tools.model.results import Result
from overlock_tools.model.stats import CONFIDENCE, Ratio, least_rounds
from overlock_tools.model.workloads import WITHOUT_A_LOCK

# A sentence names so many locks; the table below the figure names all.
NAMED = 6
# Jain's index: below the first in every round is unfair, above the second in every round is even.
UNFAIR, EVEN = 0.8, 0.95
# An index this low with a top rate: the rate is one of few threads running alone.
ALONE = 0.5
# The wait of one in 10,000 is this often the median one: a tail to name.
LONG_TAIL = 1000
# A cell is to be this often as long as a thread's longest absence. Less than twice is short.
ABSENCES = 10
SHORT = 2
TOO_FEW = "with too few rounds for an interval"
NO_INTERVAL = "Too few rounds for an interval"


def times(ratio: Ratio) -> str:
    interval = f" [{factor(ratio.low or 0)} – {factor(ratio.high or 0)}]" if ratio.known else ""
    return f"{factor(ratio.value)}×{interval}"


def listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def shortened(words: list[str]) -> str:
    """As many as a sentence carries."""
    if len(words) <= NAMED + 1:
        return listed(words)
    return f"{', '.join(words[:NAMED])} and {len(words) - NAMED} more"


def counts(threads: Iterable[int]) -> str:
    return listed([str(n) for n in threads])


def at(threads: Iterable[int]) -> str:
    numbers = list(threads)
    return f"at {counts(numbers)} thread{'' if numbers == [1] else 's'}"


def overcommitted(result: Result) -> list[int]:
    return View(result).over


def best(result: Result, variants: list[str], threads: list[int]) -> str | None:
    """The variant with the greatest geometric mean over `threads`."""
    return View(result).best(variants, threads)


def sentences(result: Result) -> list[str]:
    """What stands above all figures of a result, one statement each."""
    return summary(View(result))


def summary(view: View) -> list[str]:
    return [view.result.worded(line) for line in _summary(view)]


def _summary(view: View) -> list[str]:
    result = view.result
    if not result.cells:
        return ["Nothing was measured."]
    said = [f"WRONG: {line}." for line in result.wrong()] + few_rounds(view)
    if result.of_program:
        return said + _about_program(view)
    said += too_short(view) + about_rates(view) + _about_peers(view)
    abouts = (about_one_copy, about_latency, about_gap)
    return said + [lines[0] for about in abouts if (lines := about(view))]


# The rate


def about_rates(view: View) -> list[str]:
    if len(view.variants) == 1:
        return _about_scaling(view)
    said = _about_collapse(view) if view.over else []
    return said + (_about_fitting(view) if view.fitting else [])


def _about_scaling(view: View) -> list[str]:
    """Of a workload that takes no lock there is one series: what more threads make of it."""
    (only,) = view.variants
    measured = [n for n in view.threads if view.cells(only, n)]
    few = measured[0]
    words = []
    for n in measured[1:]:
        ratio = view.between("rate", (only, n), (only, few))
        if ratio:
            words.append(f"{times(ratio)} at {n}")
    rate = f"{si(view.value('rate', only, few) or 0)}{view.result.unit}/s {at([few])}"
    return [f"{rate}; relative to that: {listed(words)}." if words else f"{rate}."]


def about_ratios(view: View) -> list[str]:
    if view.result.of_program:
        return _about_program(view)
    return [*_about_cures(view), *_about_peers(view)]


def few_rounds(view: View) -> list[str]:
    rounds = max((cell.round for cell in view.result.cells), default=0)
    if rounds >= least_rounds():
        return []
    return [
        f"{rounds} round{'s' if rounds > 1 else ''}: too few for {100 * CONFIDENCE:g} % "
        "intervals, so the report calls no lock faster or slower."
    ]


def too_short(view: View) -> list[str]:
    """Where cells hardly outlast one thread's absence, who had the CPU at the start decides."""
    short = {n: away for n in view.over if (away := _absence(view, n))}
    if not short:
        return []
    enough = math.ceil(ABSENCES * max(short.values()) / 1e9)
    return [
        f"Cells are too short {at(short)}: in most of them a thread had no acquisition for "
        f"{duration(max(short.values()))}. Use --seconds {enough}."
    ]


def _absence(view: View, threads: int) -> float | None:
    """Of the middle cell, if that is short, in ns."""
    cells = [c for v in view.variants for c in view.cells(v, threads) if c.gap_ns is not None]
    if not cells:
        return None
    away = stats.median([cell.gap_ns or 0 for cell in cells])
    return away if SHORT * away > 1e9 * stats.median([cell.seconds for cell in cells]) else None


def _about_collapse(view: View) -> list[str]:
    cpus, found = view.result.cpus, view.collapsed
    if not found:
        return [
            f"No lock collapsed {at(view.over)} on {cpus} CPUs: every lock reached at least "
            f"{COLLAPSED:.0%} of the best lock's rate."
        ]
    everywhere = [variant for variant, n in found.items() if n == view.over]
    somewhere = [f"{variant} (at {counts(n)})" for variant, n in found.items() if n != view.over]
    words = [f"{v} (at {counts(view.over)})" for v in everywhere[:1] if len(everywhere) == 1]
    if len(everywhere) > 1:
        words = [f"{listed(everywhere)} (at {counts(view.over)})"]
    said = (
        f"With more threads than the {cpus} CPUs, these locks collapse to less than "
        f"{COLLAPSED:.0%} of the best lock's rate: {'; '.join(words + somewhere)}."
    )
    unsteady = [v for v, where in found.items() if any(not view.always_low(v, n) for n in where)]
    return [said, f"Not in every round: {shortened(unsteady)}."] if unsteady else [said]


def _about_cures(view: View) -> list[str]:
    baseline = view.result.baseline
    where = at(view.judged) + (", geometric mean" if len(view.judged) > 1 else "")
    cures = [v for v in view.locks if "preemptable" in v and v != baseline]
    if view.best_lock and view.best_lock != baseline:
        cures = list(dict.fromkeys([view.best_lock, *cures]))
    told = _beside(view, cures, baseline, view.judged)
    said = []
    if told.above:
        said.append(f"Faster than {baseline} {where}: {shortened(_measured(told.above))}.")
    if told.alike:
        said.append(
            f"No significant difference from {baseline} {where}: "
            f"{shortened(_measured(told.alike))}."
        )
    if told.below:
        said.append(f"Slower than {baseline} {where}: {shortened(_measured(told.below))}.")
    if told.few:
        beside = _with_why(view, baseline, view.judged)
        said.append(
            f"{NO_INTERVAL} against {beside} {where}: {_unproven(view, told, view.judged)}."
        )
    return said


@dataclass(frozen=True)
class Told:
    """Contenders by what is proven of their ratio to another one."""

    above: dict[str, Ratio]
    alike: dict[str, Ratio]
    below: dict[str, Ratio]
    few: dict[str, Ratio]  # without an interval


def _told(ratios: dict[str, Ratio]) -> Told:
    def those(are: Callable[[Ratio], bool]) -> dict[str, Ratio]:
        return {variant: ratio for variant, ratio in ratios.items() if are(ratio)}

    return Told(
        those(lambda r: r.above_one),
        those(lambda r: r.alike),
        those(lambda r: r.below_one),
        those(lambda r: not r.known),
    )


def _beside(view: View, variants: Iterable[str], other: str, threads: list[int]) -> Told:
    """By their rates."""
    found = {v: view.ratio(v, other, threads) for v in variants if v != other}
    return _told({v: ratio for v, ratio in found.items() if ratio})


def _compared(view: View, measure: str, variants: Iterable[str], other: str) -> Told:
    """By another measure, at the number of threads shown."""
    found = {v: view.compared(measure, v, other, view.at) for v in variants if v != other}
    return _told({v: ratio for v, ratio in found.items() if ratio})


def _measured(ratios: dict[str, Ratio]) -> list[str]:
    return [f"{variant} ({times(ratio)})" for variant, ratio in ratios.items()]


def _with_why(view: View, variant: str, threads: Iterable[int]) -> str:
    """Named with why there are not all rounds of it, if so."""
    unfinished = [n for n in threads if view.unfinished(variant, n)]
    return f"{variant} ({view.why(variant, unfinished[0])})" if unfinished else variant


def _unproven(view: View, told: Told, threads: Iterable[int]) -> str:
    numbers = list(threads)
    return shortened([f"{_with_why(view, v, numbers)} {times(r)}" for v, r in told.few.items()])


def _next_to_it(view: View, told: Told, better: dict[str, Ratio], threads: Iterable[int]) -> str:
    """What is to be said of who leads: the median is its own, but rounds are compared."""
    said = ""
    if better:
        said += f"; better within rounds: {shortened([*better])}"
    if told.alike:
        said += f"; no significant difference from it: {shortened([*told.alike])}"
    if told.few:
        said += f"; {TOO_FEW}: {_unproven(view, told, threads)}"
    return said


def _about_peers(view: View) -> list[str]:
    """Where what comes with the system is the better choice, and where it is not."""
    ours, theirs = view.best_lock, view.best_peer
    if len(view.variants) == 1:
        return []
    if not ours or not theirs:
        return _fastest(view, view.judged, at(view.judged).capitalize())
    said = [judgement.sentence for judgement in view.judgements[-1:]]
    told = _beside(view, view.locks, theirs, view.judged)
    if told.below:
        said.append(f"{theirs} is faster than {shortened([*told.below])} {at(view.judged)}.")
    if told.few:
        unproven = _unproven(view, told, view.judged)
        said.append(f"{NO_INTERVAL} against {theirs}: {unproven}.")
    return said


def about_one_copy(view: View) -> list[str]:
    """000's figure: of several copies, the one that was picked at random."""
    known = view.known("one_copy", view.at)
    if not known:
        return []
    best_one = max(known, key=lambda variant: known[variant].value)
    copies = max(len(cell.copies) for cell in view.cells(best_one, view.at))
    told = _compared(view, "one_copy", known, best_one)
    beside = _next_to_it(view, told, told.above, [view.at])
    rate = si(known[best_one].value).strip()
    return [
        f"One of {copies} copies, picked at random, has its highest rate with {best_one} "
        f"{at([view.at])}: {rate} {view.result.unit}/s{beside}."
    ]


def _about_fitting(view: View) -> list[str]:
    one = view.fitting == [1]
    where = f"With {counts(view.fitting)} thread{'' if one else 's'}, one per CPU at most,"
    return _fastest(view, view.fitting, where)


def _fastest(view: View, threads: list[int], where: str) -> list[str]:
    top = view.best(view.variants, threads)
    if not top:
        return []
    told = _beside(view, view.variants, top, threads)
    proven = told.above or told.alike or told.below or not told.few
    leads = "is the fastest" if proven else "has the highest rate"
    return [f"{where} {top} {leads}{_next_to_it(view, told, told.above, threads)}."]


def _about_program(view: View) -> list[str]:
    """Each lock beside the program as it is, at all numbers of threads together."""
    native = view.result.baseline
    cut = {v: [n for n in view.threads if view.cut(v, n)] for v in view.variants}
    finished = [v for v in view.variants if not cut[v]]
    told = _beside(view, finished, native, view.threads)
    said = []
    if not any(view.result.wrong()):
        said.append("The program's output was correct in every run that finished.")
    if stopped := [f"{v} (at {counts(n)})" for v, n in cut.items() if n]:
        said.append(f"Stopped because they were far behind the native mutex: {listed(stopped)}.")
    for ratios, words in (
        (told.above, "Faster than the native mutex"),
        (told.alike, "No significant difference from the native mutex"),
        (told.below, "Slower than the native mutex"),
        (told.few, f"{NO_INTERVAL} against the native mutex"),
    ):
        if ratios:
            said.append(f"{words}: {listed(_measured(ratios))}.")
    if (told.below or stopped) and not told.above and not told.few:
        said.append("For this program on this machine, keep the native mutex.")
    return said


# Everything of which less is better


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
    told = _compared(view, words.measure, ordered, least)
    others = len(ordered) - 1
    if others and len(told.above) == others:
        said += "; all others have more"
    elif others and len(told.alike) == others:
        said += "; no other lock differs significantly"
    else:
        said += _next_to_it(view, told, told.below, [view.at])
    return [said + ".", *_lock_and_peer(view, words)]


def _lock_and_peer(view: View, words: Less) -> list[str]:
    ours, theirs = view.best_lock, view.best_peer
    if not ours or not theirs:
        return []
    ratio = view.compared(words.measure, ours, theirs, view.at)
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
    """Not told apart from the best rate at the number of threads shown."""
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


def elides(variant: str) -> bool:
    name, known = variant.partition("@")[0], defs.load()
    if peer := known.peers.get(name):
        return peer.family == defs.ELIDES
    return name in known.locks and "elides" in known.locks[name].traits


def about_locks(result: Result) -> list[str]:
    """Where the lock is not the one that was named, or not all of it: which one it is."""
    said = []
    if result.native.get("htm") is False and any(map(elides, result.variants)):
        said.append("No transaction commits on this CPU, so lock elision always falls back.")
    if counted := result.native.get("throw"):
        said.append(throw_count.Count(**counted).sentence())
    if result.kind in WITHOUT_A_LOCK:
        said.append(f"{result.kind} uses no lock of --locks, so it was measured only once.")
    return said


# Many results


def overall(views: Sequence[View]) -> list[str]:
    """Over all results: who wins how often, and what collapses wherever threads do not fit."""
    views = [view for view in views if view.best_lock and view.best_peer and view.over]
    if len(views) < 2:
        return []
    return [*_tally(views), *_always_collapsed(views)]


def _tally(views: list[View]) -> list[str]:
    """Half of the rounds chose lock and peer, the other half judged."""
    found: dict[Verdict, list[str]] = {}
    for view in views:
        for judgement in view.judgements[-1:]:
            found.setdefault(judgement.verdict, []).append(view.name)
    total = sum(map(len, found.values()))
    return [
        f"On {len(names)} of {total} workloads with more threads than CPUs, "
        f"{kind.about('the best lock', 'the best peer')}: {listed(names)}."
        for kind in Verdict
        if (names := found.get(kind))
    ]


def _always_collapsed(views: list[View]) -> list[str]:
    always = [
        variant
        for variant in views[0].variants
        if all(variant in view.fallen for view in views if variant in view.variants)
    ]
    if not always:
        return ["No lock collapses on every workload."]
    return [f"Collapsed on every workload with more threads than CPUs: {listed(always)}."]
