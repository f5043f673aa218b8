#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The answers that come with `overlock reproduce`, and their tables in docs/papers.md.

    tools/reproduced.py ANSWERS.json...

takes what these have decided, or at least run, into lab/reproduce/kept.json.
"""

import sys
from functools import cache
from pathlib import Path

import kept_json
from lock_pages import table
from overlock_tools.lab.reproduce import answers, kept, rows, show
from overlock_tools.lab.reproduce.answers import Answers, State
from overlock_tools.lab.reproduce.rows import RIG_WORDS

SHOWN = {State.NOT: f"**{State.NOT}**"}


def taken(paths: list[Path]) -> Answers:
    """The newer one of each row, rig and machine."""
    known = kept.load()
    for path in paths:
        new = answers.read(path)
        new.join(known)
        known = new
    own = [one for one in known if one.ran]
    return Answers(own, known.took_s)


@cache
def known() -> Answers:
    return kept.load()


def counts() -> str:
    """Without the star: the tables here have no such mark."""
    return show.counts(rows.load(), known()).replace(" * does not meet it.", "") + "\n"


def verdicts(paper: str) -> str:
    told = []
    for row in rows.load():
        if row.paper == paper:
            best = known().best(row)
            state = SHOWN.get(best.state, best.state) if best else show.NOT_RUN
            by = RIG_WORDS[best.rig] if best else ""
            lacks = best.lacks if best else ""
            told.append([row.where, row.says, state, by, lacks])
    return table(["where", "the paper", "here", "by", "which lacks"], told)


def main(paths: list[str]) -> None:
    kept_json.write(kept.FILE, taken([Path(path) for path in paths]).to_json())


if __name__ == "__main__":
    main(sys.argv[1:])
