# SPDX-License-Identifier: MIT
"""overlock bench matrix: many workloads, a result file each, completed by the same command."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from overlock_tools.bench import bench, campaign, resume, subjects, throw_mutexes
from overlock_tools.bench.bench import Asked
from overlock_tools.bench.campaign import Part
from overlock_tools.bench.rounds import Job
from overlock_tools.bench.subjects import Subjects
from overlock_tools.core.model import defs, loads, paper_settings, results
from overlock_tools.core.model import plan as plans
from overlock_tools.core.model.plan import Plan
from overlock_tools.core.model.workloads import BY_TIME_ONLY, Workload
from overlock_tools.core.render import tables
from overlock_tools.core.system import machine
from overlock_tools.core.system.errors import Fail
from overlock_tools.core.system.terminal import console as terminal

THREADS = "1,2,4,8,16,32,64"


def run(asked: Asked) -> int:
    console, folder = terminal(), asked["output"]
    with bench.serving(asked) as (server, known):
        parts = _parts(asked, known, folder)
        campaign.make(folder)
        _introduce(parts, console)
        _say_left_out(asked, console)
        for part in parts:
            if not part.job.to_do and not part.job.result.complete:
                part.job.result.complete = True  # it was killed before it said so
                campaign.keep(part, console)
        if any(part.job.to_do for part in parts):
            warnings = campaign.quiet_enough(asked["if_busy"], console)
            code = campaign.run_all(server, parts, console, warnings, asked["budget"])
        else:
            code = 0
    if asked["loads"]:
        console.print(tables.judged({part.file.stem: part.job.result for part in parts}), "")
    return campaign.close(code, f"{shlex.quote(str(folder))}/*.json", console)


def _workloads(asked: Asked, known: Subjects) -> list[Workload]:
    names = [name.strip() for name in (asked["workloads"] or "").split(",") if name.strip()]
    of_locks = {name: one for name, one in known.workloads.items() if name != defs.MEETS}
    for name in names:
        if name == defs.MEETS:
            raise Fail(f"{name} measures barriers, not locks: `overlock bench {name}`")
        there = ", ".join(of_locks)
        defs.known(of_locks, name, "workload", f"expected one of {there}")
    if not names and asked["as_in"]:
        names = [name for name in of_locks if paper_settings.has(asked["as_in"], name)]
    names = names or [name for name in of_locks if name not in _left_out(asked)]
    chosen = (throw_mutexes.chosen(known.workloads[name], known.workloads) for name in names)
    return list(dict.fromkeys(chosen))


def _left_out(asked: Asked) -> tuple[str, ...]:
    """Of all workloads, those that cannot be measured so."""
    return BY_TIME_ONLY if asked["turns"] else ()


def _say_left_out(asked: Asked, console: Console) -> None:
    for name in _left_out(asked) if not asked["workloads"] and not asked["as_in"] else ():
        console.print(f"skipped: {name}, which counts the iterations of one thread only")


def _parts(asked: Asked, known: Subjects, folder: Path) -> list[Part]:
    made = list(_planned(asked, known))
    if asked["budget"] and not asked.given & {"rounds", "seconds", "turns", "as_in"}:
        places = sum(len(plan.places) for _, plan in made)
        rounds, seconds = plans.fitting(places, 60 * asked["budget"])
        made = [(name, replace(plan, rounds=rounds, seconds=seconds)) for name, plan in made]
    return [part(plan, known, asked, folder / f"{name}.json") for name, plan in made]


def _planned(asked: Asked, known: Subjects) -> Iterator[tuple[str, Plan]]:
    """With the names of their files."""
    if not asked["loads"]:
        for workload in _workloads(asked, known):
            yield workload.name, bench.planned(workload, asked, known, THREADS)
        return
    if asked["workloads"]:
        raise Fail("--loads and --workloads exclude each other")
    for load in loads.chosen(asked["loads"]):
        options = {name: value for name, value in load.options.items() if name not in asked.given}
        mine = Asked(asked.options | options, asked.given | set(options))
        yield load.name, bench.planned(known.workloads[load.workload], mine, known, THREADS)


def part(plan: Plan, known: Subjects, asked: Asked, file: Path) -> Part:
    """Begun, or as far as it had come."""
    plan = plan if asked["pilot"] is not None else replace(plan, pilot=True)
    if not file.exists():
        return Part(Job(plan, subjects.new_result(plan, known)), file)
    kept = results.from_file(file)
    for name in {"rounds", "seconds", "seed"} - asked.given:  # a budget had chosen them
        plan = replace(plan, **{name: kept.settings[name]})
    resume.check_same(file, kept, subjects.new_result(plan, known))
    job = Job(plan, kept)
    if kept.complete:
        job.to_do = 0
    return Part(job, file)


def _introduce(parts: Sequence[Part], console: Console) -> None:
    console.print(machine.headline(machine.facts()))
    cells = sum(part.job.to_do for part in parts)
    first = parts[0].job.plan
    seconds = sum(part.seconds for part in parts)
    console.print(
        f"{len(parts)} workloads, {len(first.variants)} contenders, "
        f"{', '.join(map(str, first.threads))} threads; {cells} cells of {first.seconds:g} s in "
        f"{first.rounds} rounds, at most about {plans.in_words(seconds)}",
        highlight=False,
    )
    if cost := parts[0].job.result.cost_of_measuring:
        console.print(cost, highlight=False)
    done = [part.file.name for part in parts if not part.job.to_do]
    if done:
        console.print(f"complete already: {', '.join(done)}", highlight=False)
