# SPDX-License-Identifier: MIT
"""Where the native parts are: executables, libraries, defs.json, and what a lock is compiled from.

A wheel carries them in its own native/ folder; a checkout has them under build/native once built.
"""

import os
from pathlib import Path

from overlock_tools.system.errors import MISSING, Fail

CHECKER_NEEDS = "libboost-context-dev, libcli11-dev and nlohmann-json3-dev"
PACKAGE = Path(__file__).resolve().parents[1]


def checkout() -> Path | None:
    """The source tree this package runs from, or None when it was installed by itself."""
    top = PACKAGE.parent.parent
    return top if (top / "include/overlock/port.h").exists() else None


def remedy(target: str, needs: str = "") -> str:
    """How to get what is not there: in a checkout, or for an installed package."""
    if checkout():
        return f"run `{target}` in the checkout"
    first = f"install {needs}, then " if needs else ""
    return f"{first}run `pip install --force-reinstall .` in overlock's sources"


def folder() -> Path:
    """The native folder: $OVERLOCK_NATIVE, else the package's own, else the checkout's build."""
    if named := os.environ.get("OVERLOCK_NATIVE"):
        if (Path(named) / "defs.json").exists():
            return Path(named).resolve()
        raise Fail(f"OVERLOCK_NATIVE={named} has no defs.json; unset it or build there", MISSING)
    if (PACKAGE / "native/defs.json").exists():
        return PACKAGE / "native"
    top = checkout()
    if top and (top / "build/native/defs.json").exists():
        return top / "build/native"
    raise Fail(f"the native parts are not built; {remedy('make build')}", MISSING)


def file(name: str) -> Path:
    """A file of the native folder, by name."""
    path = folder() / name
    if not path.exists():
        raise Fail(f"{name} is not in {folder()}; {remedy('make build')}", MISSING)
    return path


def checker() -> Path:
    """The model checker; the rest can be built without it."""
    path = folder() / "overlock-check"
    if not path.exists():
        raise Fail(f"overlock-check is not built; {remedy('make checker', CHECKER_NEEDS)}", MISSING)
    return path


def simulator() -> Path:
    """The simulator; the rest can be built without it."""
    return _of_the_simulator("overlock-sim")


def costs() -> Path:
    """What measures the costs that the simulator charges."""
    return _of_the_simulator("overlock-costs")


def _of_the_simulator(name: str) -> Path:
    path = folder() / name
    if not path.exists():
        raise Fail(f"{name} is not built; {remedy('make checker', CHECKER_NEEDS)}", MISSING)
    return path


def hostd() -> Path:
    """The agent that tells guests of their slices; the rest can be built without it."""
    return _of_bpf("overlock-hostd")


def monitord() -> Path:
    """The service that tells programs of their slices; the rest can be built without it."""
    return _of_bpf("overlock-monitord")


def _of_bpf(name: str) -> Path:
    path = folder() / name
    if not path.exists():
        raise Fail(
            f"{name} is not built; install clang, bpftool and libbpf-dev, then `make build`",
            MISSING,
        )
    return path


def profiler() -> Path:
    """What watches a program for `overlock profile`; the rest can be built without it."""
    path = folder() / "overlock-profiler"
    if not path.exists():
        raise Fail(
            "overlock-profiler is not built; install clang, bpftool, libbpf-dev and libdw-dev, "
            "then `make build`",
            MISSING,
        )
    return path


def sched(name: str = "overlock-sched") -> Path:
    """The loader of a scheduler; the rest can be built without it."""
    path = folder() / name
    if not path.exists():
        raise Fail(
            f"{name} is not built; install clang 16, bpftool and libbpf-dev 1.5 or later, "
            "then `make build`; or try it in a guest: `overlock guest sched`",
            MISSING,
        )
    return path


def include() -> Path:
    """The folder that has overlock/port.h, to compile a lock from outside the tree."""
    return _source("include", "overlock/port.h")


def machines() -> Path:
    """The folder of machines that the simulator knows by name."""
    return _source("sim/machines", "README.md")


def lock_unit() -> Path:
    """lock_unit.c, the template a lock is compiled from."""
    return _source("lib", "lock_unit.c") / "lock_unit.c"


def subject_unit() -> Path:
    """subject_unit.cpp, the template a lock is compiled from for the simulated worlds."""
    return _source("engine", "subject_unit.cpp") / "subject_unit.cpp"


def _source(name: str, holds: str) -> Path:
    top = checkout()
    for base in (folder(), top):
        if base and (base / name / holds).exists():
            return base / name
    raise Fail(f"{holds} is neither in {folder()} nor in a checkout; reinstall overlock", MISSING)
