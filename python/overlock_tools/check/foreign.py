# SPDX-License-Identifier: MIT
"""Other people's locks: a C, C++ or Rust file that describes one, and the lock's own source files.

A file says in comments which source files it needs, `// brings: kernel/locking/qspinlock.c`, by
their path below the folder of --source. They are copied without their #include lines, but for those
of one another: what else they need, the file includes before them. Two of one name are copied to
their paths. Beyond that only what the file says is replaced:
`// replaces: spins ?= ?100 => spins=0`, a regular expression and what takes its place. What a file
says also holds for one beside it that includes it.

A file of an ordinary lock says nothing: its table is made, overlock_tools.core.ordinary.
"""

import platform
import re
import shlex
from collections import Counter
from functools import partial
from pathlib import Path
from typing import NamedTuple

from overlock_tools.bench import header_locks
from overlock_tools.check import capabilities, listing, unseen
from overlock_tools.check.job import PLACE
from overlock_tools.core.ordinary import compiler, wrapping
from overlock_tools.core.ordinary.lock import Lock
from overlock_tools.core.system import native
from overlock_tools.core.system.errors import Fail

BRINGS = re.compile(r"^// brings: (.+)$", re.MULTILINE)
REPLACES = re.compile(r"^// replaces: (.+) => ?(.*)$", re.MULTILINE)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+["<]([^">\n]+)[">][^\n]*$', re.MULTILINE)
# As for ThreadSanitizer, whose calls the checker answers; nothing below a stack pointer is in use.
# DWARF 4: of DWARF 5, addr2line 2.40 gives the first lines of an included file the wrong name.
OPTIONS = (
    *("-gdwarf-4", "-O1", "-fPIC", "-fsanitize=thread", "-mno-red-zone", "-w"),
    *header_locks.TRACED,
)
# Operators of std::atomic, whose steps are the caller's lines only if they are inlined.
CPP = ("-finline-functions", "-finline-small-functions")
# GCC makes stores of a memset() that it expands itself, without a call that tells of them.
TOLD = ("-fno-builtin-memset", "-include", "overlock/foreign/always.h")
# rustc's sanitizers are of its nightly versions, which the others are too if they are told so.
RUST = (
    "--edition=2021",
    "-Zsanitizer=thread",
    "-Zexternal-clangrt",
    "-Cunsafe-allow-abi-mismatch=sanitizer",
    "-Cpanic=abort",
    "-Copt-level=1",
    "-Ccodegen-units=1",
    "-Crelocation-model=pic",
    "-Cno-redzone=yes",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=3",
    "-Cllvm-args=-sanitizer-coverage-trace-pc",
    "-g",
    "-Awarnings",
)
# Their thread-local variables are found by a call, which the checker answers.
THREAD_LOCAL = {"x86_64": "-mtls-dialect=gnu", "aarch64": "-mtls-dialect=trad"}
LINKED = ("-shared", "-Wl,-Bsymbolic", "-Wl,-z,now", "-Wl,-z,norelro")
TABLE = "overlock_checked"
GUIDE = "docs/checking-other-locks.md has the rules"


class Made(NamedTuple):
    """A shared object that exports overlock_checked, and the lock if its table was made."""

    object: Path
    lock: Lock | None
    hidden: tuple[str, ...] = ()  # what its compiler does not announce


def is_foreign(name: str) -> bool:
    return wrapping.is_ordinary(name)


def lock_id(file: Path) -> str:
    if not file.is_file():
        raise Fail(
            f"{file} does not exist; expected a lock's name, or a file: a header, C, C++, Rust "
            "or .litmus"
        )
    return re.sub(r"\W", "_", file.stem)


def brought(file: Path) -> list[str]:
    """What it says that it brings, and what those beside it say that it includes."""
    return [word for line in BRINGS.findall(wrapping.said(file)) for word in line.split()]


def bring(file: Path, source: Path | None, into: Path) -> None:
    names = list(dict.fromkeys(brought(file)))
    if names and not source:
        raise Fail(f"{file} needs {names[0]}; give its folder with --source")
    short = Counter(Path(name).name for name in names)
    placed = {name: Path(name).name if short[Path(name).name] == 1 else name for name in names}
    replaced = dict.fromkeys(REPLACES.findall(wrapping.said(file)), 0)
    for name in names:
        path = (source or Path()) / name
        if not path.is_file():
            raise Fail(f"{source} has no {name}, which {file} needs")
        text = INCLUDE.sub(partial(_include, placed), path.read_text())
        for old, new in replaced:
            text, times = re.subn(old, new, text)
            replaced[old, new] += times
        (into / placed[name]).parent.mkdir(parents=True, exist_ok=True)
        (into / placed[name]).write_text(text)
    if unused := [old for (old, _), times in replaced.items() if not times]:
        raise Fail(f"{file} replaces `{unused[0]}`, which is not in the files of {source}")


def _include(placed: dict[str, str], found: re.Match[str]) -> str:
    """Of one of those brought, by where it is placed; of any other, nothing."""
    meant = [place for name, place in placed.items() if f"/{name}".endswith(f"/{found[1]}")]
    return f'#include "{meant[0]}"' if len(meant) == 1 else ""


def compile_file(file: Path, folder: Path, source: Path | None, flags: str = "") -> Path:
    return make(file, folder, source, flags).object


def make(
    file: Path, folder: Path, source: Path | None, flags: str = "", type_name: str = ""
) -> Made:
    bring(file, source, folder)
    unit = wrapping.unit(file, folder, type_name, flags, (folder,))
    name = lock_id(file)
    made, out = folder / f"{name}.o", folder / f"{name}.so"
    rest: list[str | Path] = []
    if file.suffix == wrapping.RUST:
        rest = _compile_rust(file, unit.file, made, flags)
    else:
        _compile_c(file, unit.file, made, flags)
    if TABLE.encode() not in made.read_bytes():
        raise Fail(f"{file} has no {TABLE}, the table of its lock; {GUIDE}")
    answered = [f"-Wl,--wrap={name}" for name in capabilities.load().wrapped_calls]
    command = [compiler.found(compiler.GCC), *LINKED, *answered, made, *rest, "-o", out]
    compiler.run(command, file)
    unseen.refuse_blocking(file, out)
    unseen.refuse_shared_locals(file, out)
    return Made(out, unit.lock, listing.hidden(_listed(made), file.suffix != wrapping.RUST))


def _compile_c(file: Path, unit: Path, made: Path, flags: str) -> None:
    language = compiler.of(unit)
    includes = [f"-I{made.parent}", f"-I{native.include()}", f"-I{file.parent}"]
    dialect = filter(None, [THREAD_LOCAL.get(platform.machine())])
    options = [*OPTIONS, *dialect, *(CPP if language == compiler.GPP else ()), *includes, *TOLD]
    if language == compiler.GPP and not brought(file):  # what is brought is as old as it is
        options.append(compiler.CPP_STANDARD)
    options += [f"-ffile-prefix-map={made.parent}={PLACE}", *shlex.split(flags)]
    gcc = compiler.found(language)
    compiler.run([gcc, *options, "-S", unit.resolve(), "-o", _listed(made)], file)
    compiler.run([gcc, "-c", _listed(made), "-o", made], file)


def _listed(made: Path) -> Path:
    return made.with_suffix(".s")


def _compile_rust(file: Path, unit: Path, made: Path, flags: str) -> list[str | Path]:
    """What it is linked with, too."""
    told = {
        "RUSTC_BOOTSTRAP": "1",
        "OVERLOCK_INCLUDE": str(native.include()),
        "OVERLOCK_BROUGHT": str(made.parent),
    }
    whole = made.with_name(f"lib{made.stem}.a")
    kinds = ["--crate-type=staticlib", f"--emit=obj={made},asm={_listed(made)},link={whole}"]
    places = [f"--remap-path-prefix={made.parent}={PLACE}"]
    if unit != file:
        places.append(f"--remap-path-prefix={unit}={file.resolve()}")
    options = [*RUST, *kinds, *places, *shlex.split(flags)]
    compiler.run([compiler.found(compiler.RUSTC), *options, unit.resolve()], file, told)
    return [whole]
