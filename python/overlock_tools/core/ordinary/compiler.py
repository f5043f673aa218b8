# SPDX-License-Identifier: MIT
"""Compilers of users' files: which one, and its first error in one line."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from overlock_tools.core.system import native
from overlock_tools.core.system.errors import MISSING, Fail

CPP_STANDARD = "-std=gnu++20"
GCC, GPP, RUSTC = "gcc", "g++", "rustc"
PACKAGES = {
    GCC: "the package gcc",
    GPP: "the package g++",
    RUSTC: "Rust (rustup.rs), 1.90 or later",
}
# `mine.c:3:9: error: ...` of GCC; `error[E0412]: ...` and `  --> mine.rs:3:9` of rustc.
ERROR = re.compile(r"^(?:(\S.*?): )?(?:fatal )?error(?:\[\w+\])?: (.+)$", re.MULTILINE)
COLUMN = re.compile(r"(?<=\d):\d+$")
AT = re.compile(r"^ *--> (.+?:\d+)", re.MULTILINE)
UNDEFINED = re.compile(r"undefined reference to `?([^'\n]+)")


def of(file: Path) -> str:
    if file.suffix == ".rs":
        return RUSTC
    return GCC if file.suffix == ".c" else GPP


def found(compiler: str) -> str:
    if path := shutil.which(compiler):
        return path
    language = {RUSTC: "Rust", GPP: "C++"}.get(compiler, "C")
    raise Fail(
        f"a lock from a {language} file needs {compiler}; install {PACKAGES[compiler]}", MISSING
    )


def run(
    command: Sequence[str | Path], file: Path, variables: Mapping[str, str] | None = None
) -> None:
    """A failure is reported by the first error in the user's file."""
    env = os.environ | (variables or {}) | {"LC_ALL": "C"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        raise Fail(f"{file} does not compile: {first_error(done.stderr, file)}")


def first_error(said: str, file: Path) -> str:
    """With file and line, and what to do."""
    for path in dict.fromkeys((str(file.resolve()), str(file))):
        said = said.replace(path, file.name)
    if hit := UNDEFINED.search(said):  # before collect2's own error
        library = "or give its library: --cflags='-LFOLDER -lNAME'"
        return f"{hit[1]} is not defined; include the file that defines it, {library}"
    hint = "correct it, or give the compiler's options with --cflags"
    if hit := ERROR.search(said):
        at = AT.search(said, hit.end())
        where = COLUMN.sub("", hit[1]) if hit[1] else at[1] if at else ""
        what = f"{where}: {hit[2]}" if where else hit[2]
        if "No such file" in what:
            hint = "give its folder: --cflags=-IFOLDER"
        return f"{what}; {hint}"
    lines = said.strip().splitlines()
    return f"{lines[0] if lines else 'the compiler printed nothing'}; {hint}"


def try_out(file: Path, flags: str = "", folders: tuple[Path, ...] = ()) -> None:
    """Fails if a file that is no lock is none because of its errors."""
    if file.suffix == ".rs":
        return
    compiler = GCC if file.suffix in (".c", ".h") else GPP
    includes = [f"-I{folder}" for folder in (*folders, native.include(), file.parent)]
    language = "c" if compiler == GCC else "c++"
    options = [*includes, *shlex.split(flags), "-w", "-fsyntax-only", f"-x{language}"]
    run([found(compiler), *options, file.resolve()], file)
