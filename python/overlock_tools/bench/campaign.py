# SPDX-License-Identifier: MIT
"""A campaign: jobs that an executor measures, shown while they run, kept, and taken up again."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.text import Text

from overlock_tools.bench import conditions, resume, rounds
from overlock_tools.bench.conditions.base import deferred
from overlock_tools.bench.executor import Executor
from overlock_tools.bench.rounds import Job, Watching
from overlock_tools.core.analyze import ministat, verdict, wording
from overlock_tools.core.model import paper_settings, results
from overlock_tools.core.model import plan as plans
from overlock_tools.core.model.plan import Plan
from overlock_tools.core.model.results import Result
from overlock_tools.core.render import csv_export, tables
from overlock_tools.core.system import files, machine
from overlock_tools.core.system.errors import FAILED, INTERRUPTED, Fail
from overlock_tools.core.system.terminal import Running

IF_BUSY = ("warn", "refuse", "wait")
LOOK_AGAIN_SECONDS = 5.0
UNDRAINED = "did not drain: waiters remained in the queue"
Proof = dict[str, dict[str, Any]]  # as conditions.Proofs collects it
Show = Callable[[Result, Console], None]


@dataclass(frozen=True)
class Terms:
    """What else a measurement is to heed."""

    save: Callable[[], None] = lambda: None  # what is whole, now and then
    until: float | None = None  # a time.monotonic()
    others: float = 0.0  # seconds of other work that follow, for who waits for it all


@dataclass(frozen=True)
class Part:
    """A job of the campaign, and its file."""

    job: Job
    file: Path
    overhead: float = 0.0  # seconds of each cell beside what every cell takes
    name: str = ""  # if not the result's title
    show: Show | None = None  # when it is done, if not the verdict

    @property
    def title(self) -> str:
        return self.name or self.job.result.title

    @property
    def seconds(self) -> float:
        return self.job.to_do * (plans.cell_seconds(self.job.plan.seconds) + self.overhead)


def seed(options: Mapping[str, Any]) -> int:
    given = options["seed"]
    return random.randrange(2**31) if given is None else int(given)  # noqa: S311 - no secret


def begun(plan: Plan, file: Path | None, new_result: Callable[[Plan], Result]) -> Job:
    """A new job, or the one that `file` holds, as far as it has come."""
    if not file or not file.exists():
        return Job(plan, new_result(plan))
    kept = results.from_file(file)
    plan = resume.with_seed_of(plan, kept)
    resume.check_same(file, kept, new_result(plan))
    job = Job(plan, kept)
    if kept.complete:
        job.to_do = 0
    return job


def quiet_enough(if_busy: str, console: Console) -> list[str]:
    """Warnings for the result, after waiting if that was asked for."""
    said = False
    while warning := machine.busy_now():
        if if_busy == "refuse":
            raise Fail(f"{warning}; stop that work, or give --if-busy wait or warn", FAILED)
        if if_busy == "warn":
            console.print(f"warning: {warning}", style="yellow")
            return [f"at the start {warning}"]
        if not said:
            console.print(f"waiting until the CPUs are free: {warning}")
            said = True
        time.sleep(LOOK_AGAIN_SECONDS)
    return []


def measured(executor: Executor, job: Job, console: Console, terms: Terms) -> bool:
    """Completes the result as far as it gets; true if it was interrupted."""
    plan, result = job.plan, job.result

    def about() -> str:
        left = job.seconds_left
        return f"about {plans.in_words(left + terms.others)} left" if left is not None else ""

    def line() -> str:
        if job.left_in_round:
            return ""
        return f"round {job.round} of {plan.rounds} done, {about()}"

    def table() -> Group:
        return Group(tables.matrix(result, len(result.cells), job.total), Text(about()))

    running = Running(console, table, line)
    proven = _proven(result)
    try:
        with (
            running.shown(),
            conditions.applied(conditions.parsed(plan.scenario), executor.pid) as proofs,
        ):

            def prove() -> None:
                if plan.scenario and job.measured:
                    kept = result.scenario.get("proof", {})  # what another than a scenario saw
                    result.scenario["proof"] = kept | proven(proofs.collect())

            def save() -> None:
                prove()
                terms.save()

            try:
                rounds.run(executor, job, Watching(running.update, save), terms.until)
            finally:
                prove()
    except KeyboardInterrupt:
        return True
    except Fail:
        if result.cells:
            terms.save()
        raise
    return False


def _proven(result: Result) -> Callable[[Proof], Proof]:
    """Of this session and those before it, what this session's proof makes of it all."""
    if not result.cells:
        return lambda now: now
    earlier = result.scenario.get("proof", {})
    return lambda now: conditions.together(earlier, now)


def run_one(
    executor: Executor,
    job: Job,
    console: Console,
    written: tuple[Path | None, Path | None],
    show: "Show | None" = None,
) -> int:
    """Measures what the job lacks and writes its result, as JSON and as CSV; the exit code."""
    file, result = written[0], job.result
    show = show or print_result
    if not job.to_do:
        kept_whole, result.complete = result.complete, True  # it was killed before it said so
        return finish(job, console, (None if kept_whole else file, written[1]), False, show)

    def save() -> None:
        if file and not files.is_stream(file):  # which would have all of them
            files.write(file, result.partial_json())

    with deferred():
        interrupted = measured(executor, job, console, Terms(save))
        return finish(job, console, written, interrupted, show)


def finish(
    job: Job,
    console: Console,
    written: tuple[Path | None, Path | None],
    interrupted: bool,
    show: Show,
) -> int:
    result = job.result
    json_file, csv_file = written
    conclude(result)
    show(result, console)
    if result.cells or result.hung:
        if json_file:
            files.write(json_file, result.to_json())
            console.print(f"written: {json_file}")
        if csv_file:
            files.write(csv_file, csv_export.cells([result]))
            console.print(f"written: {csv_file}")
    if interrupted:
        done = f"{len(result.cells)} of {job.total} cells are complete"
        kept = " and kept; repeat the command with --resume to complete them"
        console.print(f"interrupted: {done}{kept if json_file and result.cells else ''}")
        return INTERRUPTED
    return FAILED if any(result.wrong()) or result.impossible else 0


def conclude(result: Result) -> None:
    result.verdict = verdict.sentences(result)
    if not result.cells:  # it may have hung in the first
        result.verdict = [*(f"WRONG: {line}." for line in result.wrong()), *result.verdict]
    result.warnings = [line for line in result.warnings if not line.endswith(UNDRAINED)]
    if left := sum(not cell.drained for cell in result.cells):
        result.warnings.append(f"{left} cell{'' if left == 1 else 's'} {UNDRAINED}")


def print_result(result: Result, console: Console) -> None:
    for threads in result.threads:
        if any(cell.threads == threads for cell in result.cells):
            console.print(tables.detail(result, threads), "")
            events = tables.counters(result, threads)
            if events:
                console.print(events, "")
            if waiting := tables.latency(result, threads):
                console.print(waiting, "")
    if len(result.threads) > 1 and result.overall():
        console.print(tables.overall(result), "")
    for text in ministat.compared(result) if result.statistic == paper_settings.MINISTAT else ():
        console.print(text)
    if result.settings.get("counters"):
        console.print(
            "These are rates of the instrumented build; do not compare them with other rates."
        )
    for line in result.verdict + remarks(result):
        console.print(result.worded(line))
    for line in result.warnings:
        console.print(f"warning: {line}", style="yellow")


def remarks(result: Result) -> list[str]:
    """What became of the plan, in words."""
    said = []
    for entry in result.impossible:
        said.append(f"Not measured: {entry.variant} with {entry.threads} threads: {entry.why}.")
    why: dict[str, dict[str, list[int]]] = {}
    for entry in result.collapsed:
        why.setdefault(entry.why, {}).setdefault(entry.variant, []).append(entry.threads)
    for reason, places in why.items():
        words = [f"{v} (at {wording.counts(sorted(n))})" for v, n in sorted(places.items())]
        said.append(
            f"Collapsed in the first round, {reason}, and measured only once: "
            f"{wording.listed(words)}."
        )
    if result.outside:
        names = sorted({entry.variant for entry in result.outside})
        said.append(
            f"Measured once, {result.outside[0].why} in the first round: {wording.listed(names)}."
        )
    if result.missing:
        said.append(
            f"Not available: {', '.join(result.missing)}; `overlock locks` lists the reasons."
        )
    said += verdict.about_locks(result)
    if proof := result.scenario.get("proof"):
        said.append(f"Scenario: {conditions.words(proof)}.")
    return said


def introduce(job: Job, console: Console) -> None:
    plan, result = job.plan, job.result
    console.print(machine.headline(result.machine))
    settings = ", ".join(
        [*(f"{name} {value}" for name, value in plan.parameters.items())]
        + [f"{name} {value}" for name, value in plan.scenario.items()]
    )
    console.print(f"{result.title}{': ' if settings else ''}{settings}", highlight=False)
    console.print(amount(job), highlight=False)
    if result.cost_of_measuring:
        console.print(result.cost_of_measuring, highlight=False)


def introduce_all(parts: Sequence[Part], what: str, console: Console, each: str = "") -> None:
    """`what`: that many programs, or files; `each`: what follows the number of cells."""
    console.print(machine.headline(machine.facts()))
    cells, seconds = sum(p.job.to_do for p in parts), sum(p.seconds for p in parts)
    first = parts[0].job.plan
    console.print(
        f"{what}, {len(first.variants)} locks, {first.rounds} rounds: {cells} cells{each}, "
        f"about {plans.in_words(seconds)} if none collapses",
        highlight=False,
    )


def amount(job: Job) -> str:
    """How much there is to do."""
    if not job.to_do:
        return "complete: nothing is left to measure"
    plan = job.plan
    if plan.turns:
        return f"{job.to_do} cells of {plan.turns} iterations, each cut after {plan.seconds:g} s"
    about = plans.in_words(job.to_do * plans.cell_seconds(plan.seconds))
    return f"{job.to_do} cells of {plan.seconds:g} s, about {about}"


def make(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise Fail(f"-o {folder}: cannot create the folder: {error.strerror}") from error
    files.check_writable(folder / "any.json")


def run_all(
    executor: Executor,
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
        console.print(f"{i + 1} of {len(parts)}: {part.title}", style="bold")
        part.job.result.warnings += warnings
        others = sum(other.seconds for other in parts[i + 1 :])
        try:
            with deferred():
                interrupted = _measure(executor, part, console, others, ends)
        except KeyboardInterrupt:  # after the measurement, while it was written
            interrupted = True
        if interrupted:
            return INTERRUPTED
        result = part.job.result
        code = FAILED if any(result.wrong()) or result.impossible else code
    return code


def _measure(
    executor: Executor, part: Part, console: Console, others: float, ends: float | None
) -> bool:
    """True if it was interrupted."""
    job = part.job
    until = None
    if ends:  # its share of what is left
        left = ends - time.monotonic()
        until = time.monotonic() + left * part.seconds / (part.seconds + others)

    def save() -> None:
        files.write(part.file, job.result.partial_json())

    interrupted = measured(executor, job, console, Terms(save, until, others))
    if job.result.cells or job.result.hung:
        keep(part, console)
    return interrupted


def keep(part: Part, console: Console) -> None:
    result = part.job.result
    conclude(result)
    files.write(part.file, result.to_json())
    (part.show or _show)(result, console)
    console.print(f"written: {part.file}", highlight=False)


def _show(result: Result, console: Console) -> None:
    for line in [*result.verdict, *remarks(result)]:
        console.print(line)
    for line in result.warnings:
        console.print(f"warning: {line}", style="yellow")


def close(code: int, results_at: str, console: Console) -> int:
    """The last lines of a command that leaves result files."""
    if code == INTERRUPTED:
        console.print("interrupted; repeat the command to complete the measurement")
    console.print(
        f"To see the results: overlock report {results_at} -o report.html", highlight=False
    )
    return code
