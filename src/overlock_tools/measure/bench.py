# SPDX-License-Identifier: MIT
"""What `overlock bench` does: from what was asked to a result that is shown and kept."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.text import Text

from overlock_tools.analyze import ministat, verdict
from overlock_tools.measure import (
    campaign,
    conditions,
    executor,
    header_locks,
    peers,
    resume,
    throw_mutexes,
)
from overlock_tools.measure.campaign import Run, Subjects, Watching
from overlock_tools.measure.conditions.base import Scenario, deferred
from overlock_tools.measure.executor import Bench, Server
from overlock_tools.model import paper_settings
from overlock_tools.model import plan as plans
from overlock_tools.model.plan import Plan
from overlock_tools.model.results import Result
from overlock_tools.model.workloads import BY_TIME_ONLY, WITHOUT_A_LOCK, Workload
from overlock_tools.render import csv_export, tables
from overlock_tools.system import files, machine
from overlock_tools.system.errors import FAILED, INTERRUPTED, MISSING, Fail
from overlock_tools.system.terminal import Running
from overlock_tools.system.terminal import console as terminal

THREADS = "1x,2x,4x"
IF_BUSY = ("warn", "refuse", "wait")
LOOK_AGAIN_SECONDS = 5.0
UNDRAINED = "did not drain: waiters remained in the queue"

Proof = dict[str, dict[str, Any]]  # as scenarios.Proofs collects it


@dataclass(frozen=True)
class Asked:
    """The command line's options, and which of them were given."""

    options: dict[str, Any]
    given: set[str]

    def __getitem__(self, name: str) -> Any:
        return self.options[name]

    def preferred(self, name: str, *others: Any) -> Any:
        """What was given, else the first of the others that is not None."""
        values = (self.options[name] if name in self.given else None, *others)
        return next((value for value in values if value is not None), None)

    @property
    def names(self) -> list[str]:
        """The locks, header files among them."""
        return [name for text in self["locks"] or ["all"] for name in text.split(",") if name]

    @property
    def headers(self) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for name in (*self.names, self["baseline"]):
            path = Path(name.partition("@")[0])
            if header_locks.is_header(path.name):
                other = found.setdefault(header_locks.lock_id(path), path)
                if other.resolve() != path.resolve():
                    raise Fail(
                        f"--locks: {other} and {path} have the same name; rename one of them"
                    )
        return found

    @property
    def locks(self) -> str:
        return ",".join(map(_named, self.names))

    @property
    def baseline(self) -> str:
        return _named(self["baseline"])


def _named(lock: str) -> str:
    """A header by the id that its lock has: mine@tau=0 of ./mine.h@tau=0."""
    name, at, settings = lock.partition("@")
    return (
        (header_locks.lock_id(Path(name)) if header_locks.is_header(name) else name) + at + settings
    )


@contextmanager
def serving(asked: Asked) -> Iterator[tuple[Server, Subjects]]:
    """overlock-bench with all locks that were asked for, and what it says of itself."""
    counted, cpus = asked["counters"], asked["cpus"]
    if cpus and cpus > machine.cpus():
        raise Fail(f"--cpus {cpus}: this process may use only {machine.cpus()} CPUs")
    absent = peers.absent()
    for name in asked.names:
        if line := absent.get(name.partition("@")[0]):
            raise Fail(line, MISSING)
    with campaign.loaded_headers(list(asked.headers.values()), counted) as loaded:
        options = [*loaded, *peers.options(), *([f"--cpus={cpus}"] if cpus else [])]
        with executor.started(options, counted) as bench:
            yield bench, campaign.known_to(bench, list(peers.missing()))


def planned(
    workload: Workload, asked: Asked, known: Subjects, default_threads: str = THREADS
) -> Plan:
    """What was given, else the paper's setting, else the default."""
    setting = paper_settings.setting(asked["as_in"], workload.name) if asked["as_in"] else None
    baseline = campaign.parse_variants(asked.baseline, known)[0]
    variants = campaign.parse_variants(asked.locks, known)
    if workload.name in WITHOUT_A_LOCK:
        variants = [baseline]
    turns = asked.preferred("turns", setting and setting.turns)
    if turns and workload.name in BY_TIME_ONLY:
        raise Fail(
            f"--turns: {workload.name} counts the iterations of one thread only; give --seconds"
        )
    scenario = _scenario(asked, setting)
    if turns and "phases" in scenario:
        raise Fail("--turns and --phases exclude each other: phases divide the measured time")
    threads = asked.preferred("threads", setting and setting.threads, default_threads)
    return Plan(
        workload=workload,
        variants=variants if baseline in variants else [baseline, *variants],
        threads=plans.parse_threads(threads, asked["cpus"] or machine.cpus()),
        baseline=baseline,
        seed=asked.preferred("seed", random.randrange(2**31)),  # noqa: S311 - no secret
        rounds=asked.preferred("rounds", setting and setting.rounds, plans.ROUNDS),
        seconds=asked.preferred(
            "seconds",
            setting and setting.seconds,
            plans.LIMIT_SECONDS if turns else plans.SECONDS,
        ),
        turns=turns,
        parameters=workload.values(_parameters(workload, asked, setting)),
        cell=conditions.cell_options(parsed(scenario)),
        scenario=scenario,
        headers=asked.headers,
        cpus=asked["cpus"],
        counters=asked["counters"],
        latency=not asked["no_latency"],
        pilot=bool(turns) if asked["pilot"] is None else asked["pilot"],
        as_in=asked["as_in"],
        otherwise=paper_settings.otherwise(setting, asked.options, asked.given) if setting else "",
        statistic=setting.statistic if setting else paper_settings.MEDIAN,
    )


def _scenario(asked: Asked, setting: paper_settings.Setting | None) -> dict[str, str]:
    """The scenarios' options, as text."""
    texts = dict(setting.scenario) if setting else {}
    given = {s.name: asked[s.name] for s in conditions.SCENARIOS if asked[s.name]}
    return {**texts, **given}


def parsed(texts: dict[str, str]) -> list[Scenario]:
    return [s.parse(texts[s.name]) for s in conditions.SCENARIOS if s.name in texts]


def _parameters(
    workload: Workload, asked: Asked, setting: paper_settings.Setting | None
) -> dict[str, Any]:
    values = dict(setting.parameters) if setting else {}
    for parameter in workload.parameters:
        if parameter.key in asked.given:
            values[parameter.name] = asked[parameter.key]
    return values


@dataclass(frozen=True)
class Terms:
    """What else a measurement is to heed."""

    save: Callable[[], None] = lambda: None  # what is whole, now and then
    until: float | None = None  # a time.monotonic()
    others: float = 0.0  # seconds of other work that follow, for who waits for it all


def measured(bench: Bench, job: Run, console: Console, terms: Terms) -> bool:
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
        with running.shown(), conditions.applied(parsed(plan.scenario), bench.pid) as proofs:

            def prove() -> None:
                if plan.scenario and job.measured:
                    kept = result.scenario.get("proof", {})  # what another than a scenario saw
                    result.scenario["proof"] = kept | proven(proofs.collect())

            def save() -> None:
                prove()
                terms.save()

            try:
                campaign.run(bench, job, Watching(running.update, save), terms.until)
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


def show(result: Result, console: Console) -> None:
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
        words = [f"{v} (at {verdict.counts(sorted(n))})" for v, n in sorted(places.items())]
        said.append(
            f"Collapsed in the first round, {reason}, and measured only once: "
            f"{verdict.listed(words)}."
        )
    if result.missing:
        said.append(
            f"Not available: {', '.join(result.missing)}; `overlock locks` lists the reasons."
        )
    said += verdict.about_locks(result)
    if proof := result.scenario.get("proof"):
        said.append(f"Scenario: {conditions.words(proof)}.")
    return said


def quiet_enough(asked: Asked, console: Console) -> list[str]:
    """Warnings for the result, after waiting if that was asked for."""
    said = False
    while warning := machine.busy_now():
        if asked["if_busy"] == "refuse":
            raise Fail(f"{warning}; stop that work, or give --if-busy wait or warn", FAILED)
        if asked["if_busy"] == "warn":
            console.print(f"warning: {warning}", style="yellow")
            return [f"at the start {warning}"]
        if not said:
            console.print(f"waiting until the CPUs are free: {warning}")
            said = True
        time.sleep(LOOK_AGAIN_SECONDS)
    return []


Show = Callable[[Result, Console], None]


def single(workload: Workload, asked: Asked, show: Show = show) -> int:
    """One workload: `overlock bench NAME`."""
    for path in filter(None, (asked["json_file"], asked["csv_file"])):
        files.check_writable(path)
    kept = resume.kept(asked["json_file"]) if asked["resume"] else None
    with serving(asked) as (bench, known):
        workload = throw_mutexes.chosen(workload, known.workloads)
        plan = planned(workload, asked, known)
        if kept and "seed" not in asked.given:
            plan = resume.with_seed_of(plan, kept)
        result = campaign.new_result(plan, known)
        if kept:
            resume.check_same(asked["json_file"], kept, result)
        return _measure_and_show(bench, Run(plan, kept or result), asked, show)


def _measure_and_show(bench: Server, job: Run, asked: Asked, show: Show) -> int:
    console, result = terminal(), job.result
    json_file = asked["json_file"]
    introduce(job, console)
    if not job.to_do:
        kept_whole, result.complete = result.complete, True  # it was killed before it said so
        file = None if kept_whole else json_file
        return finish(job, console, (file, asked["csv_file"]), False, show)
    result.warnings += quiet_enough(asked, console)

    def save() -> None:
        if json_file:
            files.write(json_file, result.partial_json())

    with deferred():
        interrupted = measured(bench, job, console, Terms(save))
        return finish(job, console, (json_file, asked["csv_file"]), interrupted, show)


def conclude(result: Result) -> None:
    result.verdict = verdict.sentences(result)
    if not result.cells:  # it may have hung in the first
        result.verdict = [*(f"WRONG: {line}." for line in result.wrong()), *result.verdict]
    result.warnings = [line for line in result.warnings if not line.endswith(UNDRAINED)]
    if left := sum(not cell.drained for cell in result.cells):
        result.warnings.append(f"{left} cell{'' if left == 1 else 's'} {UNDRAINED}")


def finish(
    job: Run,
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


def introduce(job: Run, console: Console) -> None:
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


def amount(job: Run) -> str:
    """How much there is to do."""
    if not job.to_do:
        return "complete: nothing is left to measure"
    plan = job.plan
    if plan.turns:
        return f"{job.to_do} cells of {plan.turns} iterations, each cut after {plan.seconds:g} s"
    about = plans.in_words(job.to_do * plans.cell_seconds(plan.seconds))
    return f"{job.to_do} cells of {plan.seconds:g} s, about {about}"
