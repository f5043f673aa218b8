# SPDX-License-Identifier: MIT
"""What a measurement needs of the machine: words of measurements.toml."""

import shutil
from collections.abc import Callable, Mapping, Sequence

from overlock_tools.core.system import native
from overlock_tools.core.system.errors import Fail
from overlock_tools.guest import paths
from overlock_tools.lab.nested import kernel as host
from overlock_tools.lab.sched import build as scx
from overlock_tools.lab.xen import domain


def missing(needs: Sequence[str]) -> str:
    """The first that is not there, and how to get it; empty: all are."""
    return next(filter(None, map(_missing, needs)), "")


def _missing(need: str) -> str:
    kind, _, name = need.partition(" ")
    try:
        return NEEDS[kind](name) or "" if kind in NEEDS else _program(kind)
    except Fail as error:
        return error.message


def _program(name: str) -> str:
    return "" if shutil.which(name) else f"{name} is not installed"


def _guest(variant: str) -> str:
    how = f"`overlock guest build{f' --variant {variant}' if variant else ''}`"
    built = paths.home(variant=variant).built()
    return "" if built else f"a guest kernel: {how}, some minutes"


def _sched(_: str) -> str:
    if scx.rig(None).programs.exists() or not _program("mmdebstrap"):
        return ""
    return "mmdebstrap is not installed; `overlock guest sched` fetches 1.5 GB with it"


def _native(name: str) -> None:
    native.file(name)


def _nested(_: str) -> None:
    host.needed(paths.home())


def _xen(_: str) -> None:
    domain.needed(paths.home())


# Each says what is missing, or raises it.
NEEDS: Mapping[str, Callable[[str], str | None]] = {
    "guest": _guest,
    "native": _native,
    "nested": _nested,
    "sched": _sched,
    "xen": _xen,
}
