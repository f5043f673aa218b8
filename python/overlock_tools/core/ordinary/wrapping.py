# SPDX-License-Identifier: MIT
"""From a user's file to the file that is compiled: the file itself, or one that includes it."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from overlock_tools.core.ordinary import c, compiler, rust, table
from overlock_tools.core.ordinary import lock as locks
from overlock_tools.core.ordinary.lock import Lock
from overlock_tools.core.system.errors import Fail

RUST = ".rs"
HEADER = ".h"
HEADERS = (HEADER, ".hh", ".hpp", ".hxx")
SUFFIXES = (".c", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", RUST)
# A header for the platform layer: docs/adding-a-lock.md
PLATFORM = re.compile(
    r'^[ \t]*#[ \t]*include[ \t]+["<]overlock/(?!checked\.h)|\bOL_LOCK_LINE\b|\bol_\w+_lock\b',
    re.MULTILINE,
)
TABLE = "checked"  # the stem of the file that is made for a lock without a table
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"\n]+)"', re.MULTILINE)
TABLED = re.compile(rf"{table.NAME}|OVERLOCK_INCLUDE|<overlock/foreign/")


@dataclass(frozen=True)
class Unit:
    """What to compile."""

    file: Path
    lock: Lock | None = None  # whose table was written


def is_ordinary(name: str) -> bool:
    """A file with a lock of its own language, and no header for the platform layer."""
    path = Path(name)
    if path.suffix != HEADER:
        return path.suffix in SUFFIXES
    return path.is_file() and not PLATFORM.search(path.read_text(errors="replace"))


def said(file: Path) -> str:
    """Its text, and that of the files beside it which it includes."""
    texts: dict[Path, str] = {}
    open_ends = [file]
    while open_ends:
        one = open_ends.pop()
        if one not in texts and one.is_file():
            texts[one] = one.read_text(errors="replace")
            open_ends += [one.parent / name for name in INCLUDE.findall(texts[one])]
    return "".join(texts.values())


def has_table(file: Path) -> bool:
    """A file that uses the checker's own ones may get its table from one of them."""
    return bool(TABLED.search(said(file)))


def read(file: Path, flags: str = "", folders: tuple[Path, ...] = ()) -> list[Lock]:
    """The locks that it has."""
    if not file.is_file():
        raise Fail(f"{file} does not exist; expected a C, C++ or Rust file with a lock")
    return rust.read(file) if file.suffix == RUST else list(c.read(file, flags, folders).locks)


def lock_of(
    file: Path,
    name: str = "",
    flags: str = "",
    folders: tuple[Path, ...] = (),
    choose: str = locks.BY_TYPE,
) -> Lock:
    """The lock that the file has. `choose`: how to, if it has several."""
    found = read(file, flags, folders)
    if not found:
        compiler.try_out(file, flags, folders)
        raise Fail(
            f"{file} has neither a table ({table.NAME}) nor functions such as mylock_lock(struct "
            f"mylock *) and mylock_unlock(); write a table: {locks.WRAP} {file}"
        )
    return locks.choose(file, found, name, choose)


def unit(
    file: Path, folder: Path, name: str = "", flags: str = "", folders: tuple[Path, ...] = ()
) -> Unit:
    """The file if it has a table, else one in `folder`."""
    if has_table(file):
        return Unit(file)
    lock = lock_of(file, name, flags, folders)
    return Unit(made_for(file, lock, folder), lock)


def made_for(file: Path, lock: Lock, folder: Path) -> Path:
    """A file in the folder: the lock's, with its table."""
    made = folder / f"{TABLE}{table.SUFFIXES[lock.language]}"
    if lock.language == rust.RUST:
        text = file.read_text()
        made.write_text(table.appended(lock, text) + table.panic_handler(text))
    else:
        whole = str(file.resolve())
        made.write_text(table.written(lock, whole, origin=whole))
    return made


def wrapper(file: Path, folder: Path, name: str = "") -> tuple[Path, str]:
    """A file for its user to edit, and its text."""
    if has_table(file):
        raise Fail(f"{file} already has a table ({table.NAME}); `overlock check {file}` takes it")
    found = read(file)
    language = table.language_of(file)
    if found or name:
        lock = locks.choose(file, found, name)
        language = lock.language
    included = os.path.relpath(file.resolve(), folder.resolve())
    body = table.written(lock, included) if found else table.template(included, language)
    if language == rust.RUST:
        text = file.read_text()
        no_std = "#![no_std]\n" if rust.NO_STD.search(text) else ""
        body = no_std + body + table.panic_handler(text)
    made = folder / f"{file.stem}_checked{table.SUFFIXES[language]}"
    return made, table.remarks(included, language) + body
