#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The answers that come with `overlock reproduce`, and their tables in docs/papers.md.

    tools/reproduced.py ANSWERS.json...

takes what these have decided, or at least run, into lab/reproduce/kept.json;

    tools/reproduced.py --guests

what docs/measured/guest.json says of the rows that are asked of guests under KVM and Xen.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import guest_measured
import kept_json
from lock_pages import table
from overlock_tools.lab.reproduce import answers, kept, rows, show
from overlock_tools.lab.reproduce.answers import OF_VERDICT, Answer, Answers, State, shown
from overlock_tools.lab.reproduce.checks import Check, Found, check, together
from overlock_tools.lab.reproduce.rows import RIG_WORDS, Row, Way

GUESTS = "--guests"
VCPUS, ROUNDS = "1×4", 3


@dataclass(frozen=True)
class Old:
    """A load of docs/measured/guest.json, measured for docs/results/guest-hypervisors.md."""

    rig: str
    load: str
    command: str
    commit: str
    date: str
    slices: str = "kept"


NESTED, XEN = "--accel nested --smp 4", "--accel xen --smp 4 --host-slice 5"
OLD = (
    Old("nested", "loop-nested", NESTED, "7634d1a2", "2026-11-22", "not kept"),
    Old("nested", "loop-nested-kept", f"{NESTED} --host-slice 6", "336bc12d", "2026-11-26"),
    Old("xen", "loop-xen", XEN, "7634d1a2", "2026-11-22"),
)

SHOWN = {State.NOT: f"**{State.NOT}**"}


def taken(new: list[Answers]) -> Answers:
    """The newer one of each row, rig and machine."""
    known = kept.load()
    for one in new:
        one.join(known)
        known = one
    own = [one for one in known if one.ran]
    return Answers(own, known.took_s)


def of_guests() -> Answers:
    """The ends of three rounds are all that is kept: a ratio lies between theirs."""
    return Answers(
        _answer(row, way, old, found)
        for old in OLD
        for row in rows.load()
        if (way := row.way(old.rig)) and (found := _found(way, old))
    )


def _found(way: Way, old: Old) -> list[Found]:
    """Nothing, if a lock was not measured."""
    checks = [check(raw) for raw in way.asked["check"]]
    rates = guest_measured.loads()[old.load].locks
    locks = {lock for one in checks for lock in (*one.locks, one.by or one.locks[0])}
    if not locks <= rates.keys():
        return []
    return [_judged(one, lock, rates) for one in checks for lock in one.locks]


def _judged(asked: Check, lock: str, rates: Mapping[str, Mapping[str, Any]]) -> Found:
    assert (asked.measure, asked.by is None) == ("rate", False), "only ratios of rates are kept"
    ours, theirs = rates[lock][VCPUS], rates[str(asked.by)][VCPUS]
    ends = ours["least"] / theirs["most"], ours["most"] / theirs["least"]
    verdicts = asked.worst(*ends), asked.best(*ends)
    what = asked.what(lock, str)
    middle = ours["median"] / theirs["median"]
    return Found(what, "4 vCPUs", asked.paper, middle, *ends, *verdicts, count=ROUNDS)


def _answer(row: Row, way: Way, old: Old, found: list[Found]) -> Answer:
    load = guest_measured.loads()[old.load]
    state = OF_VERDICT[together(found)]
    few = f"six rounds: these {ROUNDS} are of {old.date}, on 2 CPUs with slices {old.slices}"
    takes = "six rounds: the three that are kept do not agree"
    told = [shown(one) for one in found]
    return Answer(
        row.id,
        old.rig,
        state,
        "; ".join(filter(None, (way.lacks, few))),
        told,
        "" if state == State.HOLDS else way.why,
        takes if state == State.OPEN else "",
        commands=[f"overlock guest run {old.command} --rounds {ROUNDS} --lock {_locks(way)}"],
        commit=old.commit,
        machine=f"{load.raw['machine']}, translated",
        date=old.date,
    )


def _locks(way: Way) -> str:
    checks = [check(raw) for raw in way.asked["check"]]
    return ",".join(dict.fromkeys(x for c in checks for x in (*c.locks, c.by or c.locks[0])))


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


def main(words: list[str]) -> None:
    new = [of_guests()] if words == [GUESTS] else [answers.read(Path(path)) for path in words]
    kept_json.write(kept.FILE, taken(new).to_json())


if __name__ == "__main__":
    main(sys.argv[1:])
