# SPDX-License-Identifier: MIT
"""An ordinary lock compiled for real threads, for overlock-bench."""

import re
import shlex
from pathlib import Path

from overlock_tools.core.ordinary import compiler, lock, wrapping
from overlock_tools.core.system import native
from overlock_tools.core.system.errors import Fail

OPTIONS = ("-O2", "-fPIC", "-w")
RUST = ("--edition=2021", "--crate-type=staticlib", "-Copt-level=3", "-Cpanic=abort", "-Awarnings")
BRINGS = re.compile(r"^// brings: ", re.MULTILINE)


def lock_id(file: Path) -> str:
    """The file's name, as a name of a lock."""
    if not file.is_file():
        raise Fail(f"{file} does not exist; expected a C, C++ or Rust file with a lock")
    name = re.sub(r"\W", "_", file.stem).lower()
    return name if name[0].isalpha() else f"lock_{name}"


def compile_lock(file: Path, folder: Path, flags: str = "") -> Path:
    """A shared object that exports ol_ops_ID and ol_init_ID."""
    if BRINGS.search(wrapping.said(file)):
        raise Fail(f"{file} needs source files of others; only `overlock check --source` has them")
    unit = _unit(file, folder, flags)
    name = lock_id(file)
    made, ops, out = folder / f"{name}.o", folder / f"{name}_ops.o", folder / f"{name}.so"
    if unit.suffix == wrapping.RUST:
        _compile_rust(file, unit, made, flags)
    else:
        _compile(file, unit, made, flags)
    gcc = compiler.found(compiler.GCC)
    about = [f"-I{native.include()}", f"-DOL_ID={name}", f'-DOL_NAME="{name}"']
    source = native.include() / "overlock/foreign/natively.c"
    compiler.run([gcc, *OPTIONS, *about, "-c", source, "-o", ops], file)
    linker = compiler.found(compiler.GPP) if compiler.of(unit) == compiler.GPP else gcc
    linked = ["-shared", "-Wl,-Bsymbolic", "-Wl,-z,defs", "-pthread"]
    libraries = [] if unit.suffix == wrapping.RUST else shlex.split(flags)
    compiler.run([linker, *linked, ops, made, *libraries, "-ldl", "-lm", "-o", out], file)
    return out


def _unit(file: Path, folder: Path, flags: str) -> Path:
    if wrapping.has_table(file):
        return file
    found = wrapping.lock_of(
        file, flags=flags, choose=f"`{lock.WRAP} {file} --type {{}}` writes a table"
    )
    return wrapping.made_for(file, found, folder)


def _compile(file: Path, unit: Path, made: Path, flags: str) -> None:
    language = compiler.of(unit)
    standard = [compiler.CPP_STANDARD] if language == compiler.GPP else []
    includes = [f"-I{native.include()}", f"-I{file.parent}"]
    command = [compiler.found(language), *standard, *OPTIONS, *includes, *shlex.split(flags)]
    compiler.run([*command, "-c", unit, "-o", made], file)


def _compile_rust(file: Path, unit: Path, made: Path, flags: str) -> None:
    told = {"OVERLOCK_INCLUDE": str(native.include()), "OVERLOCK_BROUGHT": str(made.parent)}
    command = [compiler.found(compiler.RUSTC), *RUST, "-Crelocation-model=pic", *shlex.split(flags)]
    compiler.run([*command, f"--emit=link={made}", unit], file, told)
