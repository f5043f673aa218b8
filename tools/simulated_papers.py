#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tables of docs/results/simulator_papers.md, of what `overlock sim papers` found.

    tools/simulated_papers.py RESULT.json...

takes the claims of these results into the found.json of lab/reproduce/simulated. Claims that were
not run again keep their numbers; those that claims.toml no longer has are dropped.
"""

import datetime
import json
import sys
import textwrap
from collections import Counter
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import kept_json
from lock_pages import table
from overlock_tools.core.system import native
from overlock_tools.lab.reproduce.checks import Verdict
from overlock_tools.lab.reproduce.simulated import claims as papers
from overlock_tools.lab.reproduce.simulated import why
from overlock_tools.lab.reproduce.simulated.words import number, ranged

TOP = Path(__file__).resolve().parent.parent
FILE = TOP / "python/overlock_tools/lab/reproduce/simulated/found.json"
NAMES = {
    "ouyang2013": "Ouyang & Lange 2013",
    "rao2012": "Rao & Dunlap 2012",
    "teabe2017": "Teabe et al. 2017",
    "long": "Long (slides)",
    "dice2019": "Dice & Kogan 2019",
}
SHOWN = {
    Verdict.HOLDS: "holds",
    Verdict.PARTLY: "partly",
    Verdict.NOT: "**not**",
    Verdict.UNDECIDED: "undecided",
    Verdict.VACUOUS: "vacuous",
}
TOLD = (Verdict.UNDECIDED, Verdict.VACUOUS)  # of single values, too
FEW = 3  # numbers that are listed; of more, the range
WIDTH = 120


def taken(kept: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The kept result with the claims of the new one in their places."""
    made = {"commit": commit(), "date": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}"}
    fresh = [claim | made for claim in new["claims"]]
    claims = {claim["id"]: claim for claim in (*kept["claims"], *fresh)}
    asked = [claim.id for claim in papers.claims()]
    return {
        **kept,
        "scenarios": kept["scenarios"] | new["scenarios"],
        "claims": [claims[name] for name in asked if name in claims],
    }


def commit() -> str:
    return native.commit(TOP).removeprefix("commit ")


@cache
def known() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text())
    return found


def claims(paper: str) -> list[dict[str, Any]]:
    return [claim for claim in known()["claims"] if claim["paper"] == paper]


def counts() -> str:
    rows = []
    for paper, name in NAMES.items():
        of = Counter(claim["verdict"] for claim in claims(paper))
        rows.append([name, *(str(of[verdict]) for verdict in SHOWN)])
    return table(["claims of", *(word.strip("*") for word in SHOWN.values())], rows)


def verdicts(paper: str) -> str:
    rows = [
        [
            claim["figure"],
            claim["claim"],
            SHOWN[Verdict(claim["verdict"])],
            "<br>".join(_groups(claim["found"])),
        ]
        for claim in claims(paper)
    ]
    return table(
        ["where", "the paper", "verdict", "the simulator (range of the seeds) [the paper]"], rows
    )


def _groups(found: list[dict[str, Any]]) -> list[str]:
    """Points of one check together."""
    return [_group(what, list(same)) for what, same in groupby(found, lambda one: one["what"])]


def _group(what: str, same: list[dict[str, Any]]) -> str:
    papers = ", ".join(dict.fromkeys(number(one["paper"]) for one in same))
    verdicts = Counter(one["verdict"] for one in same)
    shown = [ranged(one["median"], one["least"], one["most"]) for one in same]
    counted = [f"{verdicts[verdict]} {verdict}" for verdict in TOLD if verdicts[verdict]]
    if len(same) > FEW:
        by_size = sorted(same, key=lambda one: float(one["median"] or 0))
        shown = [shown[same.index(one)] for one in (by_size[0], by_size[-1])]
        counted.insert(0, f"{verdicts[Verdict.HOLDS]} of {len(same)} hold")
    values = (" to " if len(same) > FEW else ", ").join(shown)
    return "; ".join([f"{what} {values} [{papers}]", *counted])


def reasons(paper: str) -> str:
    """Of what is not, or not wholly, as the paper says."""
    lines = [
        f"- **{claim['figure']}** ({claim['verdict']}; `{claim['id']}`): {text}"
        for claim in claims(paper)
        if claim["verdict"] != Verdict.HOLDS
        and (text := " ".join(why.sentences(claim["id"], claim.get("numbers", {}))))
    ]
    wrapped = (
        textwrap.fill(" ".join(line.split()), WIDTH, subsequent_indent="  ", break_on_hyphens=False)
        for line in lines
    )
    return "\n".join(wrapped) + "\n"


def main() -> None:
    found = known()
    for name in sys.argv[1:]:
        found = taken(found, json.loads(Path(name).read_text()))
    kept_json.write(FILE, found)


if __name__ == "__main__":
    main()
