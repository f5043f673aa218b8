# SPDX-License-Identifier: MIT
"""The simulator: claims of simulated/claims.toml, by as many seeds as decide them.

Keys of a way: `claims`, their ids; the row's own id, if it is left out.
"""

import os
import resource
from collections.abc import Sequence

from overlock_tools.lab.reproduce.answers import shown
from overlock_tools.lab.reproduce.checks import WORTH, Verdict
from overlock_tools.lab.reproduce.rigs.base import Asked, Judged, Known, Place, Source
from overlock_tools.lab.reproduce.rows import Way
from overlock_tools.lab.reproduce.simulated import claims
from overlock_tools.lab.reproduce.simulated.claims import Runs

PROGRAM = "overlock-sim"
SEEDS, MOST_SEEDS = 8, 40  # of a step: fewer cannot decide; and of all
USUAL_S = 20.0  # CPU seconds of a seed


class Simulation(Source):
    """A scenario, which several claims may ask for."""

    def __init__(self, scenario: str, known: Known) -> None:
        name = f"simulated {scenario}"
        self.scenario, self.cluster = scenario, known.cluster
        self.runs, self.seeds = Runs({}), 0
        self.of_seed = known.kept_s.get(f"{name}, a seed", USUAL_S)
        super().__init__(name, self.more_s(), [f"native {PROGRAM}"])

    def advance(self, place: Place) -> str:
        runs = claims.load([self.scenario], range(self.seeds + 1, self.seeds + SEEDS + 1))
        before = _cpu_s()
        share = claims.simulate(runs, place.folder / "runs", self.cluster)
        self.was_kept = not share
        if share and not self.cluster:
            self.of_seed = (_cpu_s() - before) / share / SEEDS
        self.runs.join(runs)
        self.seeds += SEEDS
        self.is_over = self.seeds >= MOST_SEEDS
        return next(iter(runs.failures), "")

    def more_s(self) -> float:
        return self.of_seed * SEEDS / len(os.sched_getaffinity(0))

    def took(self) -> dict[str, float]:
        return {f"{self.name}, a seed": self.of_seed}


def _cpu_s() -> float:
    """Of runs that ended: other work on the machine does not count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def ids(way: Way, row: str) -> list[str]:
    return list(way.asked.get("claims", [row]))


class Simulated(Asked):
    def __init__(self, way: Way, known: Known, row: str) -> None:
        self.claims = [claims.claims()[claim] for claim in ids(way, row)]
        names = claims.scenarios(self.claims)
        self.simulations = [known.source(Simulation(name, known)) for name in names]
        self.sources = self.simulations

    def judge(self) -> Judged:
        """Of all claims of a row."""
        if any(not one.seeds or one.failed for one in self.simulations):
            return Judged(Verdict.NOTHING)
        runs = Runs({})
        for one in self.simulations:
            runs.join(one.runs)
        all_ = [claims.judge(claim, runs) for claim in self.claims]
        verdict = _together([one.verdict for one in all_])
        reasons = " ".join(filter(None, (one.why for one in all_)))
        found = [shown(found) for one in all_ for found in one.found]
        return Judged(verdict, found, reasons, self._takes(verdict))

    def _takes(self, verdict: Verdict) -> str:
        seeds = max(one.seeds for one in self.simulations)
        return {
            Verdict.UNDECIDED: f"more seeds: {seeds} do not agree",
            Verdict.VACUOUS: "a load that contends: neither lock took 1 % of the CPU time",
        }.get(verdict, "")


def _together(verdicts: Sequence[Verdict]) -> Verdict:
    """Of several claims that are one row's."""
    if len(set(verdicts)) == 1:
        return verdicts[0]
    if open_ := [one for one in verdicts if one not in WORTH]:
        return open_[0]
    worth = sum(WORTH[one] for one in verdicts) / len(verdicts)
    return Verdict.PARTLY if worth >= 0.5 else Verdict.NOT
