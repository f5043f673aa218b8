# SPDX-License-Identifier: MIT
"""What `overlock check` does: from what was asked to what is shown, kept and returned."""

import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from overlock_tools.bench.conditions.base import deferred
from overlock_tools.check import (
    capabilities,
    display,
    document,
    perfetto,
    plan,
    uncovered,
    weaken,
)
from overlock_tools.check.cache import Cache
from overlock_tools.check.job import Job, Subject
from overlock_tools.check.outcome import FAILS, HOLDS, Outcome
from overlock_tools.check.plan import Asked
from overlock_tools.check.pool import Pool, Task
from overlock_tools.check.source import Lines
from overlock_tools.check.weaken import OPEN, Judged
from overlock_tools.core.system import files, native
from overlock_tools.core.system.errors import FAILED, USAGE, Fail
from overlock_tools.core.system.terminal import console

NOT_EXHAUSTED = 3
WITH_GAPS = 4  # exhausted and holds, but for lines that were not reached and loops that were cut
# All that fail are in the table; of more than so many the interleaving is left to --replay.
MOST_TOLD = 3


@dataclass(frozen=True)
class Terms:
    """How to go about it."""

    at_once: int
    cached: bool = True
    json_file: Path | None = None
    trace_file: Path | None = None
    within: float | None = None


@dataclass
class Session:
    """The outcomes so far, in the order of what was asked."""

    out: Console
    terms: Terms
    outcomes: list[Outcome] = field(default_factory=list)
    judged: list[Judged] = field(default_factory=list)
    failed: list[Outcome] = field(default_factory=list)  # in the order of time

    def __post_init__(self) -> None:
        for path in filter(None, (self.terms.json_file, self.terms.trace_file)):
            files.check_writable(path)
        self.program = native.checker()

    def run(self, tasks: Sequence[Task], asked_to_end: Callable[[], bool]) -> None:
        progress = display.Progress(self.out, len(tasks))
        cache = Cache(self.program, self.terms.cached)

        def done(outcome: Outcome) -> None:
            progress.finished(outcome)
            if not outcome.job.replay:
                self.outcomes.append(outcome)

        pool = Pool(self.program, self.terms.at_once, cache, progress.tick, done)
        pool.within = self.terms.within
        progress.pool = pool
        with progress.live.shown():
            pool.run([_counted(task, progress) for task in tasks], asked_to_end)

    def told(self, outcome: Outcome) -> None:
        """A failure is shown as soon as it is found."""
        if outcome.verdict == FAILS:
            self.failed.append(outcome)
            if len(self.failed) <= MOST_TOLD:
                display.counterexample(self.out, outcome)

    def write(self, whole: bool) -> None:
        failed = [one for one in self.outcomes if one.verdict == FAILS]
        if path := self.terms.json_file:
            command = shlex.join(["overlock", *sys.argv[1:]])
            limits = uncovered.document(self.outcomes)
            text = document.document(self.outcomes, self.judged, command, whole, limits)
            files.write(path, text)
            self.out.print(f"written: {path}")
        if path := self.terms.trace_file:
            if failed:
                files.write(path, perfetto.trace(failed))
                self.out.print(f"written: {path}; open it in ui.perfetto.dev")
            else:
                self.out.print(f"not written: {path}, because no check failed")


def _counted(task: Task, progress: display.Progress) -> Task:
    yield from task
    progress.done += 1


def _told(job: Job, told: Callable[[Outcome], None]) -> Task:
    """The job; if it fails and does not say how, its execution again, step by step."""
    outcome = yield job
    failure = outcome.failure
    if failure and failure.replay and not failure.events:
        again = yield job.replayed(failure.replay)
        if again.failure and again.failure.events:
            outcome.result["failure"] = again.result["failure"]
    told(outcome)


def check(asked: Asked, terms: Terms, out: Console) -> int:
    session = Session(out, terms)
    with plan.compiled(plan.with_source(plan.subjects(asked.locks), asked)) as subjects:
        _tell_taken(subjects, out)
        jobs = plan.jobs(asked, subjects)
        with deferred() as asked_to_end:
            session.run([_told(job, session.told) for job in jobs], asked_to_end)
            session.outcomes = _in_order(session.outcomes, jobs, asked)
            _refuse_nonsense(session.outcomes)
            _show(session, asked_to_end(), len(jobs), asked)
            session.write(not asked_to_end())
    return code(session.outcomes)


def _tell_taken(subjects: Sequence[Subject], out: Console) -> None:
    for one in subjects:
        if one.taken and one.header:
            out.print(one.taken.told(one.header), soft_wrap=True, highlight=False)


def _in_order(outcomes: Sequence[Outcome], jobs: Sequence[Job], asked: Asked) -> list[Outcome]:
    """As asked for; of all scenarios only those that apply."""
    place = {job: number for number, job in enumerate(jobs)}
    found = [one for one in outcomes if not (one.refused and asked.every_scenario)]
    return sorted(found, key=lambda one: place[one.job])


def _refuse_nonsense(outcomes: Sequence[Outcome]) -> None:
    """If nothing that was asked for makes sense, it is an error and no table."""
    if outcomes and all(one.refused for one in outcomes):
        raise Fail(outcomes[0].error)


def _show(session: Session, interrupted: bool, total: int, asked: Asked) -> None:
    out, outcomes = session.out, session.outcomes
    for one in session.failed[MOST_TOLD:]:
        if one.failure:
            out.print(f"  {one.job.command_to_replay(one.failure.replay)}", soft_wrap=True)
    if outcomes:
        out.print()
        table = display.results(outcomes, out.width, joined=asked.thorough)
        display.put(out, table, display.LOG_WIDTH)
    out.print()
    if outcomes:
        out.print(display.sentence(outcomes))
    for line in dict.fromkeys(filter(None, (one.advice for one in outcomes))):
        out.print(line, soft_wrap=True, highlight=False)
    if interrupted:
        ended = sum(one.result.get("ended") != "interrupted" for one in outcomes)
        kept = "; the cache keeps their results" if session.terms.cached else ""
        out.print(f"interrupted: {ended} of {total} checks are done{kept}")
    for line in uncovered.lines(outcomes, asked.within):
        out.print(line, soft_wrap=True)


def code(outcomes: Sequence[Outcome]) -> int:
    if any(one.verdict == FAILS for one in outcomes):
        return FAILED
    if any(one.refused for one in outcomes):
        return USAGE
    if not outcomes or any(one.verdict != HOLDS for one in outcomes):
        return NOT_EXHAUSTED
    return WITH_GAPS if any(one.has_gaps for one in uncovered.by_lock(outcomes)) else 0


def replay(text: str, native: bool, asked: Asked, terms: Terms, out: Console) -> int:
    """One execution, step by step."""
    session = Session(out, replace(terms, cached=False))
    job = replace(plan.to_replay(text, asked), native=native)
    with plan.compiled([job.subject]) as subjects:
        told: list[Outcome] = []
        job = replace(job, subject=subjects[0])
        with deferred() as asked_to_end:
            session.run([_told(job, told.append)], asked_to_end)
            if not told:
                return NOT_EXHAUSTED
            session.outcomes = told
            _replayed(told[0], out)
            session.write(not asked_to_end())
    return FAILED if told[0].verdict == FAILS else 0


def _replayed(outcome: Outcome, out: Console) -> None:
    if outcome.error:
        raise Fail(outcome.error, USAGE if outcome.refused else FAILED)
    display.execution(out, outcome)
    if outcome.native:
        out.print(display.on_threads(outcome.native), soft_wrap=True)


def weakened(lock: str, asked: Asked, terms: Terms, out: Console) -> int:
    session = Session(out, terms)
    if asked.locks:
        raise Fail("--weaken already names a lock; give no other")
    with plan.compiled(plan.with_source([plan.subject(lock)], asked)) as subjects:
        jobs, known = plan.jobs(asked, subjects), weaken.arguments()
        scenarios = dict.fromkeys(job.scenario for job in jobs)
        of = weaken.sites(subjects[0], scenarios, terms.at_once)
        session.judged = [Judged(site) for site in of]
        with deferred() as asked_to_end:
            session.run([weaken.task(one, jobs) for one in session.judged], asked_to_end)
            _judge(session, subjects[0], known)
            display.put(out, weaken.table(session.judged, out.is_terminal), display.LOG_WIDTH)
            for line in weaken.stale(subjects[0], of, known):
                out.print(f"warning: {line}", style="yellow")
            for one in session.judged:
                if one.command:
                    out.print(f"{one.site}\n  {one.command}", soft_wrap=True)
            out.print(weaken.sentence(session.judged))
            session.write(not asked_to_end())
    return weakening_code(session.judged)


def _judge(session: Session, subject: Subject, known: Sequence[weaken.Argument]) -> None:
    lines = Lines(subject)
    for one in session.judged:
        weaken.judge(one, known, lines)


def weakening_code(judged: Sequence[Judged]) -> int:
    """An order that nobody misses and nobody explains is a failure; so is an argument refuted."""
    if any(one.kind == OPEN or one.refuted for one in judged):
        return FAILED
    return 0 if all(one.caught or one.exhausted for one in judged) else NOT_EXHAUSTED


def run(options: Mapping[str, Any]) -> int:
    """What the options ask for: a list, a replay, a weakening, or checks."""
    if options["listing"]:
        display.listing(console(), capabilities.load())
        return 0
    if options["replay"] and options["weaken"]:
        raise Fail("--replay and --weaken exclude each other; give one of them")
    terms = Terms(
        at_once=options["jobs"] or len(os.sched_getaffinity(0)),
        cached=not options["no_cache"],
        json_file=options["json_file"],
        trace_file=options["trace_file"],
    )
    asked = plan.asked(options)
    terms = replace(terms, within=asked.within)
    if options["replay"]:
        return replay(options["replay"], options["native"], asked, terms, console())
    if options["native"]:
        raise Fail("--native needs --replay LOCK@SCHEDULE, as printed with a counterexample")
    if options["weaken"]:
        return weakened(options["weaken"], asked, terms, console())
    return check(asked, terms, console())
