# SPDX-License-Identifier: MIT
"""A measurement of a program as a result like any other: planned, resumed, shown alike."""

import hashlib
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from overlock_tools.apps.app import App
from overlock_tools.apps.executor import NATIVE, SPINS, Setting, is_setting
from overlock_tools.bench import server
from overlock_tools.core.model import plan as plans
from overlock_tools.core.model.plan import Plan
from overlock_tools.core.model.results import PROGRAM, Result
from overlock_tools.core.model.workloads import Workload
from overlock_tools.core.system import bundled, machine
from overlock_tools.core.system.errors import Fail
from overlock_tools.run import interpose, spins

NEIGHBOURS = "neighbours"  # the rig's own doing; other scenarios are set up around it
LEAST_SECONDS = 0.2


def planned(
    app: type[App],
    variants: Sequence[str],
    threads: Sequence[int],
    scenario: Mapping[str, str],
    options: Mapping[str, Any],
) -> Plan:
    """`scenario`: as the options say it."""
    copies = scenario.get(NEIGHBOURS)
    return Plan(
        workload=Workload(app.name, app.what),
        variants=list(variants),
        threads=list(threads),
        baseline=options["baseline"],
        seed=options["seed"],
        rounds=options["rounds"],
        seconds=options["seconds"],
        cell={"copies": int(copies)} if copies else {},
        scenario={name: text for name, text in scenario.items() if name != NEIGHBOURS},
        counters=options["counters"],
        latency=False,
        pilot=options["pilot"],
    )


def fitting(
    places: Sequence[tuple[type[App], int]], warm_up: float, options: Mapping[str, Any]
) -> tuple[int, float]:
    """Rounds and seconds with which so many cells of these programs end in --budget minutes."""
    budget, seconds = 60 * options["budget"], options["seconds"]
    cells = sum(count for _, count in places)
    beside = sum(count * (app.overhead_seconds + warm_up) for app, count in places)
    rounds = int(budget / (beside + cells * seconds))
    if rounds >= plans.LEAST_ROUNDS:
        return min(rounds, options["rounds"]), seconds
    shorter = (budget / plans.LEAST_ROUNDS - beside) / cells
    if shorter < LEAST_SECONDS:
        least = plans.LEAST_ROUNDS * (beside + cells * LEAST_SECONDS) / 60
        raise Fail(
            f"--budget {options['budget']:g}: {cells} cells per round need about {least:.0f} "
            "minutes; increase it, or give fewer --locks or --threads"
        )
    return plans.LEAST_ROUNDS, round(shorter, 2)


def copies_of(plan: Plan) -> int:
    return int(plan.cell.get("copies", 1))


def knowledge_here() -> dict[str, str | None]:
    """Where the locks of a program that starts now learn of preemption: the library says."""
    with server.started() as started:
        return dict(started.facts["knowledge"])


def new_result(plan: Plan, app: App, setting: Setting, command: Sequence[str]) -> Result:
    ours = [interpose.built("-counted" if setting.counted else "")]
    ours += [spins.library()] if SPINS in plan.variants else []
    versions = installed(app.packages) | dict(wheel.split("==") for wheel in app.wheels)
    versions |= {name: version for name, _, version in map(_parted, app.modules)}
    settings = plan.settings(plan.cpus or machine.cpus())
    texts = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (*ours, *app.sources())]
    settings["build"] = " ".join([*texts, *versions.values()])
    settings["plugins"] = {}
    copies = copies_of(plan)
    scenario = {**({NEIGHBOURS: str(copies)} if copies > 1 else {}), **plan.scenario}
    return Result(
        kind=f"{PROGRAM}-{app.name}",
        title=f"{app.name}: {app.what}",
        unit=app.unit,
        baseline=plan.baseline,
        command=shlex.join(command),
        settings=settings,
        machine=machine.facts(),
        native={
            "packages": versions,
            "reach": app.reach,
            "in_force": {},
            "knowledge": knowledge_here(),
        },
        variants=plan.variants,
        threads=plan.threads,
        peers=[name for name in plan.variants if name == NATIVE or is_setting(name)],
        parameters={
            **app.workspace.parameters,
            "warm_up_seconds": setting.warm_up,
            **({"histograms": True} if setting.histograms else {}),
        },
        scenario={"settings": scenario} if scenario else {},
        statistic=plan.statistic,
    )


def _parted(module: str) -> tuple[str, str, str]:
    return module.rpartition("@")


def installed(packages: Sequence[str]) -> dict[str, str]:
    """Their versions: of a bundle's, else where Debian's tools tell them."""
    packages = [name for package in packages for name in package.split("|")]
    carried = bundled.versions()
    theirs = {name: carried[name] for name in packages if name in carried}
    packages = [name for name in packages if name not in theirs]
    try:
        done = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *packages],
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return theirs
    pairs = (line.split() for line in done.stdout.splitlines())
    return theirs | {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def said(result: Result) -> list[str]:
    """What a reader has to know of the program."""
    lines = [f"Replaced locks: {result.native['reach']}."]
    measured = {cell.variant for cell in result.cells} - set(result.peers)
    if unseen := sorted(measured - result.native["in_force"].keys()):
        lines.append(f"Not verified because the program ended too soon: {', '.join(unseen)}.")
    return lines
