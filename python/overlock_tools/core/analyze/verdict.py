# SPDX-License-Identifier: MIT
"""What a result means, in words, and only as far as its intervals carry."""

import math
from collections.abc import Sequence

from overlock_tools.core.analyze import throw_count
from overlock_tools.core.analyze.best_peer import Verdict
from overlock_tools.core.analyze.derived import COLLAPSED, View
from overlock_tools.core.analyze.qualities import about_gap, about_latency
from overlock_tools.core.analyze.wording import (
    NO_INTERVAL,
    at,
    by_measure,
    by_rate,
    counts,
    listed,
    next_to_it,
    shortened,
    times,
    with_ratios,
    with_why,
    without_interval,
)
from overlock_tools.core.model import defs, stats
from overlock_tools.core.model.quantities import duration, si
from overlock_tools.core.model.results import Result
from overlock_tools.core.model.stats import CONFIDENCE, least_rounds
from overlock_tools.core.model.workloads import WITHOUT_A_LOCK

# A cell is to be this often as long as a thread's longest absence. Less than twice is short.
ABSENCES = 10
SHORT = 2


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


def conclusion(view: View) -> str:
    """The sentence of the summary that a reader takes away."""
    lines = _summary(view)
    if any(view.result.wrong()) or not view.result.cells:
        said = lines[:1]
    elif view.result.of_program:
        said = lines[-1:]
    else:
        said = few_rounds(view) or _about_peers(view)[:1] or about_rates(view)[:1]
    return view.result.worded(next(iter(said), lines[0]))


def _summary(view: View) -> list[str]:
    result = view.result
    if not result.cells:
        return ["Nothing was measured."]
    said = [f"WRONG: {line}." for line in result.wrong()] + few_rounds(view)
    if result.of_program:
        return said + _about_program(view)
    said += starving(view) + too_short(view) + about_rates(view) + _about_peers(view)
    abouts = (about_one_copy, about_latency, about_gap)
    return said + [lines[0] for about in abouts if (lines := about(view))]


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
        "intervals, so no difference is proven.",
        *_far_apart(view, rounds),
    ]


def _far_apart(view: View, rounds: int) -> list[str]:
    """What even few rounds do not leave open: tenfold, and no overlap of any two rounds."""
    top, known = view.best_of_all, view.known("rate", view.at)
    if not top or top not in known or view.at not in view.judged:
        return []
    best_one = known[top]
    apart = [
        f"{variant} ({_fold(best_one.least, one.most)})"
        for variant, one in known.items()
        if variant != top and one.most < COLLAPSED * best_one.least
    ]
    if not apart:
        return []
    each = "in each of them" if rounds > 1 else "in it; repeat it"
    return [f"Far below {top} {each}, {at([view.at])}: {shortened(apart)}."]


def _fold(more: float, less: float) -> str:
    return f"at least {more / less:,.0f}× less" if less else "nothing done"


def starving(view: View) -> list[str]:
    """They may have the highest rate, and are not called the best."""
    found = {v: [n for n in view.threads if view.starves(v, n)] for v in view.variants}
    words = [f"{variant} (at {counts(n)})" for variant, n in found.items() if n]
    if not words:
        return []
    return [f"Not taken for the best, for in every round a thread had no turn: {shortened(words)}."]


def too_short(view: View) -> list[str]:
    """In cells hardly longer than a preemption, the thread that had the CPU first decides."""
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
    if fallen := view.all_collapsed:
        return _about_all(view, fallen)
    if not found:
        unknown = " Whether all of them did is unknown: measure as many threads as CPUs, too."
        known = any(n > 1 for n in view.fitting)
        return [
            f"No lock collapsed beside the best {at(view.over)} on {cpus} CPUs: every lock reached "
            f"at least {COLLAPSED:.0%} of the best lock's rate.{'' if known else unknown}"
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


def _about_all(view: View, fallen: dict[int, float]) -> list[str]:
    """The best of locks that all collapsed is no good lock."""
    full = max(view.fitting)
    shares = listed([f"{share:.2%} at {n}" for n, share in fallen.items()])
    said = (
        f"Every lock collapsed {at([*fallen])}: of the best rate {at([full])}, the best has "
        f"{shares}."
    )
    others = [*view.collapsed]
    return [said, f"Far behind even that: {shortened(others)}."] if others else [said]


def _about_cures(view: View) -> list[str]:
    baseline = view.result.baseline
    where = at(view.judged) + (", geometric mean" if len(view.judged) > 1 else "")
    cures = [v for v in view.locks if "preemptable" in v and v != baseline]
    if view.best_lock and view.best_lock != baseline:
        cures = list(dict.fromkeys([view.best_lock, *cures]))
    told = by_rate(view, cures, baseline, view.judged)
    said = []
    if told.above:
        said.append(f"Faster than {baseline} {where}: {shortened(with_ratios(told.above))}.")
    if told.alike:
        said.append(
            f"No significant difference from {baseline} {where}: "
            f"{shortened(with_ratios(told.alike))}."
        )
    if told.below:
        said.append(f"Slower than {baseline} {where}: {shortened(with_ratios(told.below))}.")
    if told.few:
        beside = with_why(view, baseline, view.judged)
        said.append(
            f"{NO_INTERVAL} against {beside} {where}: {without_interval(view, told, view.judged)}."
        )
    return said


def _about_peers(view: View) -> list[str]:
    """Where what comes with the system is the better choice, and where it is not."""
    ours, theirs = view.best_lock, view.best_peer
    if len(view.variants) == 1:
        return []
    if not ours or not theirs:
        return _fastest(view, view.judged, at(view.judged).capitalize())
    said = [judgement.sentence for judgement in view.judgements[-1:]]
    told = by_rate(view, view.locks, theirs, view.judged)
    if told.below:
        said.append(f"{theirs} is faster than {shortened([*told.below])} {at(view.judged)}.")
    if told.few:
        unproven = without_interval(view, told, view.judged)
        said.append(f"{NO_INTERVAL} against {theirs}: {unproven}.")
    return said


def about_one_copy(view: View) -> list[str]:
    """Ouyang & Lange's figure: of several copies, the one that was picked at random."""
    known = view.known("one_copy", view.at)
    if not known:
        return []
    best_one = max(known, key=lambda variant: known[variant].value)
    copies = max(len(cell.copies) for cell in view.cells(best_one, view.at))
    told = by_measure(view, "one_copy", known, best_one)
    beside = next_to_it(view, told, told.above, [view.at])
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
    told = by_rate(view, view.variants, top, threads)
    proven = told.above or told.alike or told.below or not told.few
    leads = "is the fastest" if proven else "has the highest rate"
    return [f"{where} {top} {leads}{next_to_it(view, told, told.above, threads)}."]


def _about_program(view: View) -> list[str]:
    """Each lock beside the program as it is, at all numbers of threads together."""
    native = view.result.baseline
    cut = {v: [n for n in view.threads if view.cut(v, n)] for v in view.variants}
    finished = [v for v in view.variants if not cut[v]]
    told = by_rate(view, finished, native, view.threads)
    said = []
    if not any(view.result.wrong()):
        said.append("The program's output was correct in every run that finished.")
    if stopped := [f"{v} (at {counts(n)})" for v, n in cut.items() if n]:
        far = "far behind the program's own lock"
        said.append(f"Stopped because they were {far}: {listed(stopped)}.")
    for ratios, words in (
        (told.above, "Faster than the program's own lock"),
        (told.alike, "No significant difference from the program's own lock"),
        (told.below, "Slower than the program's own lock"),
        (told.few, f"{NO_INTERVAL} against the program's own lock"),
    ):
        if ratios:
            said.append(f"{words}: {listed(with_ratios(ratios))}.")
    if (told.below or stopped) and not told.above and not told.few:
        said.append("For this program on this machine, keep the program's own lock.")
    return said


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


def overall(views: Sequence[View]) -> list[str]:
    """Over all results: how often each lock wins, and what collapses when overcommitted."""
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
