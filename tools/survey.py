#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the tables of docs/survey.md and docs/results/survey.md: programs with locks of their own.

lab/survey/programs.toml has the programs. tools/survey.py PATH... updates docs/measured/survey.json
with the folders of `overlock apps run`: for each program, situation and lock the median rate with
the fewest threads and, for more threads, the rate and the CPU time for a unit of work, both
relative to that. tools/survey.py --apps prints the installed programs; `make survey` measures them.
"""

import argparse
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import kept_json
from apps_measured import rounded, run_on, short
from lock_pages import table
from overlock_tools.apps.catalogue import APPS
from overlock_tools.core.analyze.paper_claims import compared
from overlock_tools.core.model.quantities import factor, si
from overlock_tools.core.model.results import Result, from_file
from overlock_tools.core.system.errors import Fail

TOP = Path(__file__).resolve().parent.parent
PROGRAMS = TOP / "lab/survey/programs.toml"
FILE = TOP / "docs/measured/survey.json"
NOTHING = "nothing"
RUN = "overlock apps run "
NOT_YET = "not measured yet"
UNPROVEN = {"neighbours": "not always all at once"}
MULTIPLES = ("1", "4", "8")  # threads for each CPU

WAITS = {
    "queue": "in a queue, and never sleep",
    "spin": "spin only",
    "yield": "yield",
    "sleep": "sleep sooner or later",
}
KINDS = (
    *("MPI", "OpenMP", "allocator", "database", "DNS", "genomics", "language", "library"),
    *("packets", "proxy", "storage", "virtual machines"),
)
SERVED = {
    "run": "`overlock run`",
    "adapter": "`overlock run`",
    "header": "a header with the same API, and a rebuild",
    "source": "a change of its source",
    "none": NOTHING,
}


@dataclass(frozen=True)
class Source:
    path: str
    repo: str = ""
    package: str = ""
    url: str = ""
    commit: str = ""
    version: str = ""

    @property
    def problem(self) -> str:
        if sum(map(bool, (self.repo, self.package, self.url))) != 1:
            return "names not one of repo, package and url"
        if self.commit and not re.fullmatch(r"[0-9a-f]{40}", self.commit):
            return f"has the commit {self.commit}, not 40 hexadecimal digits"
        if not self.url and bool(self.commit) == bool(self.version):
            return "has not one of commit and version"
        return "" if self.path else "has no path"

    @property
    def link(self) -> str:
        if self.package:
            place = f"https://sources.debian.org/src/{self.package}/{self.version}/{self.path}"
        else:
            place = f"https://github.com/{self.repo}/blob/{self.commit or self.version}/{self.path}"
        return f"[{self.path.rpartition('/')[2]}]({self.url or place})"


@dataclass(frozen=True)
class Program:
    id: str
    name: str
    kind: str
    waits: str
    fifo: bool
    lock: str
    how: str
    served: str
    free: str = ""  # its own setting, the first remedy
    apps: tuple[str, ...] = ()
    unconfirmed: str = ""
    read: tuple[Source, ...] = field(default=())

    @property
    def problems(self) -> Iterator[str]:
        for name, known in (("kind", KINDS), ("waits", WAITS), ("served", SERVED)):
            if getattr(self, name) not in known:
                yield f"{name} is {getattr(self, name)!r}, not one of {', '.join(known)}"
        if self.waits == "queue" and not self.fifo:
            yield "waits in a queue, but not in the order of arrival"
        for app in self.apps:
            if app not in APPS:
                yield f"{app} is no program of `overlock apps list`"
        if not self.read:
            yield "has no source"
        yield from (f"{source.path} {source.problem}" for source in self.read if source.problem)

    @property
    def remedy(self) -> str:
        """The free one first."""
        ours = SERVED[self.served]
        if not self.free:
            return ours
        return self.free if ours == NOTHING else f"{self.free}; else {ours}"

    @property
    def row(self) -> list[str]:
        doubt = f" (not confirmed: {self.unconfirmed})" if self.unconfirmed else ""
        order = "FIFO; " if self.fifo else ""
        sources = ", ".join(source.link for source in self.read)
        name = f"{self.kind}: {self.name}"
        return [name, order + self.lock, self.how + doubt, self.remedy, sources]


def _program(raw: dict[str, Any]) -> Program:
    """Of one table of the file; refused in one line."""
    name = raw.get("id", "a program without an id")
    try:
        sources = tuple(Source(**source) for source in raw.pop("read", ()))
        program = Program(apps=tuple(raw.pop("apps", ())), read=sources, **raw)
    except TypeError as error:
        raise Fail(f"{PROGRAMS.name}: {name}: {error}") from error
    for problem in program.problems:
        raise Fail(f"{PROGRAMS.name}: {name}: {problem}")
    return program


def parse(text: str) -> dict[str, Program]:
    found: dict[str, Program] = {}
    for raw in tomllib.loads(text)["program"]:
        program = _program(raw)
        if program.id in found:
            raise Fail(f"{PROGRAMS.name}: there are two programs {program.id}")
        found[program.id] = program
    return found


@cache
def programs() -> dict[str, Program]:
    return parse(PROGRAMS.read_text())


def waiting(waits: str) -> str:
    """The programs whose waiters wait like that."""
    headings = ["program", "lock", "how a waiter waits", "what to do", "read in"]
    return table(headings, [one.row for one in programs().values() if one.waits == waits])


def counts() -> str:
    """How many locks there are of each kind of waiting, and what serves them."""
    groups = {"without a rebuild": ("run", "adapter"), "after a rebuild": ("header",)}
    rows = []
    for waits, words in WAITS.items():
        there = [one for one in programs().values() if one.waits == waits]
        served = [str(sum(one.served in group for one in there)) for group in groups.values()]
        rows.append([f"[{words}](#waiters-{waits})", str(len(there)), *served])
    return table(["waiters", "locks", *(f"served {name}" for name in groups)], rows)


def apps() -> list[str]:
    """What can be measured, in the order of the tables."""
    return list(dict.fromkeys(app for one in programs().values() for app in one.apps))


def situation(result: Result) -> str:
    """What was set up around the program, in words."""
    settings = dict(result.scenario.get("settings", {}))
    words = [f"{copies} copies"] if (copies := settings.pop("neighbours", "")) else []
    words += [f"CPU quota {quota}"] if (quota := settings.pop("quota", "")) else []
    words += [f"{name} {value}" for name, value in settings.items()]
    unproven = [
        name for name, proof in result.scenario.get("proof", {}).items() if not proof["held"]
    ]
    words += [UNPROVEN.get(name, f"{name} was not in force") for name in unproven]
    return ", ".join(words) or "alone"


def _more(result: Result, lock: str, threads: int) -> dict[str, Any]:
    """Relative to the fewest threads of the same lock."""
    if given_up := result.given_up(lock, threads):
        return {"why": short(given_up.why)}
    one, least = (lock, threads), (lock, result.threads[0])
    found: dict[str, Any] = {}
    if (ratio := compared(result, one, least)) and ratio.low is not None and ratio.high is not None:
        found["ratio"] = rounded(ratio.value)
        found["interval"] = [rounded(ratio.low), rounded(ratio.high)]
    if cpu := compared(result, one, least, "cpu"):
        found["cpu"] = rounded(cpu.value)
    return found


def shortened(result: Result, known: dict[str, Any]) -> dict[str, Any]:
    """The result, merged with earlier ones of the same program."""
    if known.get("unit") != result.unit:
        known = {"unit": result.unit, "runs": {}, "rates": {}}
    run_on(result, known["runs"])
    place = known["rates"].setdefault(situation(result), {})
    for lock in result.variants:
        if (rate := result.median_rate(lock, result.threads[0])) is not None:
            multiples = {str(n // result.cpus): n for n in result.threads[1:]}
            more = {name: _more(result, lock, n) for name, n in multiples.items()}
            place[lock] = {"rate": rounded(rate), **more}
    return known


@cache
def numbers() -> dict[str, Any]:
    return dict(json.loads(FILE.read_text())) if FILE.exists() else {}


def _cell(found: dict[str, Any]) -> str:
    if "ratio" not in found:
        return str(found.get("why", "·"))
    low, high = (factor(value) for value in found["interval"])
    return f"{factor(found['ratio'])}× ({low} – {high})"


def _measured_row(lock: str, found: dict[str, Any]) -> list[str]:
    more = [found.get(multiple, {}) for multiple in MULTIPLES[1:]]
    cpu = f"{factor(more[-1]['cpu'])}×" if "cpu" in more[-1] else "·"
    return [f"`{lock}`", f"{si(found['rate']).strip()}/s", *map(_cell, more), cpu]


def measured() -> str:
    """A row for each program, situation and lock; one for a program that was not measured."""
    rows = []
    for app in apps():
        places = numbers().get(app, {}).get("rates", {})
        rows += [
            [f"`{app}`", place, *_measured_row(lock, found)]
            for place, locks in places.items()
            for lock, found in locks.items()
        ]
        if not places:
            rows.append([f"`{app}`", NOT_YET, *["·"] * (len(MULTIPLES) + 2)])
    threads = [f"{multiple}× threads" for multiple in MULTIPLES]
    return table(["program", "situation", "lock", *threads, "CPU time at 8×"], rows)


def commands() -> str:
    """What measured it, once each."""
    runs: dict[str, list[str]] = {}
    for found in numbers().values():
        for machine, those in found["runs"].items():
            runs.setdefault(machine, []).extend(those)
    if not runs:
        return "Nothing was measured yet.\n"
    said = []
    for machine, those in runs.items():
        said += [f"On {machine}:", "\n".join(f"    {line}" for line in _together(those))]
    return "\n\n".join(said) + "\n"


def _together(commands: list[str]) -> list[str]:
    """Commands that differ only in the program become one."""
    programs: dict[str, list[str]] = {}
    for command in dict.fromkeys(commands):
        name, _, options = command.removeprefix(RUN).partition(" ")
        programs.setdefault(options, []).append(name)
    return [f"{RUN}{' '.join(names)} {options}" for options, names in programs.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description="The survey of docs/survey.md.")
    parser.add_argument("--apps", action="store_true", help="print the programs that are installed")
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH")
    options = parser.parse_args()
    if options.apps:
        print(" ".join(app for app in apps() if not APPS[app].missing()))
    if not options.paths:
        return
    found = dict(numbers())
    for path in options.paths:
        if not any(path.glob("*.json")):
            parser.error(f"{path}: no folder of results")
        for result in map(from_file, sorted(path.glob("*.json"))):
            name = result.kind.removeprefix("program-")
            found[name] = shortened(result, found.get(name, {}))
    kept_json.write(FILE, found)


if __name__ == "__main__":
    main()
