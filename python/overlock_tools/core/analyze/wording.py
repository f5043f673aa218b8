# SPDX-License-Identifier: MIT
"""The words of verdicts: what is proven of ratios, and lists that a sentence carries."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from overlock_tools.core.analyze.derived import View
from overlock_tools.core.model.quantities import factor
from overlock_tools.core.model.stats import Ratio

# A sentence names so many locks; the table below the figure names all.
NAMED = 6
TOO_FEW = "with too few rounds for an interval"
NO_INTERVAL = "Too few rounds for an interval"


def times(ratio: Ratio) -> str:
    interval = f" [{factor(ratio.low or 0)} – {factor(ratio.high or 0)}]" if ratio.known else ""
    return f"{factor(ratio.value)}×{interval}"


def surely(ratio: Ratio) -> str:
    """Says where there is no interval."""
    return times(ratio) if ratio.known else f"{times(ratio)}, {TOO_FEW}"


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


def by_rate(view: View, variants: Iterable[str], other: str, threads: list[int]) -> Told:
    """By their rates."""
    found = {v: view.ratio(v, other, threads) for v in variants if v != other}
    return _told({v: ratio for v, ratio in found.items() if ratio})


def by_measure(view: View, measure: str, variants: Iterable[str], other: str) -> Told:
    """By another measure, at the number of threads shown."""
    found = {
        v: view.between(measure, (v, view.at), (other, view.at)) for v in variants if v != other
    }
    return _told({v: ratio for v, ratio in found.items() if ratio})


def with_ratios(ratios: dict[str, Ratio]) -> list[str]:
    return [f"{variant} ({times(ratio)})" for variant, ratio in ratios.items()]


def with_why(view: View, variant: str, threads: Iterable[int]) -> str:
    """Named with why there are not all rounds of it, if so."""
    unfinished = [n for n in threads if view.unfinished(variant, n)]
    return f"{variant} ({view.why(variant, unfinished[0])})" if unfinished else variant


def without_interval(view: View, told: Told, threads: Iterable[int]) -> str:
    numbers = list(threads)
    return shortened([f"{with_why(view, v, numbers)} {times(r)}" for v, r in told.few.items()])


def next_to_it(view: View, told: Told, better: dict[str, Ratio], threads: Iterable[int]) -> str:
    """The sentence on the leader: the median is its own, but rounds are compared."""
    said = ""
    if better:
        said += f"; better within rounds: {shortened([*better])}"
    if told.alike:
        said += f"; no significant difference from it: {shortened([*told.alike])}"
    if told.few:
        said += f"; {TOO_FEW}: {without_interval(view, told, threads)}"
    return said
