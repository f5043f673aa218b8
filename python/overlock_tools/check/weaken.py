# SPDX-License-Identifier: MIT
"""Every memory order of a lock dropped by itself: is it missed, and by which property?"""

import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from overlock_tools.check import capabilities
from overlock_tools.check.job import Job, Subject
from overlock_tools.check.outcome import FAILS, Outcome
from overlock_tools.check.pool import Task
from overlock_tools.check.source import Lines
from overlock_tools.core.system import native
from overlock_tools.core.system.errors import FAILED, Fail

CAUGHT, EQUIVALENT, OPEN = "caught", "equivalent", "open"
STYLES = {CAUGHT: "green", EQUIVALENT: "cyan", OPEN: "bold red"}
BOTH = "acq_rel"  # an order of two halves, each dropped by itself
HALVES = ("acquire", "release")


@dataclass(frozen=True)
class Site:
    file: str
    line: int
    order: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.order}"


@dataclass(frozen=True)
class Argument:
    """Why nobody would miss an order; check/equivalent.toml."""

    file: str
    order: str
    text: str  # of the line, which may move but not change
    argument: str
    nth: int = 1  # of the lines of that text


@dataclass
class Judged:
    site: Site
    kind: str = OPEN
    outcomes: list[Outcome] = field(default_factory=list)
    argument: str = ""
    refuted: bool = False  # it was argued that nobody would miss it

    @property
    def caught(self) -> Outcome | None:
        return next((one for one in self.outcomes if one.verdict == FAILS), None)

    @property
    def missed_by(self) -> str:
        return self.caught.failure.property if self.caught and self.caught.failure else ""

    @property
    def scenario(self) -> str:
        return self.caught.job.scenario if self.caught else ""

    @property
    def command(self) -> str:
        one = self.caught
        return one.job.command_to_replay(one.failure.replay) if one and one.failure else ""

    @property
    def exhausted(self) -> bool:
        """Nothing was left to explore, in any scenario that applies."""
        ran = [one for one in self.outcomes if not one.refused]
        return bool(ran) and all(one.exhausted for one in ran)

    @property
    def words(self) -> str:
        if self.kind == CAUGHT:
            found = f"{self.missed_by} ({self.scenario})"
            return f"{found}, although argued equivalent" if self.refuted else found
        seen = "all exhausted" if self.exhausted else "not exhausted"
        return f"{seen}: {self.argument}" if self.argument else f"{seen}; no check fails without it"


def sites(subject: Subject, scenarios: Iterable[str], at_once: int) -> list[Site]:
    """What asks for an order in any of those scenarios, in the order of the text."""
    with ThreadPoolExecutor(at_once) as pool:
        answers = list(pool.map(lambda scenario: _asking(subject, scenario), scenarios))
    lines = Lines(subject)
    found: set[Site] = set()
    for entry in " ".join(answers).split():
        file, line, order = entry.rsplit(":", 2)
        for half in HALVES if order == BOTH else (order,):
            if half in HALVES:  # a relaxed one has nothing to lose
                found.add(Site(file, int(line), half, lines.text(file, int(line))))
    if not found:
        raise Fail(f"{subject.shown} has no memory order to relax", FAILED)
    return sorted(found, key=lambda s: (not lines.is_own(s.file), s.file, s.line, s.order))


def _asking(subject: Subject, scenario: str) -> str:
    """FILE:LINE:ORDER of each; nothing where the scenario is not for that lock."""
    load = [f"--load={subject.loaded}"] if subject.loaded else []
    try:
        return capabilities.ask("--sites", subject.name, f"--scenario={scenario}", *load)
    except Fail as error:
        if "is not for" in error.message:
            return ""
        raise Fail(f"scenario {scenario}: {error.message}", error.code) from error


def arguments() -> list[Argument]:
    top = native.checkout()
    path = top / "check/equivalent.toml" if top else None
    return read(path) if path and path.exists() else []


def read(path: Path) -> list[Argument]:
    try:
        entries = tomllib.loads(path.read_text()).get("equivalent", [])
        return [_argument(**entry) for entry in entries]
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise Fail(
            f"{path.name} cannot be read: {error}; an entry is [[equivalent]] with file, order, "
            "text and argument",
            FAILED,
        ) from error


def _argument(*, text: str, **others: Any) -> Argument:
    return Argument(text=" ".join(text.split()), **others)


def argued(site: Site, known: Iterable[Argument], lines: Lines) -> str:
    """The argument for that very line; empty if there is none."""
    same = [n for n, text in enumerate(lines.all(site.file), 1) if text == site.text]
    for one in known:
        if (one.file, one.order, one.text) != (site.file, site.order, site.text):
            continue
        if 0 < one.nth <= len(same) and same[one.nth - 1] == site.line:
            return one.argument
    return ""


def stale(subject: Subject, of: Sequence[Site], known: Iterable[Argument]) -> list[str]:
    """Arguments about the lock's own header that fit no line of it any more."""
    lines = Lines(subject)
    mine = [one for one in known if lines.is_own(one.file)]
    return [
        f"the argument about {one.file}, {one.order}, matches no line of the file: {one.text}"
        for one in mine
        if not any(argued(site, [one], lines) for site in of)
    ]


def task(judged: Judged, jobs: Sequence[Job]) -> Task:
    """One scenario after the other, until one misses the order."""
    for job in jobs:
        outcome = yield replace(job, weaken=str(judged.site))
        judged.outcomes.append(outcome)
        if outcome.verdict == FAILS:
            return


def judge(one: Judged, known: Iterable[Argument], lines: Lines) -> None:
    """Once it has run."""
    one.argument = argued(one.site, known, lines)
    one.refuted = bool(one.caught and one.argument)
    one.kind = CAUGHT if one.caught else EQUIVALENT if one.argument else OPEN


def table(judged: Sequence[Judged], fitted: bool) -> Table:
    """Fitted to the terminal, or in a log with every word in its line."""
    found = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    found.add_column("line", no_wrap=True, justify="right")
    found.add_column("order", no_wrap=True)
    found.add_column("", no_wrap=True)
    found.add_column("failing check, or argument", ratio=2 if fitted else None)
    wide = 3 if fitted else None
    found.add_column("source", ratio=wide, no_wrap=True, overflow="ellipsis", style="dim")
    found.expand = fitted
    for one in judged:
        place = f"{one.site.file.removesuffix('.h')}:{one.site.line}"
        style = "bold red" if one.refuted else STYLES[one.kind]
        found.add_row(place, one.site.order, Text(one.kind, style), one.words, Text(one.site.text))
    return found


def sentence(judged: Sequence[Judged]) -> str:
    kinds = [one.kind for one in judged]
    words = [f"{kinds.count(kind)} {kind}" for kind in STYLES if kind in kinds]
    return f"{len(judged)} memory orders: {', '.join(words)}"
