# SPDX-License-Identifier: MIT
"""Locks from outside the tree: `--lock ./mine.h` compiles the header into a table of functions.

A header is for the platform layer; ordinary locks of other files are only measured.
"""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

from overlock_tools.core.ordinary import natively, wrapping
from overlock_tools.core.system import native
from overlock_tools.core.system.errors import MISSING, Fail

# Every basic block calls check/coverage.cpp, which a tail call would hide.
TRACED = ("-fsanitize-coverage=trace-pc", "-fno-optimize-sibling-calls")
# GCC's: no block is merged with that of another source line, or split.
UNMERGED = (
    "-fno-crossjumping",
    "-fno-ipa-icf",
    "-fno-partial-inlining",
    "-fno-thread-jumps",
    "-fno-tree-tail-merge",
)


def is_header(name: str) -> bool:
    return name.endswith(".h") and not wrapping.is_ordinary(name)


def is_file(name: str) -> bool:
    """A header, or a file with an ordinary lock."""
    return is_header(name) or wrapping.is_ordinary(name)


def lock_id(header: Path) -> str:
    """The lock's id: the header's name."""
    if wrapping.is_ordinary(str(header)):
        return natively.lock_id(header)
    if not header.is_file():
        raise Fail(f"{header} does not exist; --lock expects a lock's name or a header")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", header.stem):
        raise Fail(f"{header} must have its lock's name, in a-z, 0-9 and _, such as mine.h")
    return header.stem


def compile_lock(header: Path, folder: Path, counted: bool = False, flags: str = "") -> Path:
    """Compiles the header into `folder`; the .so exports ol_ops_<id>."""
    if wrapping.is_ordinary(str(header)):
        if counted:
            raise Fail(f"--counters: {header} has no counters; expected a lock of ours or a header")
        return natively.compile_lock(header, folder, flags)
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        raise Fail("a lock from a header needs a C compiler; install gcc", MISSING)
    unit = native.lock_unit()
    options = [
        *("-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror=implicit-function-declaration"),
        f"-I{native.include()}",
        f"-I{unit.parent}",
        *(["-DOL_COUNTED"] if counted else []),
        *shlex.split(flags),
    ]
    return _compile(header, folder, [compiler, *options], unit)


def compile_subject(header: Path, folder: Path) -> Path:
    """The same for the engine's worlds; the .so exports ol_sim_<id>."""
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        raise Fail("checking a lock from a header needs a C++ compiler; install g++", MISSING)
    unit, include = native.subject_unit(), native.include()
    options = [
        *("-std=c++20", "-DOL_PORT_SIM", f"-I{unit.parents[2]}", f"-I{include}"),
        f"-DOL_SUBJECT={lock_id(header)}",
        *("-g", *TRACED),
        *(() if "clang" in Path(compiler).resolve().name else UNMERGED),
    ]
    return _compile(header, folder, [compiler, *options], unit)


def _compile(header: Path, folder: Path, compiler: list[str], unit: Path) -> Path:
    name = lock_id(header)
    out = folder / f"{name}.so"
    command = [
        *compiler,
        *("-O2", "-fPIC", "-shared"),
        f"-DOL_THIS_{name}=OL_YES",
        f'-DOL_HEADER="{header.resolve()}"',
        str(unit),
        "-o",
        str(out),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error:" in line]
        first = errors[0] if errors else done.stderr.strip() or "the compiler printed nothing"
        first = first.replace(str(header.resolve()), str(header))
        raise Fail(f"{header} does not compile: {first}; docs/adding-a-lock.md has the rules")
    return out
