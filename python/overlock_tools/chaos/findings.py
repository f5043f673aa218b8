# SPDX-License-Identifier: MIT
"""What a series of runs has found, as it is printed, and as it is in the file of --json."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from overlock_tools.chaos.record import Site
from overlock_tools.chaos.runs import Program, Run
from overlock_tools.chaos.settings import Settings
from overlock_tools.core.system import symbols
from overlock_tools.core.system.symbols import Call

VERSION = 1
OF_SYSTEM = ("/usr/include/", "/usr/lib/")  # of what wraps a call, such as std::mutex

Report = dict[str, Any]


def _of_the_program(calls: tuple[Call, ...]) -> Call:
    own = (c for c in calls if c.function and not (c.file or "").startswith(OF_SYSTEM))
    return next(own, calls[0])


def placed(sites: Iterable[Site]) -> dict[str, Report]:
    """By a site's name: its kind, and function, file and line as far as they are known."""
    by_path: dict[str, list[Site]] = defaultdict(list)
    for site in sites:
        by_path[site.path].append(site)
    found = {}
    for path, of in by_path.items():
        calls = symbols.look_up(Path(path), (site.offset for site in of))
        for site in of:
            call = _of_the_program(calls[site.offset]) if site.offset in calls else Call()
            place = {"function": call.function, "file": call.file, "line": call.line}
            found[site.name] = {"kind": site.kind, "object": path, **place}
    return found


@dataclass
class Findings:
    program: Program
    settings: Settings
    timeout: float
    plain: Run
    runs: list[Run] = field(default_factory=list)
    bisection: Report | None = None
    interrupted: bool = False

    @property
    def failed(self) -> list[Run]:
        return [run for run in self.runs if run.failed]

    def sites(self) -> dict[str, Site]:
        """Of all runs together."""
        found: dict[str, Site] = {}
        for run in self.runs:
            for name, site in run.sites.items():
                found[name] = found[name].plus(site) if name in found else site
        return found

    def report(self) -> Report:
        sites = self.sites()
        return {
            "version": VERSION,
            "command": list(self.program.args),
            "options": self.settings.options(),
            "timeout_s": self.timeout,
            "plain_s": self.plain.seconds,
            "interrupted": self.interrupted,
            "runs": [run.to_json() for run in self.runs],
            "failures": _failures(self.failed),
            "sites": _sites(sites, self.runs),
            "bisection": self.bisection,
        }


def _failures(failed: list[Run]) -> list[Report]:
    alike: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in failed:
        alike[run.failure].append(run)
    return [
        {
            "how": how,
            "last_line": runs[0].last_line,
            "seeds": [run.seed for run in runs],
            "stuck": _sum(run.stuck for run in runs),
        }
        for (how, _), runs in sorted(alike.items(), key=lambda one: -len(one[1]))
    ]


def _sum(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = defaultdict(int)
    for one in counts:
        for name, n in one.items():
            total[name] += n
    return dict(sorted(total.items(), key=lambda item: -item[1]))


def _sites(sites: Mapping[str, Site], runs: list[Run]) -> list[Report]:
    failing = [set(run.slept) for run in runs if run.failed]
    passing = [set(run.slept) for run in runs if not run.failed]
    places = placed(sites.values())

    def one(name: str, site: Site) -> Report:
        return {
            "site": name,
            **places[name],
            "visits": site.visits,
            "naps": site.naps,
            "nap_ns": site.nap_ns,
            "taken": site.taken,
            "worst_wait_ns": site.worst_ns,
            "in_failing_runs": sum(name in slept for slept in failing),
            "in_passing_runs": sum(name in slept for slept in passing),
        }

    stuck = {name for run in runs for name in run.stuck}
    told = (n for n, site in sites.items() if site.visits or site.worst_ns or n in stuck)
    made = [one(name, sites[name]) for name in told]
    return sorted(made, key=lambda row: (-_excess(row, len(failing), len(passing)), row["site"]))


def _excess(row: Report, failing: int, passing: int) -> float:
    """How much more often a thread slept there in runs that failed."""
    share = row["in_failing_runs"] / failing if failing else 0.0
    return float(share - (row["in_passing_runs"] / passing if passing else 0.0))
