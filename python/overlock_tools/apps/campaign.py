# SPDX-License-Identifier: MIT
"""What `overlock apps run` does: from what was asked to results that are shown and kept."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from overlock_tools.apps import catalogue, executor, results
from overlock_tools.apps.app import App
from overlock_tools.apps.executor import NATIVE, Rig, Setting
from overlock_tools.bench import campaign, conditions
from overlock_tools.bench.conditions.base import ended_in_order
from overlock_tools.core.model import plan
from overlock_tools.core.model.plan import Plan
from overlock_tools.core.model.results import Result
from overlock_tools.core.render import tables
from overlock_tools.core.system import machine
from overlock_tools.core.system.errors import INTERRUPTED, MISSING, Fail
from overlock_tools.core.system.terminal import console as terminal

# The collapse, and its cures; --locks all takes them all.
LOCKS = "ticket,mcs,twa,preemptable_ticket,pv_preemptable_ticket,tas_yield"
# These are told to overlock-bench with each cell, and are nothing that could be set up around it.
NOT_HERE = ("phases",)
SCENARIOS = tuple(s for s in conditions.SCENARIOS if s.name not in NOT_HERE)


def chosen(names: Sequence[str]) -> list[type[App]]:
    """By name, or all that are here."""
    if list(names) == ["all"]:
        return [app for app in catalogue.APPS.values() if not app.missing()]
    found = [catalogue.known(name) for name in dict.fromkeys(names)]
    for app in found:
        if lacking := app.missing():
            raise Fail(
                f"{app.name} needs {', '.join(lacking)}; install it with `overlock apps install "
                f"{app.name}`",
                MISSING,
            )
    return found


def variants(texts: Sequence[str], baseline: str) -> list[str]:
    names = [name for text in texts or (LOCKS,) for name in text.split(",") if name.strip()]
    listed: dict[str, None] = {executor.checked(baseline): None, NATIVE: None}
    for name in names:
        listed.update(
            dict.fromkeys(executor.mutexes() if name == "all" else [executor.checked(name)])
        )
    return list(listed)


def given(texts: Sequence[str]) -> dict[str, str]:
    """--parameter NAME=VALUE."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise Fail(f"--parameter {text}: expected NAME=VALUE, as in megabytes=16")
        found[name] = value
    return found


def scenario(options: Mapping[str, Any]) -> dict[str, str]:
    texts = {s.name: options[s.name] for s in SCENARIOS if options[s.name]}
    if texts.get(results.NEIGHBOURS) == "1":
        del texts[results.NEIGHBOURS]
    conditions.parsed(texts)
    return texts


def run(options: dict[str, Any]) -> int:
    """A file for each program in --output; the same command completes them."""
    out = terminal()
    apps = chosen(options["names"])
    if not apps:
        raise Fail("no program is installed; install some with `overlock apps install`", MISSING)
    around = scenario(options)
    locks = variants(options["locks"], options["baseline"])
    threads = plan.parse_threads(options["threads"], machine.cpus())
    given_parameters = given(options["parameters"])
    parameters = {app.name: app.parameters(given_parameters) for app in apps}
    counted = options["counters"] or options["histograms"]
    options |= {"seed": campaign.seed(options), "counters": counted}
    if options["budget"]:
        places = [(app, len(locks) * len(threads)) for app in apps]
        fits = results.fitting(places, options["warm_up"], options)
        options["rounds"], options["seconds"] = fits
    setting = Setting(options["warm_up"], counted, options["histograms"])
    campaign.make(options["output"])
    try:
        with ended_in_order(), executor.ready(setting) as ready:
            parts = []
            for app in apps:
                ready.take(app, parameters[app.name], threads)
                planned = results.planned(app, locks, threads, around, options)
                parts.append(_part(ready, app, planned, setting, options["output"]))
            code = _measured(ready, parts, options, out)
    except KeyboardInterrupt:
        return INTERRUPTED
    return campaign.close(code, shlex.quote(str(options["output"])), out)


def _part(
    ready: Rig, app: type[App], planned: Plan, setting: Setting, folder: Path
) -> campaign.Part:
    """Begun, or as far as its file had come."""
    file = folder / f"{app.name}.json"
    command = ["overlock", *sys.argv[1:]]
    job = campaign.begun(
        planned, file, lambda plan: results.new_result(plan, ready.apps[app.name], setting, command)
    )
    ready.results[app.name] = job.result
    return campaign.Part(job, file, app.overhead_seconds + setting.warm_up)


def _measured(
    ready: Rig, parts: Sequence[campaign.Part], options: dict[str, Any], out: Console
) -> int:
    programs = f"{len(parts)} program{'' if len(parts) == 1 else 's'}"
    each = f" of {parts[0].job.plan.seconds:g} s"
    campaign.introduce_all(parts, programs, out, each)
    code = 0
    if any(part.job.to_do for part in parts):
        warnings = campaign.quiet_enough(options["if_busy"], out)
        for part in parts:
            if part.job.to_do:
                name = part.job.plan.workload.name
                out.print(f"setting up {name}", highlight=False)
                ready.apps[name].set_up()
        code = campaign.run_all(ready, parts, out, warnings, options["budget"])
    for part in parts:
        show(part.job.result, out)
    return code


def show(result: Result, out: Console) -> None:
    if not result.cells:
        for line in campaign.remarks(result):
            out.print(line, soft_wrap=True)
        return
    out.print("")
    out.print(result.title, style="bold")
    for threads in result.threads:
        if any(cell.threads == threads for cell in result.cells):
            out.print(tables.detail(result, threads), "")
            if events := tables.counters(result, threads):
                out.print(events, "")
    for line in results.said(result):
        out.print(line, soft_wrap=True, highlight=False)
