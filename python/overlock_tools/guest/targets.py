# SPDX-License-Identifier: MIT
"""What `overlock guest build` does: guests' kernels and what they stand on, or packages."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

from overlock_tools.bench.conditions.base import ended_in_order
from overlock_tools.core.model import plan
from overlock_tools.core.system.errors import INTERRUPTED
from overlock_tools.core.system.terminal import console as terminal
from overlock_tools.guest import build as building
from overlock_tools.guest import deb, hosts, paths, show
from overlock_tools.guest.build import Progress, Terms

Made = TypeVar("Made")


def _watched(jobs: int, make: Callable[[Terms, Progress], Made]) -> tuple[Made, str] | None:
    """What was made, and how long that took in words; None if it was interrupted."""
    out, progress = terminal(), Progress(building.ABOUT_STEPS)
    view = show.Compiling(out, progress)
    began = time.monotonic()
    try:
        with ended_in_order(), view.shown():
            made = make(Terms(jobs, view.stage, view.step), progress)
    except KeyboardInterrupt:
        out.print("interrupted; repeat the command to continue")
        return None
    return made, plan.in_words(time.monotonic() - began)


def guests(options: dict[str, Any]) -> int:
    home = paths.home(options["folder"], options["version"], options["variant"] or "")

    def make(terms: Terms, progress: Progress) -> str:
        known = building.build(home, terms, progress)
        if options["accel"]:
            hosts.MORE[options["accel"]].build(home, terms, progress)
        return str(known["version"])

    if (made := _watched(options["jobs"], make)) is None:
        return INTERRUPTED
    version, took = made
    terminal().print(f"Linux {version} is ready in {home.image}, after {took}")
    return 0


def packages(options: dict[str, Any]) -> int:
    home = paths.home(options["folder"], options["version"])
    text = deb.config(options["config"])
    made = _watched(options["jobs"], lambda *how: deb.packaged(home, text, *how))
    if made is None:
        return INTERRUPTED
    files, took = made
    out = terminal()
    out.print(f"after {took}:")
    for file in files:
        out.print(f"  {file}", soft_wrap=True, highlight=False)
    out.print("Install the linux-image package there, and boot with spinlock=NAME.")
    return 0
