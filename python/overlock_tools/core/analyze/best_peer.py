# SPDX-License-Identifier: MIT
"""Is our lock as good as the best peer? Half of the rounds choose the peer, the other half judge.

The greatest of several noisy medians is too great: judged on the rounds that chose it, the best of
eight peers beats a lock that equals all of them. And a median above the bar proves nothing: what is
asked for is the lower bound of the ratio, to one side.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import geometric_mean

from overlock_tools.core.model import quantities, stats
from overlock_tools.core.model.results import Result

# As good as: at least this share of the peer's rate. Less than a user would notice.
BAR = 0.97

EACH_BEST = "the best at each"  # in place of a peer


class Verdict(StrEnum):
    BETTER = "better than"
    AS_GOOD = "as good as"
    WORSE = "worse than"
    OPEN = "undecided against"
    FEW = "in too few rounds to judge against"

    def about(self, ours: str, theirs: str) -> str:
        """`tas_yield is as good as abseil`."""
        match self:
            case Verdict.OPEN:
                return f"the comparison of {ours} with {theirs} is undecided"
            case Verdict.FEW:
                return f"there are too few rounds to compare {ours} with {theirs}"
        return f"{ours} is {self} {theirs}"


@dataclass(frozen=True)
class Judgement:
    threads: tuple[int, ...]  # of several: the geometric mean over them
    ours: str
    theirs: str
    bound: stats.Ratio  # each end holds by itself at `confidence`
    bar: float
    confidence: float

    @property
    def verdict(self) -> Verdict:
        if self.bound.low is None or self.bound.high is None:
            return Verdict.FEW
        if self.bound.above_one:
            return Verdict.BETTER
        if self.bound.low >= self.bar:
            return Verdict.AS_GOOD
        return Verdict.WORSE if self.bound.high < self.bar else Verdict.OPEN

    @property
    def sentence(self) -> str:
        """As `With 4 threads, tas_yield is as good as abseil, the best peer: 1.03×, ...`."""
        about = self.verdict.about(self.ours, f"{self.theirs}, the best peer")
        said, ratio = f"{self._where}, {about}: ", f"{quantities.factor(self.bound.value)}×"
        if self.bound.low is None or self.bound.high is None:
            return said + f"{ratio}, and {stats.rounds_needed(self.confidence)} rounds are needed."
        least, most = quantities.factor(self.bound.low), quantities.factor(self.bound.high)
        bound = {
            Verdict.OPEN: f"at least {least} and at most {most}, each",
            Verdict.WORSE: f"at most {most}",
        }.get(self.verdict, f"at least {least}")
        return said + f"{ratio}, {bound} at {100 * self.confidence:g} % (bar {self.bar:g})."

    @property
    def _where(self) -> str:
        if len(self.threads) == 1:
            return f"With {quantities.count(self.threads[0])}"
        return f"Over {', '.join(map(str, self.threads))} threads"


Rates = dict[tuple[str, int], dict[int, float]]


def _rates(result: Result, variants: Sequence[str], rounds: Sequence[int]) -> Rates:
    wanted, among = set(rounds), set(variants)
    rates: Rates = {}
    for cell in result.cells:
        if cell.round in wanted and cell.variant in among:
            rates.setdefault((cell.variant, cell.threads), {})[cell.round] = cell.rate_or_bound
    return rates


def _rounds(result: Result) -> list[int]:
    return sorted({cell.round for cell in result.cells})


def _judging(result: Result, variants: Sequence[str]) -> Rates:
    return _rates(result, variants, _rounds(result)[::2])


def _best(rates: Rates, variants: Sequence[str], threads: Sequence[int]) -> str | None:
    """The greatest geometric mean of medians; a lock without a value has collapsed there."""
    found = {}
    for variant in variants:
        if all((variant, n) in rates for n in threads):
            medians = [stats.median([*rates[variant, n].values()]) for n in threads]
            found[variant] = geometric_mean(medians)
    return max(found, key=found.__getitem__) if found else None


def _bound(
    rates: Rates, against: Sequence[tuple[str, str, int]], confidence: float
) -> stats.Ratio | None:
    """`against`: our lock, the peer, the number of threads."""
    tables = [(rates.get((ours, n), {}), rates.get((theirs, n), {})) for ours, theirs, n in against]
    pairs = stats.paired(tables)
    return stats.geometric_mean_ratio(pairs, stats.both_ends(confidence)) if pairs else None


def judge(
    result: Result,
    ours: Sequence[str] | None = None,
    peers: Sequence[str] | None = None,
    bar: float = BAR,
    confidence: float = stats.CONFIDENCE,
) -> list[Judgement]:
    """Per number of threads, then over all of them: the best of `ours` against the best peer.

    `ours`: those to choose from, all that are no peers unless given. What has no lock or no peer
    that was measured in full is left out.
    """
    peers = list(result.peers if peers is None else peers)
    ours = [v for v in result.variants if v not in peers] if ours is None else list(ours)
    choosing = _rates(result, [*ours, *peers], _rounds(result)[1::2])
    judging = _judging(result, [*ours, *peers])
    points: list[tuple[int, ...]] = [(n,) for n in result.threads]
    if len(points) > 1:
        points.append(tuple(result.threads))
    judged = []
    for threads in points:
        lock, peer = _best(choosing, ours, threads), _best(choosing, peers, threads)
        if not lock or not peer:
            continue
        if bound := _bound(judging, [(lock, peer, n) for n in threads], confidence):
            judged.append(Judgement(threads, lock, peer, bound, bar, confidence))
    return judged


def judge_points(
    result: Result, ours: str, bar: float = BAR, confidence: float = stats.CONFIDENCE
) -> list[Judgement]:
    """One lock against the best of all others, per number of threads.

    The last judges the geometric mean: a user who could choose another lock for each number of
    threads had the best at each.
    """
    others = [variant for variant in result.variants if variant != ours]
    judged = [j for j in judge(result, [ours], others, bar, confidence) if len(j.threads) == 1]
    against = [(ours, j.theirs, j.threads[0]) for j in judged]
    rates = _judging(result, result.variants)
    if len(against) > 1 and (bound := _bound(rates, against, confidence)):
        threads = tuple(n for *_, n in against)
        judged.append(Judgement(threads, ours, EACH_BEST, bound, bar, confidence))
    return judged
