# SPDX-License-Identifier: MIT
"""The simulator: claims of simulated/claims.toml, each with the seeds' range.

Keys of a way: `claims`, their ids; the row's own id, if it is left out.
"""

from collections.abc import Sequence

from overlock_tools.lab.reproduce.answers import shown
from overlock_tools.lab.reproduce.checks import WORTH, Verdict
from overlock_tools.lab.reproduce.rigs.base import Asked, Judged, Known, Place, Source
from overlock_tools.lab.reproduce.rows import Way
from overlock_tools.lab.reproduce.simulated import claims

PROGRAM = "overlock-sim"
USUAL_S = 60.0


class Claim(Source):
    def __init__(self, claim: str, known: Known) -> None:
        name = f"simulated {claim}"
        needed = [f"native {PROGRAM}"]
        super().__init__(name, known.kept_s.get(name, USUAL_S), needed)
        self.claim, self.cluster = claims.claims()[claim], known.cluster
        self.judged: claims.Judged | None = None

    def advance(self, place: Place) -> str:
        self.is_over = True
        runs = claims.load([self.claim])
        claims.simulate(runs, place.folder / "runs", self.cluster)
        self.judged = claims.judge(self.claim, runs)
        return next(iter(runs.failures), "")


def ids(way: Way, row: str) -> list[str]:
    return list(way.asked.get("claims", [row]))


class Simulated(Asked):
    def __init__(self, way: Way, known: Known, row: str) -> None:
        self.claims = [known.source(Claim(claim, known)) for claim in ids(way, row)]
        self.sources = self.claims

    def judge(self) -> Judged:
        """Of all claims of a row."""
        all_ = [one.judged for one in self.claims if isinstance(one, Claim) and one.judged]
        if len(all_) < len(self.claims) or any(one.failed for one in self.claims):
            return Judged(Verdict.NOTHING)
        verdict = _together([one.verdict for one in all_])
        reasons = " ".join(filter(None, (one.why for one in all_)))
        found = [shown(found) for one in all_ for found in one.found]
        return Judged(verdict, found, reasons, _takes(verdict))


def _together(verdicts: Sequence[Verdict]) -> Verdict:
    """Of several claims that are one row's."""
    if len(set(verdicts)) == 1:
        return verdicts[0]
    if open_ := [one for one in verdicts if one not in WORTH]:
        return open_[0]
    worth = sum(WORTH[one] for one in verdicts) / len(verdicts)
    return Verdict.PARTLY if worth >= 0.5 else Verdict.NOT


def _takes(verdict: Verdict) -> str:
    return {
        Verdict.UNDECIDED: "more seeds: the eight of the scenario do not agree",
        Verdict.VACUOUS: "a load that contends: neither lock took 1 % of the CPU time",
    }.get(verdict, "")
