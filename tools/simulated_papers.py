#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tables of docs/results/simulator_papers.md, of what `overlock sim papers` found.

    tools/simulated_papers.py RESULT.json...

takes the claims of these results into docs/measured/simulator_papers.json. Claims that were not run
again keep their numbers.
"""

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
from overlock_tools.lab.papers.simulated.claims import Verdict, number, why

TOP = Path(__file__).resolve().parent.parent
FILE = TOP / "docs/measured/simulator_papers.json"
NAMES = {
    "ouyang2013": "Ouyang & Lange 2013",
    "teabe2017": "Teabe et al. 2017",
    "long": "Long (slides)",
    "dice2019": "Dice & Kogan 2019",
}
SHOWN = {Verdict.HOLDS: "holds", Verdict.PARTLY: "partly", Verdict.NOT: "**not**"}
FEW = 3  # numbers that are listed; of more, the range
WIDTH = 120


def taken(kept: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The kept result with the claims of the new one in their places."""
    claims = {claim["id"]: claim for claim in new["claims"]}
    places = {claim["id"] for claim in kept["claims"]}
    if unknown := claims.keys() - places:
        raise SystemExit(f"simulated_papers.py: {', '.join(sorted(unknown))}: make all anew")
    return {
        **kept,
        "scenarios": kept["scenarios"] | new["scenarios"],
        "claims": [claims.get(claim["id"], claim) for claim in kept["claims"]],
    }


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
            "; ".join(_groups(claim["found"])),
        ]
        for claim in claims(paper)
    ]
    return table(["where", "the paper", "verdict", "the simulator (the paper)"], rows)


def _groups(found: list[dict[str, Any]]) -> list[str]:
    """Points of one check together."""
    return [_group(what, list(same)) for what, same in groupby(found, lambda one: one["what"])]


def _group(what: str, same: list[dict[str, Any]]) -> str:
    values = [one["median"] for one in same]
    papers = list(dict.fromkeys(number(one["paper"]) for one in same))
    held = sum(one["verdict"] == Verdict.HOLDS for one in same)
    ends = sorted(values, key=lambda v: float("-inf") if v is None else float(v))
    few = len(same) <= FEW
    shown = ", ".join(map(number, values)) if few else f"{number(ends[0])} to {number(ends[-1])}"
    count = "" if few else f", {held} of {len(same)} hold"
    return f"{what} {shown} ({', '.join(papers)}){count}"


def reasons(paper: str) -> str:
    """Of what is not, or not wholly, as the paper says."""
    texts = why()
    lines = [
        f"- **{claim['figure']}** ({claim['verdict']}; `{claim['id']}`): {texts[claim['id']]}"
        for claim in claims(paper)
        if claim["verdict"] != Verdict.HOLDS and claim["id"] in texts
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
