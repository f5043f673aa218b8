# SPDX-License-Identifier: MIT
"""`overlock run --fit`: a program is told how many CPUs it may use, and what is said of that."""

import math
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from overlock_tools.core.system import cgroups, native
from overlock_tools.core.system.errors import Fail, say
from overlock_tools.core.system.kernel_files import Tree, Unknown

LIBRARY = "liboverlock-run-fit.so"
AUTO = "auto"
# Runtimes that make their system calls themselves, and the variables that they heed.
VARIABLES = {"Go": "GOMAXPROCS"}
INSTEAD = (
    "--fit cannot reach it; give it a CPU mask (taskset -c), or fewer threads by its own options"
)
GO = b"\xff Go buildinf:"  # before what the linker writes of a program's build


def asked(options: Mapping[str, Any]) -> str:
    """What the library is told; empty without --fit."""
    n: str | None = options["fit_what"]
    if n is None:
        return AUTO if options["fit"] else ""
    if not n.isdecimal() or not int(n):
        raise Fail(f"--fit={n}: expected a number of CPUs, from 1 on")
    return n


def library() -> Path:
    return native.file(LIBRARY)


def _quota() -> float | None:
    """CPUs; the least of our group's and those above it. None: there is none, or none is seen."""
    try:
        found = cgroups.quota(Tree(), cgroups.of(Tree(), "self"))
    except Unknown:
        return None
    return found.cpus if found else None


def cpus(words: str) -> tuple[int, str]:
    """How many CPUs the program is told at its start, and why."""
    mask, limit = len(os.sched_getaffinity(0)), _quota()
    bounds = {f"{mask} in its CPU mask": mask}
    if limit is not None:
        bounds[f"a quota of {limit:g}, rounded up"] = math.ceil(limit)
    if words != AUTO:
        bounds[f"--fit={words}"] = int(words)
    return max(1, min(bounds.values())), " and ".join(bounds)


def variables(words: str) -> dict[str, str]:
    """Those of runtimes that the library does not reach, as far as they are not set, and ours."""
    n, _ = cpus(words)
    others = {} if n == len(os.sched_getaffinity(0)) else dict.fromkeys(VARIABLES.values(), str(n))
    unset = {name: value for name, value in others.items() if name not in os.environ}
    return {"OVERLOCK_FIT": words} | unset


def tell(words: str, ours: Mapping[str, str]) -> None:
    """On standard error, before the program starts."""
    if "LD_PRELOAD" not in ours:
        say("--fit: the program is statically linked: only its runtime's variable is set")
    n, why = cpus(words)
    online = os.cpu_count() or n
    told = f"--fit: the program is told {n} CPU{'s' if n > 1 else ''} of {online}: {why}"
    if n == online:
        told = f"--fit: nothing to tell: the program may use all {online} CPUs ({why})"
    found = [f"{name}={ours[name]}" for name in VARIABLES.values() if name in ours]
    say(told + (f"; set: {', '.join(found)}" if found else ""))


def found(program: str) -> str:
    return shutil.which(program) or program


def heeds_variables(program: str) -> bool:
    """Though no library can be preloaded into it."""
    try:
        return GO in Path(found(program)).read_bytes()
    except OSError:
        return False
