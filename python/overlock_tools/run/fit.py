# SPDX-License-Identifier: MIT
"""`overlock run --fit`: a program is told how many CPUs it may use, and what is said of that."""

import math
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overlock_tools.core.system import cgroups, native
from overlock_tools.core.system.errors import Fail, say
from overlock_tools.core.system.kernel_files import Tree, Unknown

LIBRARY = "liboverlock-run-fit.so"
AUTO = "auto"
VARIABLE = "OVERLOCK_FIT"
# Runtimes that make their system calls themselves, and the variables that they heed.
VARIABLES = {"Go": "GOMAXPROCS"}
INSTEAD = "--fit cannot reach it: give it a CPU mask (taskset -c), or a number of threads"
UNREACHED = ("is statically linked", "uses musl")  # of the launcher's refusals
GO = b"\xff Go buildinf:"  # before what the linker writes of a program's build


def asked(options: Mapping[str, Any]) -> str:
    """What the library is told; empty without --fit. Of one within another the least counts."""
    n: str | None = options["fit_what"]
    is_off = os.environ.get("OVERLOCK_DISABLE", "") not in ("", "0")
    if is_off or (n is None and not options["fit"]):
        return ""
    if n is not None and not (n.isascii() and n.isdecimal() and int(n)):
        raise Fail(f"--fit={n}: expected a number of CPUs, from 1 on")
    numbers = [int(n) for n in (n, os.environ.get(VARIABLE)) if n and n != AUTO]
    return str(min(numbers)) if numbers else AUTO


def library() -> Path:
    return native.file(LIBRARY)


@dataclass(frozen=True)
class Told:
    """At the program's start."""

    cpus: int
    online: int
    why: str


def _quota() -> float | None:
    """CPUs; the least of our group's and those above it. None: there is none."""
    found = cgroups.quota(Tree(), cgroups.of(Tree(), "self"))
    return found.cpus if found else None


def _of_quota() -> tuple[str, int | None]:
    try:
        quota = _quota()
    except Unknown:
        return "no control group can be seen", None
    if quota is None:
        return "no quota", None
    rounded = math.ceil(quota)
    return f"a quota of {quota:g}{', rounded up' if rounded != quota else ''}", rounded


def told(words: str) -> Told:
    mask, (quota, pays) = len(os.sched_getaffinity(0)), _of_quota()
    given = None if words == AUTO else int(words)
    bounds = [mask, *(n for n in (pays, given) if n is not None)]
    reasons = [f"{mask} in its CPU mask", quota, *([f"--fit={given}"] if given else [])]
    return Told(max(1, min(bounds)), os.cpu_count() or mask, ", ".join(reasons))


def variables(words: str) -> dict[str, str]:
    """Ours, and those of runtimes that the library does not reach, where they are not set."""
    n = told(words).cpus
    others = {} if n == len(os.sched_getaffinity(0)) else dict.fromkeys(VARIABLES.values(), str(n))
    unset = {name: value for name, value in others.items() if name not in os.environ}
    return {VARIABLE: words} | unset


def _cpus(n: int) -> str:
    return f"{n} CPU{'s' if n > 1 else ''}"


def tell(words: str, ours: Mapping[str, str]) -> None:
    """On standard error, before the program starts."""
    if "LD_PRELOAD" not in ours:
        say("--fit: the program is statically linked: only its runtime's variable is set")
    now = told(words)
    said = f"--fit: the program is told {_cpus(now.cpus)} of {now.online}: {now.why}"
    if now.cpus == now.online:
        said = f"--fit: nothing to tell: the program may use all of {_cpus(now.online)} ({now.why})"
    found = [f"{name}={ours[name]}" for name in VARIABLES.values() if name in ours]
    say(said + (f"; for Go: {', '.join(found)}" if found else ""))


def found(program: str) -> str:
    return shutil.which(program) or program


def heeds_variables(program: str) -> bool:
    """Though no library can be preloaded into it."""
    try:
        return GO in Path(found(program)).read_bytes()
    except OSError:
        return False
