# SPDX-License-Identifier: MIT
"""From a seed that fails to the one site that matters, by delta debugging.

Zeller and Hildebrandt 2002. A decision at a site does not depend on the other sites, as
chaos/chaos.h says, so sites can be left out. A program fails by chance, so a set of sites
is judged by several runs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil

from overlock_tools.chaos.rates import at_most

BASE_RUNS = 10
LEAST_RATE = 0.2  # of failures with all sites: below, a set is not told from none
SHARE = 0.5  # of that rate, which a smaller set must reach
LEAST_RUNS, MOST_RUNS = 3, 60
MISSED = 0.02  # the chance to lose a set that fails as often as all do

Sites = tuple[str, ...]


@dataclass
class Judge:
    """Runs the program with some sites; remembers how often it failed."""

    fails: Callable[[Sites], bool]
    tell: Callable[[str], None]
    counts: dict[Sites, tuple[int, int]] = field(default_factory=dict)  # failed, of

    def once(self, sites: Sites) -> bool:
        failed = self.fails(sites)
        k, n = self.counts.get(sites, (0, 0))
        self.counts[sites] = (k + failed, n + 1)
        return failed

    def rate(self, sites: Sites, runs: int) -> float:
        while self.counts.get(sites, (0, 0))[1] < runs:
            self.once(sites)
        k, n = self.counts[sites]
        return k / n


def runs_for(rate: float) -> int:
    """So many that a set which fails at this rate is lost with a chance of MISSED at most."""
    n = LEAST_RUNS
    while n < MOST_RUNS and at_most(needed(rate, n) - 1, n, rate) > MISSED:
        n += 1
    return n


def needed(rate: float, runs: int) -> int:
    return max(1, ceil(SHARE * rate * runs))


@dataclass
class Bisection:
    judge: Judge
    rate: float  # with all sites

    def holds(self, sites: Sites) -> bool:
        """Whether it still fails about as often; ends as soon as that is decided."""
        if not sites:
            return False
        runs = runs_for(self.rate)
        must = needed(self.rate, runs)
        k, n = self.judge.counts.get(sites, (0, 0))
        while k < must and must - k <= runs - n:
            self.judge.once(sites)
            k, n = self.judge.counts[sites]
        return k >= must

    def smallest(self, sites: Sites) -> Sites:
        """No site of the answer can be left out."""
        parts = 2
        while len(sites) > 1:
            self.judge.tell(f"{len(sites)} sites left")
            smaller = self._smaller(sites, parts)
            if smaller is not None:
                kept, parts = smaller
                sites = kept
            elif parts >= len(sites):
                break
            else:
                parts = min(len(sites), 2 * parts)
        return sites

    def _smaller(self, sites: Sites, parts: int) -> tuple[Sites, int] | None:
        pieces = split(sites, parts)
        for piece in pieces:
            if self.holds(piece):
                return piece, 2
        for piece in pieces if parts > 2 else []:
            rest = tuple(site for site in sites if site not in piece)
            if self.holds(rest):
                return rest, max(parts - 1, 2)
        return None


def split(sites: Sequence[str], parts: int) -> list[Sites]:
    """As equal as can be."""
    ends = [len(sites) * i // parts for i in range(parts + 1)]
    return [tuple(sites[a:b]) for a, b in pairwise(ends) if a < b]
