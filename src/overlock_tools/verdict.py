# SPDX-License-Identifier: MIT
"""What a result means, in words, and only as far as its intervals carry."""

from overlock_tools.results import Result
from overlock_tools.stats import Ratio
from overlock_tools.tables import factor

# Less than this share of the best at the same number of threads: collapsed, not merely slower.
COLLAPSED = 0.1


def times(ratio: Ratio) -> str:
    known = ratio.low is not None and ratio.high is not None
    interval = f" [{factor(ratio.low or 0)} – {factor(ratio.high or 0)}]" if known else ""
    return f"{factor(ratio.value)}×{interval}"


def listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def counts(threads: list[int]) -> str:
    return listed([str(n) for n in threads])


def overcommitted(result: Result) -> list[int]:
    return [n for n in result.threads if n > result.cpus]


def best(result: Result, variants: list[str], threads: list[int]) -> str | None:
    """The variant with the greatest geometric mean over `threads`."""
    ratios = {v: result.ratio(v, result.baseline, threads) for v in variants}
    values = {v: ratio.value for v, ratio in ratios.items() if ratio}
    return max(values, key=values.__getitem__) if values else None


def collapsed(result: Result, threads: list[int]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for n in threads:
        medians = {v: result.median_rate(v, n) for v in result.variants}
        known = {v: rate for v, rate in medians.items() if rate is not None}
        top = max(known.values(), default=0.0)
        for variant, rate in known.items():
            if rate < COLLAPSED * top:
                found.setdefault(variant, []).append(n)
    return found


def sentences(result: Result) -> list[str]:
    """One statement each."""
    if not result.cells:
        return ["Nothing was measured."]
    if result.kind == "program":
        return _about_program(result)
    said = [f"WRONG: {line}." for line in result.wrong()]
    over = overcommitted(result)
    fitting = [n for n in result.threads if n <= result.cpus]
    if over:
        said += _about_collapse(result, over) + _about_cures(result, over)
        said += _about_peers(result, over)
    if fitting:
        said += _about_fitting(result, fitting)
    return said


def _about_collapse(result: Result, over: list[int]) -> list[str]:
    found = collapsed(result, over)
    if not found:
        return [
            f"Nothing collapsed at {counts(over)} threads on {result.cpus} CPUs: every lock kept "
            f"at least {COLLAPSED:.0%} of the best one's rate."
        ]
    words = [f"{variant} (at {counts(threads)})" for variant, threads in found.items()]
    return [
        f"With more threads than the {result.cpus} CPUs these collapse to less than "
        f"{COLLAPSED:.0%} of the best one's rate: {listed(words)}."
    ]


def _about_cures(result: Result, over: list[int]) -> list[str]:
    said = []
    where = f"at {counts(over)} threads"
    if len(over) > 1:
        where += ", geometric mean"
    for variant in result.variants:
        ratio = result.ratio(variant, result.baseline, over)
        if "preemptable" not in variant or variant == result.baseline or not ratio:
            continue
        if ratio.above_one or ratio.low is None:
            line = f"{variant} reaches {times(ratio)} the rate of {result.baseline}"
        elif ratio.below_one:
            line = f"{variant} reaches only {times(ratio)} the rate of {result.baseline}"
        else:
            line = f"{variant} and {result.baseline} are not told apart, {times(ratio)}"
        said.append(f"{line} ({where}).")
    return said


def _about_peers(result: Result, over: list[int]) -> list[str]:
    """Where what comes with the system is the better choice, and where it is not."""
    locks = [v for v in result.variants if v not in result.peers]
    ours, theirs = best(result, locks, over), best(result, result.peers, over)
    if not ours or not theirs:
        return [f"Fastest at {counts(over)} threads: {ours or theirs}."]
    ratio = result.ratio(ours, theirs, over)
    assert ratio is not None
    if ratio.above_one:
        said = [f"Fastest at {counts(over)} threads: {ours}, {times(ratio)} the rate of {theirs}."]
    elif ratio.below_one:
        said = [
            f"The native {theirs} is the better choice at {counts(over)} threads: the best lock, "
            f"{ours}, reaches {times(ratio)} its rate."
        ]
    else:
        said = [
            f"At {counts(over)} threads {ours} and {theirs} are not told apart "
            f"({times(ratio)}): take the native one, it needs nothing installed."
        ]
    return said + _worse_than_native(result, locks, theirs, over)


def _worse_than_native(result: Result, locks: list[str], native: str, over: list[int]) -> list[str]:
    slower = []
    for variant in locks:
        ratio = result.ratio(variant, native, over)
        if ratio and ratio.below_one:
            slower.append(variant)
    if not slower:
        return []
    return [
        f"In one process with every thread hungry for one lock, {native} beats {listed(slower)}."
    ]


def _about_fitting(result: Result, fitting: list[int]) -> list[str]:
    one = fitting == [1]
    where = f"With {counts(fitting)} thread{'' if one else 's'}, which fit{'s' if one else ''} the"
    top = best(result, result.variants, fitting)
    if not top:
        return []
    behind = []
    for variant in result.variants:
        ratio = result.ratio(variant, top, fitting)
        if variant != top and ratio and not ratio.below_one:
            behind.append(variant)
    alike = f"; not told apart from it: {listed(behind)}" if behind else ""
    return [f"{where} CPUs, {top} is the fastest{alike}."]


def _about_program(result: Result) -> list[str]:
    """Each lock beside the program as it is, at all numbers of threads together."""
    said = [f"WRONG: {line}." for line in result.wrong()]
    native = result.baseline
    faster: list[str] = []
    alike: list[str] = []
    slower: list[str] = []
    cut: dict[str, list[int]] = {}
    for variant in result.variants:
        for cell in result.cells:
            if cell.variant == variant and cell.cut:
                cut.setdefault(variant, []).append(cell.threads)
        ratio = result.ratio(variant, native, result.threads)
        if variant == native or variant in cut or not ratio:
            continue
        where = faster if ratio.above_one else slower if ratio.below_one else alike
        where.append(f"{variant} ({times(ratio)})")
    if not said:
        said.append("The program's output was right whenever it finished.")
    if cut:
        words = [f"{variant} (at {counts(sorted(n))})" for variant, n in cut.items()]
        said.append(f"Stopped, far behind the native mutex: {listed(words)}.")
    if faster:
        said.append(f"Faster than the native mutex: {listed(faster)}.")
    if alike:
        said.append(f"Not told apart from the native mutex: {listed(alike)}.")
    if slower:
        said.append(f"Slower than the native mutex: {listed(slower)}.")
    if not faster:
        said.append("For this program on this machine, keep the native mutex.")
    return said
