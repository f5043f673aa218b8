# SPDX-License-Identifier: MIT
"""The answers that come with Overlock, each with its machine and commit."""

from collections.abc import Iterator
from pathlib import Path

from overlock_tools.lab.reproduce import answers, rows
from overlock_tools.lab.reproduce.answers import ANY_MACHINE, OF_VERDICT, Answer, Answers
from overlock_tools.lab.reproduce.rigs import simulated

FILE = Path(__file__).with_name("kept.json")


def load() -> Answers:
    known = answers.read(FILE) if FILE.exists() else Answers()
    known.join(Answers(_simulated()))
    return known


def _simulated() -> Iterator[Answer]:
    """From the claims of simulated/found.json, which the tables of the docs show, too."""
    found = simulated.kept()
    for row in rows.load():
        way = row.way("simulated")
        names = simulated.ids(way, row.id) if way else []
        if way and all(name in found.claims for name in names):
            judged = simulated.judged([found.claims[name] for name in names])
            state = OF_VERDICT[judged.verdict]
            yield Answer(
                row.id,
                way.rig,
                state,
                way.lacks,
                judged.found,
                judged.why,
                judged.takes,
                commands=[simulated.command(name) for name in names],
                commit=found.made(names, "commit"),
                machine=ANY_MACHINE,
                date=found.made(names, "date"),
            )
