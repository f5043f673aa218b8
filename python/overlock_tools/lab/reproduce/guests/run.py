# SPDX-License-Identifier: MIT
"""What `overlock guest paper` does."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

from overlock_tools.bench import campaign
from overlock_tools.core.model import defs, plan
from overlock_tools.core.system.errors import INTERRUPTED, Fail
from overlock_tools.core.system.terminal import console as terminal
from overlock_tools.guest import campaign as guests
from overlock_tools.guest import loads, locks, results
from overlock_tools.lab.reproduce.guests import show
from overlock_tools.lab.reproduce.guests.experiment import Experiment, Part
from overlock_tools.lab.reproduce.guests.papers import EXPERIMENTS


def listing() -> int:
    out = terminal()
    for name, experiment in EXPERIMENTS.items():
        out.print(f"{name:<12} {experiment.paper} {experiment.figure}: {experiment.what}")
    return 0


def run(name: str, options: dict[str, Any]) -> int:
    """The parts of an experiment, a file each; the same command completes them."""
    known = defs.known(EXPERIMENTS, name, "experiment", f"expected one of {', '.join(EXPERIMENTS)}")
    out, folder = terminal(), options["output"]
    options |= {"seed": campaign.seed(options), "parameters": (), "pilot": False}
    options |= {"baseline": known.locks[0]}
    for option in ("rounds", "seconds"):
        options[option] = options[option] or getattr(known, option)
    try:
        with guests.opened(
            options, out, [loads.known(part.load) for part in known.parts]
        ) as session:
            campaign.make(folder)
            jobs = {part.name: _job_of(session, known, part, folder, name) for part in known.parts}
            out.print(f"{known.paper} {known.figure}: {known.what}", style="bold")
            guests.introduce_all(list(jobs.values()), out)
            code = 0
            if any(job.job.to_do for job in jobs.values()):
                warnings = campaign.quiet_enough(options["if_busy"], out)
                code = campaign.run_all(session.rig, list(jobs.values()), out, warnings, None)
    except KeyboardInterrupt:
        return INTERRUPTED
    results = {part: job.job.result for part, job in jobs.items()}
    for result in results.values():
        show.measures(result, known.columns, out)
        if known.events:
            show.counts(result, known.events, out)
    show.claims(known, results, out)
    return campaign.close(code, shlex.quote(str(folder)), out)


def _job_of(
    session: guests.Session, known: Experiment, part: Part, folder: Path, name: str
) -> campaign.Part:
    load, options = loads.known(part.load), session.on.options
    vcpus = plan.parse_threads(options["vcpus"] or part.vcpus, session.on.where.cpus)
    if most := [n for n in vcpus if n > guests.MOST_VCPUS]:
        raise Fail(f"--vcpus: a guest has at most {guests.MOST_VCPUS} vCPUs, not {most[0]}")
    chosen = [locks.checked(lock) for lock in known.locks]
    planned = replace(
        results.planned(load, part.vms, vcpus, chosen, options), statistic=known.statistic
    )
    file = folder / f"{name}-{part.name}.json"
    return campaign.Part(
        session.job(load, planned, file, part.parameters), file, guests.BOOT_AND_LEAD_SECONDS
    )
