# SPDX-License-Identifier: MIT
"""What needs no run: the papers' own arithmetic, and what our source of a lock is.

Key of a way: `fact`, a function of FACTS.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from overlock_tools.core.model import defs
from overlock_tools.core.system import native
from overlock_tools.lab.reproduce.answers import shown
from overlock_tools.lab.reproduce.checks import Found, Verdict, together
from overlock_tools.lab.reproduce.rigs.base import Asked, Judged, Known, Place, Source
from overlock_tools.lab.reproduce.rows import Way


def _exact(what: str, at: str, paper: float, value: float, within: float) -> Found:
    """Holds within a share of the paper's number, in shape on the same side of half and twice."""
    if paper * (1 - within) <= value <= paper * (1 + within):
        verdict = Verdict.HOLDS
    else:
        verdict = Verdict.PARTLY if paper / 2 <= value <= paper * 2 else Verdict.NOT
    return Found(what, at, paper, value, value, value, verdict, verdict, count=1)


# Teabe et al. 2017


def slices_and_sections() -> list[Found]:
    """Waiters with tickets that a slice outlasts: §5.2."""
    csd_us = 6
    return [
        _exact("waiters until a slice is too short", "30 ms, 6 µs", 5000, 30_000 / csd_us, 0.01),
        _exact("waiters until a slice is too short", "50 ms, 6 µs", 8333, 50_000 / csd_us, 0.01),
    ]


PRINTED = {  # Table 1: spinning cycles, all cycles, share in percent
    "kernbench, 4": (2.223e8, 2.3e11, 0.01),
    "kernbench, 8": (5.452e11, 6.3e11, 87.9),
    "kernbench, 12": (6.70e11, 7.7e11, 87.01),
    "pbzip2, 4": (1.3e8, 2.67e11, 0.4),
    "pbzip2, 8": (5.1e10, 1.94e11, 26.1),
    "pbzip2, 12": (5.4e11, 6.41e11, 84.5),
}


def shares_of_spinning() -> list[Found]:
    """The table's last column from its columns before."""
    return [
        _exact("spinning ÷ total, %", f"{where} vCPUs", printed, 100 * spun / total, 0.03)
        for where, (spun, total, printed) in PRINTED.items()
    ]


# Ouyang & Lange 2013


def shares_of_waiters() -> list[Found]:
    """Table 1: Nw ÷ (Nh + Nw)."""
    printed = {
        "hackbench, 1 VM": (452, 1089, 41.5),
        "hackbench, 2 VMs": (39221, 44342, 88.5),
        "ebizzy, 1 VM": (166, 294, 56.5),
        "ebizzy, 2 VMs": (980, 1017, 96.4),
    }
    return [
        _exact("Nw ÷ (Nh + Nw), %", where, share, 100 * waiters / all_, 0.005)
        for where, (waiters, all_, share) in printed.items()
    ]


def lines_of_preemptable_ticket() -> list[Found]:
    """What is not blank, no comment and not the preprocessor's."""
    text = re.sub(r"/\*.*?\*/", "", _header("preemptable_ticket"), flags=re.DOTALL)
    code = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [_exact("lines of code", "our header", 60, len(code), 0.5)]


def _header(lock: str) -> str:
    return (native.include() / f"overlock/lock/{lock}.h").read_text()


# Rao & Dunlap 2012


def tickets_beside_the_flag() -> list[Found]:
    """By how much a ticket advances, where the lowest bit says that somebody sleeps."""
    found = re.search(r"define OL_PVT_ONE\s+(\d+)u", _header("pv_ticket"))
    one = float(found[1]) if found else 0.0
    return [_exact("CPUs of a ticket lock ÷ of a pv_ticket", "as wide", 2, one, 0)]


# Dice & Kogan 2019

SLOT = 8  # bytes of the waiting array
SLOTS = 4096
SECTOR = 128
PRIME = 127


def neighbours_in_other_sectors() -> list[Found]:
    """§2: adjacent tickets have slots in different sectors, whatever the lock's address."""
    same = total = 0
    for lock in range(0, 1 << 16, 8 * 61):
        slots = [((ticket * PRIME) ^ lock) & (SLOTS - 1) for ticket in range(SLOTS + 1)]
        sectors = [slot * SLOT // SECTOR for slot in slots]
        same += sum(one == two for one, two in pairwise(sectors))
        total += SLOTS
    return [_none("pairs of adjacent tickets in one sector", f"{total:,} pairs", same)]


def _none(what: str, at: str, count: float) -> Found:
    verdict = Verdict.HOLDS if count == 0 else Verdict.NOT
    return Found(what, at, 0, count, count, count, verdict, verdict, count=1)


def size_of_twa() -> list[Found]:
    """§2: the instance size remains the same."""
    locks = defs.load().locks
    return [_exact("bytes of twa ÷ ticket", "", 1, locks["twa"].size / locks["ticket"].size, 0)]


# Long


def steals_before_the_queue() -> list[Found]:
    """The share of the printed counts: "most of the lock stealing"."""
    counts = (172219, 2377, 425, 118, 33, 8, 5, 12, 14)
    return [
        _exact(
            "steals before queueing ÷ all, %", "printed", 98.3, 100 * counts[0] / sum(counts), 0.01
        )
    ]


FACTS: Mapping[str, Callable[[], list[Found]]] = {
    one.__name__: one
    for one in (
        slices_and_sections,
        shares_of_spinning,
        shares_of_waiters,
        lines_of_preemptable_ticket,
        tickets_beside_the_flag,
        neighbours_in_other_sectors,
        size_of_twa,
        steals_before_the_queue,
    )
}


class Fact(Source):
    def __init__(self, name: str) -> None:
        super().__init__(f"computed {name}", 0.1)
        self.fact = FACTS[name]
        self.found: list[Found] = []

    def advance(self, _: Place) -> str:
        self.found = self.fact()
        self.is_over = True
        return ""


class Computed(Asked):
    def __init__(self, way: Way, known: Known) -> None:
        self.why = way.why
        self.fact = known.source(Fact(way.asked["fact"]))
        self.sources: Sequence[Source] = [self.fact]

    def judge(self) -> Judged:
        if not self.fact.found:
            return Judged(Verdict.NOTHING)
        verdict = together(self.fact.found)
        told: list[dict[str, Any]] = [shown(one) for one in self.fact.found]
        return Judged(verdict, told, "" if verdict == Verdict.HOLDS else self.why)
