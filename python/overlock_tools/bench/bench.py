# SPDX-License-Identifier: MIT
"""`overlock bench NAME`: from what was asked to a plan that overlock-bench measures."""

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overlock_tools.bench import (
    campaign,
    conditions,
    header_locks,
    peers,
    resume,
    server,
    subjects,
    throw_mutexes,
)
from overlock_tools.bench.campaign import Show
from overlock_tools.bench.rounds import Job
from overlock_tools.bench.server import Server
from overlock_tools.bench.subjects import Subjects
from overlock_tools.core.model import paper_settings
from overlock_tools.core.model import plan as plans
from overlock_tools.core.model.plan import Plan
from overlock_tools.core.model.workloads import BY_TIME_ONLY, WITHOUT_A_LOCK, Workload
from overlock_tools.core.system import files, machine
from overlock_tools.core.system.errors import MISSING, Fail
from overlock_tools.core.system.terminal import console as terminal

THREADS = "1x,2x,4x"


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
    def knowledge(self) -> str | None:
        return self.options.get("knowledge") or os.environ.get(server.KNOWLEDGE)

    @property
    def names(self) -> list[str]:
        """The locks, header files among them."""
        return [name for text in self["locks"] or ["all"] for name in text.split(",") if name]

    @property
    def headers(self) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for name in (*self.names, self["baseline"]):
            path = Path(name.partition("@")[0])
            if header_locks.is_file(path.name):
                other = found.setdefault(header_locks.lock_id(path), path)
                if other.resolve() != path.resolve():
                    raise Fail(
                        f"--locks: {other} and {path} have the same name; rename one of them"
                    )
        return found

    @property
    def locks(self) -> str:
        return ",".join(map(_named, self.names))

    def variants(self, known: Subjects, workload: str) -> list[str]:
        return subjects.parse_variants(self.locks, known, workload)

    @property
    def baseline(self) -> str:
        return _named(self["baseline"])


def _named(lock: str) -> str:
    """A header by the id that its lock has: mine@tau=0 of ./mine.h@tau=0."""
    name, at, settings = lock.partition("@")
    return (
        (header_locks.lock_id(Path(name)) if header_locks.is_file(name) else name) + at + settings
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
    with subjects.loaded_headers(list(asked.headers.values()), counted, asked["cflags"]) as loaded:
        options = [*loaded, *peers.options(), *([f"--cpus={cpus}"] if cpus else [])]
        if replay := asked.options.get("replay"):
            options.append(f"--replay={replay}")
        with server.started(options, counted, asked.knowledge) as started:
            yield started, subjects.known_to(started, list(peers.missing()))


def planned(
    workload: Workload, asked: Asked, known: Subjects, default_threads: str = THREADS
) -> Plan:
    """What was given, else the paper's setting, else the default."""
    setting = paper_settings.setting(asked["as_in"], workload.name) if asked["as_in"] else None
    baseline = subjects.parse_variants(asked.baseline, known, workload.name)[0]
    variants = asked.variants(known, workload.name)
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
        cell=conditions.cell_options(conditions.parsed(scenario)),
        scenario=scenario,
        headers=asked.headers,
        cflags=asked["cflags"],
        cpus=asked["cpus"],
        counters=asked["counters"],
        latency=not asked["no_latency"],
        pilot=bool(turns) if asked["pilot"] is None else asked["pilot"],
        field=asked["field"],
        as_in=asked["as_in"],
        otherwise=paper_settings.otherwise(setting, asked.options, asked.given) if setting else "",
        statistic=setting.statistic if setting else paper_settings.MEDIAN,
        knowledge=asked.knowledge,
        trace=asked.options.get("trace"),
    )


def _scenario(asked: Asked, setting: paper_settings.Setting | None) -> dict[str, str]:
    """The scenarios' options, as text."""
    texts = dict(setting.scenario) if setting else {}
    given = {s.name: asked[s.name] for s in conditions.SCENARIOS if asked[s.name]}
    return {**texts, **given}


def _parameters(
    workload: Workload, asked: Asked, setting: paper_settings.Setting | None
) -> dict[str, Any]:
    values = dict(setting.parameters) if setting else {}
    for parameter in workload.parameters:
        if parameter.key in asked.given:
            values[parameter.name] = asked[parameter.key]
    return values


def single(workload: Workload, asked: Asked, show: Show | None = None) -> int:
    """One workload: `overlock bench NAME`."""
    file = asked["json_file"]
    for path in filter(None, (file, asked["csv_file"])):
        files.check_writable(path)
    kept = resume.kept(file) if asked["resume"] else None
    console = terminal()
    with serving(asked) as (bench, known):
        plan = planned(throw_mutexes.chosen(workload, known.workloads), asked, known)
        if kept and "seed" not in asked.given:
            plan = resume.with_seed_of(plan, kept)
        result = subjects.new_result(plan, known)
        if kept:
            resume.check_same(file, kept, result)
        job = Job(plan, kept or result)
        campaign.introduce(job, console)
        if "baseline" not in asked.given and plan.baseline not in asked.variants(
            known, workload.name
        ):
            console.print(f"{plan.baseline} is measured too, as the baseline (--baseline)")
        if job.to_do:
            job.result.warnings += campaign.quiet_enough(asked["if_busy"], console)
        return campaign.run_one(bench, job, console, (file, asked["csv_file"]), show)
