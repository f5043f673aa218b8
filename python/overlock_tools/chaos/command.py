# SPDX-License-Identifier: MIT
"""`overlock chaos`: a plain run, the runs with chaos, the bisection, the report."""

import json
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from overlock_tools.chaos import bisect, by, show
from overlock_tools.chaos.findings import Findings, Report, placed
from overlock_tools.chaos.progress import Progress
from overlock_tools.chaos.record import Site
from overlock_tools.chaos.runs import Program, Run
from overlock_tools.chaos.settings import Length, Settings, checked_kinds, checked_site
from overlock_tools.core.system import children, files, reading
from overlock_tools.core.system.errors import FAILED, INTERRUPTED, USAGE, Fail

LEAST_TIMEOUT_S = 10.0
TIMES_PLAIN = 10  # the time-out, unless one is named
SEEDS_TRIED = 6  # by the bisection, until one fails each time
FIRST_RUNS = 4  # of each


def settings_of(options: dict[str, Any]) -> Settings:
    return Settings(
        options["seed"],
        options["rate"],
        Length.parse(options["length"]),
        checked_kinds(options["at"]) if options["at"] else (),
        tuple(options["sites"]),
        tuple(map(checked_site, options["only"])) or None,
        options["by"],
    )


def _plain(program: Program, timeout: float | None) -> Run:
    run = program.run(None, timeout)
    if run.failed:
        why = f": {run.last_line}" if run.last_line else ""
        raise Fail(
            f"{program.args[0]} fails without chaos, {run.how}{why}; repair that first", FAILED
        )
    return run


def _series(found: Findings, runs: int, stop: bool, progress: Progress) -> None:
    first = found.settings.seed
    for seed in range(first, first + runs):
        failed = len(found.failed)
        progress.tell(f"run {seed - first + 1} of {runs}, seed {seed}; {failed} failed")
        found.runs.append(found.program.run(found.settings.with_seed(seed), found.timeout))
        if stop and found.runs[-1].failed:
            return


@dataclass
class Rerun:
    """A seed that failed, with the sites where a thread lost its CPU then."""

    found: Findings
    run: Run
    progress: Progress

    def __post_init__(self) -> None:
        self.settings = self.found.settings.with_seed(self.run.seed)
        self.every: bisect.Sites = tuple(self.run.slept)
        self.known: dict[str, Site] = dict(self.run.sites)
        self.judge = bisect.Judge(self._fails, self._tell)

    def _fails(self, sites: bisect.Sites) -> bool:
        again = self.found.program.run(self.settings.with_only(sites), self.found.timeout)
        self.known.update(again.sites)
        return again.failed

    def _tell(self, text: str) -> None:
        runs = sum(n for _, n in self.judge.counts.values())
        self.progress.tell(f"bisecting seed {self.run.seed}: {text}, {runs} runs")

    def rate(self, runs: int) -> float:
        self._tell(f"{len(self.every)} sites")
        return self.judge.rate(self.every, runs)

    def bisected(self) -> Report:
        rate = self.rate(bisect.BASE_RUNS)
        if rate < bisect.LEAST_RATE:
            return {"seed": self.run.seed, "sites": [], "why": self._why()}
        kept = bisect.Bisection(self.judge, rate).smallest(self.every)
        others = tuple(site for site in self.every if site not in kept)
        for sites in filter(None, (kept, others)):
            self.judge.rate(sites, bisect.BASE_RUNS)
        return self._report(kept, others)

    def _why(self) -> str:
        k, n = self.judge.counts[self.every]
        return (
            f"it failed again in {k} of {n} runs, too seldom to judge sites by; "
            "try other seeds, or a greater --rate."
        )

    def _report(self, kept: bisect.Sites, others: bisect.Sites) -> Report:
        places, counts = placed(self.known[name] for name in kept), self.judge.counts
        options = replace(self.found.settings, seed=self.run.seed, only=kept).options()
        options += ["--timeout", f"{self.found.timeout:g}"]
        return {
            "seed": self.run.seed,
            "sites": [{"site": name, **places[name]} for name in kept],
            "all_sites": len(self.every),
            "alone": list(counts[kept]),
            "all": list(counts[self.every]),
            "others": list(counts.get(others, (0, 0))),
            "runs": sum(n for _, n in counts.values()),
            "replay": shlex.join(["overlock", "chaos", *options, "--", *self.found.program.args]),
        }


def _bisect(found: Findings, progress: Progress) -> None:
    """The seed that fails most surely tells most."""
    best, best_rate = None, -1.0
    for run in found.failed[:SEEDS_TRIED]:
        rerun = Rerun(found, run, progress)
        rate = rerun.rate(FIRST_RUNS)
        if rate > best_rate:
            best, best_rate = rerun, rate
        if rate == 1:
            break
    if best:
        found.bisection = best.bisected()


def _print_old(path: Path) -> int:
    try:
        report = reading.parsed(files.read_text(path))
        if report.get("version") != 1:
            raise ValueError("it has another version")
        click.echo(show.text(report), nl=False)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Fail(f"{path} is not a file of `overlock chaos --json`: {error}") from error
    return FAILED if report["failures"] else 0


def run(command: tuple[str, ...], options: dict[str, Any]) -> int:
    if options["report"]:
        return _print_old(options["report"])
    if not command:
        raise Fail("there is no program to run; see `overlock chaos --help`", USAGE)
    settings = settings_of(options)
    if options["json_path"]:
        files.check_writable(options["json_path"])
    by.check(settings.by, settings.length)
    children.end_with_us()
    with by.taking(settings.by) as told:
        return _run(Program.prepare(command, told), settings, options)


def _run(program: Program, settings: Settings, options: dict[str, Any]) -> int:
    progress = Progress()
    progress.tell("a run without chaos")
    plain = _plain(program, options["timeout"])
    timeout = options["timeout"] or max(LEAST_TIMEOUT_S, TIMES_PLAIN * plain.seconds)
    found = Findings(program, settings, timeout, plain)
    try:
        _series(found, options["runs"], options["stop"], progress)
        if options["bisect"]:
            _bisect(found, progress)
    except KeyboardInterrupt:
        found.interrupted = True
    progress.done()
    return _tell(found, options["json_path"])


def _tell(found: Findings, path: Path | None) -> int:
    report = found.report()
    if path:
        files.write(path, json.dumps(report, indent=1) + "\n")
    click.echo(show.text(report), nl=False)
    if found.interrupted:
        return INTERRUPTED
    return FAILED if found.failed else 0
