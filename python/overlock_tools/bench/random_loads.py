# SPDX-License-Identifier: MIT
"""overlock bench random: drawn loads, a result file each, and a verdict on all of them."""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from overlock_tools.bench import bench, campaign, conditions, matrix
from overlock_tools.bench.bench import Asked
from overlock_tools.bench.campaign import Part
from overlock_tools.bench.executor import Executor
from overlock_tools.bench.subjects import Subjects
from overlock_tools.core.analyze import random_loads
from overlock_tools.core.analyze.random_loads import NATIVE, OURS, PEER, Document, Judged, Load
from overlock_tools.core.model import defs, drawn_loads
from overlock_tools.core.model.drawn_loads import DrawnLoad, Half
from overlock_tools.core.model.results import Result
from overlock_tools.core.render import random_loads as shown
from overlock_tools.core.system import files, machine
from overlock_tools.core.system.errors import Fail
from overlock_tools.core.system.terminal import console as terminal

PICTURES = (".png", ".svg")
OTHERS = ("peers",)
# Options of the other commands: the loads decide these.
NOT_ASKED: dict[str, Any] = {
    **dict.fromkeys(
        ("threads", "turns", "as_in", "pilot", *(s.name for s in conditions.SCENARIOS))
    ),
    "counters": False,
    "no_latency": False,
}


def chosen(options: Mapping[str, Any]) -> list[DrawnLoad]:
    half = Half(options["half"])
    return drawn_loads.chosen(options["seed"], half, options["count"], options["only"])


@dataclass(frozen=True)
class Campaign:
    """What all loads share."""

    asked: Asked
    known: Subjects
    ours: str
    again: str  # the lock under test by another name

    def part(self, load: DrawnLoad) -> Part:
        """Begun, or as far as it had come."""
        asked = self.asked
        made = load.at(asked["cpus"] or machine.cpus(), asked["threads_at_most"])
        mine = Asked(asked.options | made.options, asked.given | set(made.options) | {"seed"})
        plan = bench.planned(self.known.workloads[load.workload], mine, self.known)
        plan = replace(plan, always=(self.ours, self.again, NATIVE))
        part = matrix.part(plan, self.known, mine, asked["output"] / f"load-{load.number:04}.json")
        title = f"load {load.number}: {load.what}, {made.options['threads']} threads"
        return replace(part, name=title, show=lambda result, out: self._show(load, result, out))

    def judged(self, load: DrawnLoad, result: Result) -> Judged | None:
        made = load.at(result.cpus, self.asked["threads_at_most"])
        repeat = drawn_loads.command(made, [OURS, PEER], PEER)
        about = Load(load.number, load.what, repeat, load.processes, files=self.asked.headers)
        return random_loads.judge(result, about, self.ours, self.again)

    def _show(self, load: DrawnLoad, result: Result, out: Console) -> None:
        one = self.judged(load, result)
        said = shown.line(one) if one else f"load {load.number}: too few rounds to judge"
        out.print(said, soft_wrap=True)

    def document(self, loads: Sequence[DrawnLoad], parts: Sequence[Part]) -> Document:
        pairs = zip(loads, parts, strict=True)
        judged = {load.number: self.judged(load, part.job.result) for load, part in pairs}
        return Document(
            command=self._command(),
            machine=machine.headline(machine.facts()),
            ours=self.ours,
            seed=self.asked["seed"],
            half=self.asked["half"],
            simulated=False,
            loads=[one for one in judged.values() if one],
            unjudged=[number for number, one in judged.items() if not one],
        )

    def _command(self) -> str:
        asked = self.asked
        words: list[object] = ["overlock", "bench", "random", "--seed", asked["seed"]]
        words += ["--only", asked["only"]] if asked["only"] else ["--count", asked["count"]]
        words += ["--half", asked["half"], "--baseline", asked["baseline"]]
        words += ["--locks", ",".join(_others(asked)), "--rounds", asked["rounds"]]
        words += ["--seconds", f"{asked['seconds']:g}"]
        for name in ("field", "cpus", "threads_at_most", "knowledge"):
            if name in asked.given:
                words += [f"--{name.replace('_', '-')}", asked[name]]
        return shlex.join(map(str, words))


def _others(asked: Asked) -> Sequence[str]:
    """As they were named: the lock under test and its other name come before them."""
    named: Sequence[str] = asked["locks"]
    return named[2:]


def run(asked: Asked) -> int:
    check_files(asked.options)
    others = asked["locks"] or OTHERS
    again = the_same_again(asked["baseline"])
    locks = {"locks": (asked["baseline"], again, *others)}
    asked = Asked({**NOT_ASKED, **asked.options, **locks}, asked.given)
    loads, console, folder = chosen(asked.options), terminal(), asked["output"]
    with bench.serving(asked) as (server, known):
        ours, again = asked.variants(known, "sections")[:2]
        shared = Campaign(asked, known, ours, again)
        parts = [shared.part(load) for load in loads]
        campaign.make(folder)
        campaign.introduce_all(parts, f"{len(parts)} random loads", console)
        code = _measure(server, parts, console, asked["if_busy"])
    tell(shared.document(loads, parts), asked.options, console)
    return campaign.close(code, f"{shlex.quote(str(folder))}/*.json", console)


def _measure(server: Executor, parts: Sequence[Part], console: Console, if_busy: str) -> int:
    for part in parts:
        if not part.job.to_do and not part.job.result.complete:
            part.job.result.complete = True  # it was killed before it said so
            campaign.keep(part, console)
    if not any(part.job.to_do for part in parts):
        return 0
    warnings = campaign.quiet_enough(if_busy, console)
    return campaign.run_all(server, parts, console, warnings, None)


def the_same_again(lock: str) -> str:
    """By another name: with a tunable at the value that it has anyway."""
    tunable = next(t for t in defs.load().tunables.values() if f"@{t.name}=" not in lock)
    return f"{lock}@{tunable.name}={os.environ.get(tunable.variable, tunable.default)}"


# The files of both commands, bench and sim


def check_files(options: Mapping[str, Any]) -> None:
    """Before hours of work."""
    picture: Path | None = options["plot"]
    if picture and picture.suffix not in PICTURES:
        raise Fail(f"--plot {picture}: expected a name that ends in {' or '.join(PICTURES)}")
    for path in filter(None, (picture, options["json_file"])):
        files.check_writable(path)


def tell(document: Document, options: Mapping[str, Any], console: Console) -> None:
    """The table, and the files that were asked for."""
    shown.show(document, console)
    if options["json_file"]:
        files.write(options["json_file"], document.to_json())
        console.print(f"written: {options['json_file']}")
    if options["plot"] and document.loads:
        from overlock_tools.core.render import random_loads_plot  # slow to import

        random_loads_plot.write(document, options["plot"])
        console.print(f"written: {options['plot']}")
