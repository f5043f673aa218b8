# SPDX-License-Identifier: MIT
"""Where the native parts are: executables, libraries, defs.json, and what a lock is compiled from.

A wheel carries them in its own native/ folder; a checkout has them under build/native once built.
"""

import os
import platform
import subprocess
from pathlib import Path

from overlock_tools.core.system.errors import MISSING, Fail

CHECKER_NEEDS = "libboost-context-dev, libcli11-dev and nlohmann-json3-dev"
PACKAGE = Path(__file__).resolve().parents[2]
BPF_NEEDS = "bpftool and libbpf-dev"
LOOPS_NEEDS = "libzydis-dev"
PROFILER_NEEDS = "bpftool, libbpf-dev and libdw-dev"
SCHED_NEEDS = "clang 16, bpftool and libbpf-dev 1.5 or later"
# Programs that a build can do without, and what they need.
OPTIONAL = {
    "overlock-check": CHECKER_NEEDS,
    "overlock-litmus": CHECKER_NEEDS,
    "overlock-loops": LOOPS_NEEDS,
    "overlock-sim": CHECKER_NEEDS,
    "overlock-costs": CHECKER_NEEDS,
    "overlock-hostd": BPF_NEEDS,
    "overlock-monitord": BPF_NEEDS,
    "overlock-profiler": PROFILER_NEEDS,
    "overlock-sched": SCHED_NEEDS,
    "overlock-sched-chaos": SCHED_NEEDS,
}


def checkout() -> Path | None:
    """The source tree this package runs from, or None when it was installed by itself."""
    top = PACKAGE.parent.parent
    return top if (top / "include/overlock/port.h").exists() else None


def commit(top: Path) -> str:
    """Of the checkout; what was changed since is said."""

    def git(*words: str) -> str:
        command = ["git", "--no-optional-locks", "-C", str(top), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        # `describe --dirty` locks the index, and leaves the lock behind if we are killed meanwhile.
        is_changed = git("status", "--porcelain", "--untracked-files=no")
        changed = ", changed since" if is_changed else ""
        return f"commit {git('rev-parse', '--short=12', 'HEAD')}{changed}"
    except (OSError, subprocess.CalledProcessError):
        return "of no known commit"


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


def has(name: str) -> bool:
    """Whether one of those that a build can do without is there."""
    return (folder() / name).exists()


def missing() -> list[str]:
    return [name for name in OPTIONAL if not has(name)]


def _optional(name: str) -> Path:
    path = folder() / name
    if not path.exists():
        needs = OPTIONAL[name]
        target = "make checker" if needs is CHECKER_NEEDS else "make build"
        how = remedy(target, needs)
        if needs is SCHED_NEEDS:  # Debian 12 does not have them
            how = f"install {needs}, and build again; or try it in a guest: `overlock guest sched`"
        elif needs in (PROFILER_NEEDS, LOOPS_NEEDS) and platform.machine() != "x86_64":
            how = "it needs x86-64"
        raise Fail(f"{name} is not built; {how}", MISSING)
    return path


def checker() -> Path:
    """The model checker."""
    return _optional("overlock-check")


def litmus() -> Path:
    """What runs litmus tests in the model checker."""
    return _optional("overlock-litmus")


def simulator() -> Path:
    return _optional("overlock-sim")


def costs() -> Path:
    """What measures the costs that the simulator charges."""
    return _optional("overlock-costs")


def hostd() -> Path:
    """The agent that publishes slices to guests."""
    return _optional("overlock-hostd")


def monitord() -> Path:
    """The service that publishes slices to programs."""
    return _optional("overlock-monitord")


def profiler() -> Path:
    """What watches a program for `overlock profile`."""
    return _optional("overlock-profiler")


def loops() -> Path:
    """What finds the waiting loops of a program."""
    return _optional("overlock-loops")


def sched(name: str = "overlock-sched") -> Path:
    """The loader of a scheduler."""
    return _optional(name)


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
    return _source("check/engine", "subject_unit.cpp") / "subject_unit.cpp"


def _source(name: str, holds: str) -> Path:
    top = checkout()
    for base in (folder(), top):
        if base and (base / name / holds).exists():
            return base / name
    raise Fail(f"{holds} is neither in {folder()} nor in a checkout; reinstall overlock", MISSING)
