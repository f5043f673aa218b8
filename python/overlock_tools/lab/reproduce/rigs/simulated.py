# SPDX-License-Identifier: MIT
"""The simulator: claims of simulated/claims.toml, each with the seeds' range.

Keys of a way: `claims`, their ids; the row's own id, if it is left out.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overlock_tools.lab.reproduce.checks import WORTH, Verdict
from overlock_tools.lab.reproduce.rigs.base import Asked, Judged, Known, Place, Source
from overlock_tools.lab.reproduce.rows import Way
from overlock_tools.lab.reproduce.simulated import why

PROGRAM = "overlock-sim"
FOUND = Path(why.__file__).with_name("found.json")
USUAL_S = 60.0


class Claim(Source):
    def __init__(self, claim: str, known: Known) -> None:
        name = f"simulated {claim}"
        needed = [f"native {PROGRAM}"]
        super().__init__(name, known.kept_s.get(name, USUAL_S), needed)
        self.claim, self.cluster = claim, known.cluster
        self.told: dict[str, Any] = {}

    @property
    def commands(self) -> Sequence[str]:
        return [command(self.claim)]

    def advance(self, place: Place) -> str:
        self.is_over = True
        file = place.measured / f"sim-{self.claim}.json"
        words = ["sim", "papers", "--quiet", "--only", self.claim, "-o", str(file)]
        words += ["--cache", str(place.folder / "runs")]
        words += ["--cluster", self.cluster] if self.cluster else []
        if failed := place.overlock(words, file.stem, self.forecast_s):
            return failed
        claims = json.loads(file.read_text())["claims"]
        self.told = next(claim for claim in claims if claim["id"] == self.claim)
        return ""


def ids(way: Way, row: str) -> list[str]:
    return list(way.asked.get("claims", [row]))


def command(claim: str) -> str:
    return f"overlock sim papers --only {claim}"


class Simulated(Asked):
    def __init__(self, way: Way, known: Known, row: str) -> None:
        self.claims = [known.source(Claim(claim, known)) for claim in ids(way, row)]
        self.sources = self.claims

    def judge(self) -> Judged:
        told = [one.told for one in self.claims if isinstance(one, Claim) and one.told]
        return judged(told) if len(told) == len(self.claims) else Judged(Verdict.NOTHING)


def judged(told: Sequence[dict[str, Any]]) -> Judged:
    """Of all claims of a row, as `overlock sim papers` writes them."""
    verdict = _together([Verdict(one["verdict"]) for one in told])
    reasons = " ".join(filter(None, (_reason(one) for one in told)))
    found = [found for one in told for found in one["found"]]
    return Judged(verdict, found, reasons, _takes(verdict))


@dataclass(frozen=True)
class Kept:
    """What comes with Overlock: claims by id, each with the commit and date of its runs."""

    claims: dict[str, dict[str, Any]]

    def made(self, names: Sequence[str], what: str) -> str:
        """`commit` or `date` of these; several, if they were not simulated at once."""
        return ", ".join(dict.fromkeys(str(self.claims[name][what]) for name in names))


def kept() -> Kept:
    body = json.loads(FOUND.read_text())
    about = {"commit": body["commit"], "date": body["date"]}
    return Kept({one["id"]: about | one for one in body["claims"]})


def _reason(told: dict[str, Any]) -> str:
    if told["verdict"] == Verdict.HOLDS:
        return ""
    return " ".join(why.sentences(told["id"], told["numbers"]))


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
