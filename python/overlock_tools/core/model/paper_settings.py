# SPDX-License-Identifier: MIT
"""`--as-in PAPER`: the papers' own settings of what can be measured here, and their statistic.

docs/papers.md has the papers by these numbers.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from overlock_tools.core.system.errors import Fail

ANY = "*"  # the paper's method says nothing about the workload
# The papers as a person reads them, by what options, files and results call them.
CITED = {
    "ouyang2013": "Ouyang & Lange 2013",
    "rao2012": "Rao & Dunlap 2012",
    "teabe2017": "Teabe et al. 2017",
    "long": "Long (slides)",
    "dice2019": "Dice & Kogan 2019",
}


# A paper in a source, and the space before a section of it.
IN_SOURCE = re.compile(rf"(?<![^ ])({'|'.join(CITED)})\b( (?=\d))?")
# What results called them before.
NUMBERED = dict(zip(("000", "001", "002", "003", "004"), CITED, strict=True))


def cited(source: str) -> str:
    """A source for a person to read: "Teabe et al. 2017, 5.2" for "teabe2017 5.2"."""

    def name(found: re.Match[str]) -> str:
        return CITED[found[1]] + (", " if found[2] else "")

    return IN_SOURCE.sub(name, source)


# Statistics, as results name them.
MEDIAN = "median"
RUN_TIMES = "mean and σ of the threads' run times"
ONE_COPY = "one copy at random, and all"
MINISTAT = "ministat at 95 %"


@dataclass(frozen=True)
class Setting:
    """What a paper says of one workload; what it does not say is as it is by default."""

    paper: str
    workload: str
    where: str
    statistic: str
    rounds: int
    seconds: float | None = None
    turns: int | None = None
    threads: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    scenario: dict[str, str] = field(default_factory=dict)


# One list. Long does not say how often he repeated it, Dice & Kogan not of throw and
# stress_latency: 5, as their MutexBench. Teabe et al. do not say how often their threads access the
# memory.
SETTINGS = (
    Setting(
        "ouyang2013", ANY, "§6.1, ebizzy and hackbench", ONE_COPY, 5, scenario={"neighbours": "2"}
    ),
    Setting("rao2012", ANY, "10 times each, ministat", MINISTAT, 10),
    Setting(
        "teabe2017",
        "fairness",
        "§5.2, Fig. 6",
        RUN_TIMES,
        5,
        turns=100_000,
        scenario={"neighbours": "2"},
    ),
    Setting(
        "long",
        "lockloop",
        "run times of a million lock-unlock pairs",
        RUN_TIMES,
        5,
        turns=1_000_000,
        threads="4,8,16,32",
    ),
    Setting("dice2019", "mutexbench", "§4.1, Fig. 2", MEDIAN, 5, seconds=10),
    Setting("dice2019", "throw", "§4.2, Fig. 3", MEDIAN, 5, seconds=10),
    Setting("dice2019", "throw_locked", "§4.2, Fig. 3", MEDIAN, 5, seconds=10),
    Setting("dice2019", "stress_latency", "§4.3, Fig. 4", MEDIAN, 5, seconds=10),
    Setting("dice2019", "invalidation", "§1, Fig. 1", MEDIAN, 100, seconds=10),
)
# Options that change what a paper measured, in words; the unit follows the value.
_WORDS = {
    "seconds": "{:g} s",
    "rounds": "{} rounds",
    "turns": "{} turns",
    "threads": "{} threads",
    "neighbours": "{} neighbours",
}
PAPERS = tuple(dict.fromkeys(setting.paper for setting in SETTINGS))


def setting(paper: str, workload: str) -> Setting:
    of_paper = [s for s in SETTINGS if s.paper == paper]
    for found in of_paper:
        if found.workload in (workload, ANY):
            return found
    having = ", ".join(s.workload for s in of_paper)
    other = ", ".join(sorted({s.paper for s in _of(workload)}))
    raise Fail(
        f"--as-in {paper}: {CITED[paper]} measures {having}, not {workload}; for {workload}, give "
        f"--as-in {other}"
    )


def has(paper: str, workload: str) -> bool:
    return any(s.paper == paper for s in _of(workload))


def _of(workload: str) -> Iterable[Setting]:
    return (s for s in SETTINGS if s.workload in (workload, ANY))


def otherwise(setting: Setting, options: dict[str, Any], given: set[str]) -> str:
    """What was asked for that the paper has otherwise: "0.3 s, 3 rounds"."""
    papers = {**vars(setting), **setting.parameters, **setting.scenario}
    free = {name for name in ("threads", "neighbours") if papers.get(name) is None}
    changed = [
        words.format(options[name])
        for name, words in _WORDS.items()
        if name in given - free and options[name] != papers[name]
    ]
    changed += [f"{name} {options[name]}" for name in sorted(setting.parameters) if name in given]
    return ", ".join(changed)
