# SPDX-License-Identifier: MIT
"""What a measurement needs of the machine: words of measurements.toml."""

import shutil
from collections.abc import Sequence

from overlock_tools.core.system import native
from overlock_tools.core.system.errors import Fail
from overlock_tools.guest import paths
from overlock_tools.lab.sched import build as scx


def missing(needs: Sequence[str]) -> str:
    """The first that is not there, and how to get it; empty: all are."""
    return next(filter(None, map(_missing, needs)), "")


def _missing(need: str) -> str:
    kind, _, name = need.partition(" ")
    try:
        if kind == "guest":
            how = f"`overlock guest build{f' --variant {name}' if name else ''}`"
            return (
                "" if paths.home(variant=name).built() else f"a guest kernel: {how}, some minutes"
            )
        if kind == "sched":
            if not scx.rig(None).programs.exists() and not shutil.which("mmdebstrap"):
                return "mmdebstrap is not installed; `overlock guest sched` fetches 1.5 GB with it"
        elif kind == "native":
            native.file(name)
        elif not shutil.which(kind):
            return f"{kind} is not installed"
    except Fail as error:
        return error.message
    return ""
