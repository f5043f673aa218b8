# SPDX-License-Identifier: MIT
"""overlock bench matrix: many workloads, a result file each, completed by the same command."""

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from overlock_tools.measure import bench, campaign, resume, throw_mutexes
from overlock_tools.measure.bench import Asked, Terms
from overlock_tools.measure.campaign import Run, Subjects
from overlock_tools.measure.conditions.base import deferred
from overlock_tools.measure.executor import Bench
from overlock_tools.model import defs, paper_settings, results
from overlock_tools.model import plan as plans
from overlock_tools.model.plan import Plan
from overlock_tools.model.results import Result
from overlock_tools.model.workloads import BY_TIME_ONLY, Workload
from overlock_tools.system import files, machine
from overlock_tools.system.errors import FAILED, INTERRUPTED, Fail
from overlock_tools.system.terminal import console as terminal

THREADS = "1,2,4,8,16,32,64"


@dataclass(frozen=True)
class Part:
    """One workload of it."""

    job: Run
    file: Path
    overhead: float = 0.0  # seconds of each cell beside what every cell takes

    @property
    def seconds(self) -> float:
        return self.job.to_do * (plans.cell_seconds(self.job.plan.seconds) + self.overhead)


def run(asked: Asked) -> int:
    console, folder = terminal(), asked["output"]
    with bench.serving(asked) as (server, known):
        parts = _parts(asked, known, folder)
        make(folder)
        _introduce(parts, console)
        _say_left_out(asked, console)
        for part in parts:
            if not part.job.to_do and not part.job.result.complete:
                part.job.result.complete = True  # it was killed before it said so
                _keep(part, console)
        if any(part.job.to_do for part in parts):
            warnings = bench.quiet_enough(asked, console)
            code = measure_all(server, parts, console, warnings, asked["budget"])
        else:
            code = 0
    if code == INTERRUPTED:
        console.print("interrupted; repeat the command to complete the matrix")
    pattern = f"{shlex.quote(str(folder))}/*.json"
    console.print(f"To see the results: overlock report {pattern} -o report.html", highlight=False)
    return code


def make(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise Fail(f"-o {folder}: cannot create the folder: {error.strerror}") from error
    files.check_writable(folder / "any.json")


def _workloads(asked: Asked, known: Subjects) -> list[Workload]:
    names = [name.strip() for name in (asked["workloads"] or "").split(",") if name.strip()]
    for name in names:
        there = ", ".join(known.workloads)
        defs.known(known.workloads, name, "workload", f"expected one of {there}")
    if not names and asked["as_in"]:
        names = [name for name in known.workloads if paper_settings.has(asked["as_in"], name)]
    names = names or [name for name in known.workloads if name not in _left_out(asked)]
    chosen = (throw_mutexes.chosen(known.workloads[name], known.workloads) for name in names)
    return list(dict.fromkeys(chosen))


def _left_out(asked: Asked) -> tuple[str, ...]:
    """Of all workloads, those that cannot be measured so."""
    return BY_TIME_ONLY if asked["turns"] else ()


def _say_left_out(asked: Asked, console: Console) -> None:
    for name in _left_out(asked) if not asked["workloads"] and not asked["as_in"] else ():
        console.print(f"skipped: {name}, which counts the iterations of one thread only")


def _parts(asked: Asked, known: Subjects, folder: Path) -> list[Part]:
    made = [(bench.planned(w, asked, known, THREADS), w) for w in _workloads(asked, known)]
    if asked["budget"] and not asked.given & {"rounds", "seconds", "turns", "as_in"}:
        places = sum(len(plan.places) for plan, _ in made)
        rounds, seconds = plans.fitting(places, 60 * asked["budget"])
        made = [(replace(plan, rounds=rounds, seconds=seconds), w) for plan, w in made]
    return [_part(plan, known, asked, folder / f"{w.name}.json") for plan, w in made]


def _part(plan: Plan, known: Subjects, asked: Asked, file: Path) -> Part:
    """Begun, or as far as it had come."""
    plan = plan if asked["pilot"] is not None else replace(plan, pilot=True)
    if not file.exists():
        return Part(Run(plan, campaign.new_result(plan, known)), file)
    kept = results.from_file(file)
    for name in {"rounds", "seconds", "seed"} - asked.given:  # a budget had chosen them
        plan = replace(plan, **{name: kept.settings[name]})
    resume.check_same(file, kept, campaign.new_result(plan, known))
    job = Run(plan, kept)
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


def measure_all(
    server: Bench,
    parts: Sequence[Part],
    console: Console,
    warnings: list[str],
    budget: float | None,
) -> int:
    ends = time.monotonic() + 60 * budget if budget else None
    code = 0
    for i, part in enumerate(parts):
        if not part.job.to_do:
            continue
        console.print(f"{i + 1} of {len(parts)}: {part.job.result.title}", style="bold")
        part.job.result.warnings += warnings
        others = sum(other.seconds for other in parts[i + 1 :])
        try:
            with deferred():
                interrupted = _measure(server, part, console, others, ends)
        except KeyboardInterrupt:  # after the measurement, while it was written
            interrupted = True
        if interrupted:
            return INTERRUPTED
        result = part.job.result
        code = FAILED if any(result.wrong()) or result.impossible else code
    return code


def _measure(
    server: Bench, part: Part, console: Console, others: float, ends: float | None
) -> bool:
    """True if it was interrupted."""
    job = part.job
    until = None
    if ends:  # its share of what is left
        left = ends - time.monotonic()
        until = time.monotonic() + left * part.seconds / (part.seconds + others)

    def save() -> None:
        files.write(part.file, job.result.partial_json())

    interrupted = bench.measured(server, job, console, Terms(save, until, others))
    if job.result.cells or job.result.hung:
        _keep(part, console)
    return interrupted


def _keep(part: Part, console: Console) -> None:
    result = part.job.result
    bench.conclude(result)
    files.write(part.file, result.to_json())
    _show(result, console)
    console.print(f"written: {part.file}", highlight=False)


def _show(result: Result, console: Console) -> None:
    for line in [*result.verdict, *bench.remarks(result)]:
        console.print(line)
    for line in result.warnings:
        console.print(f"warning: {line}", style="yellow")
