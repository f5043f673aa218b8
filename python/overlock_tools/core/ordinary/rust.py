# SPDX-License-Identifier: MIT
"""The locks of a Rust file that have a C interface: `#[no_mangle] pub extern "C" fn`."""

import re
from collections.abc import Iterator
from pathlib import Path

from overlock_tools.core.ordinary import lock as locks
from overlock_tools.core.ordinary import names
from overlock_tools.core.ordinary.lock import Function, Lock

RUST = "rust"
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
FUNCTION = re.compile(
    r"#\[(?:unsafe\()?no_mangle\)?\]\s*(?:#\[[^\]]*\]\s*)*"
    r'(?:pub(?:\([^)]*\))?\s+)?(?:unsafe\s+)?extern\s+"C"\s+fn\s+(\w+)\s*'
    r"\(([^)]*)\)\s*(?:->\s*(\w+))?"
)
# `*mut T`, `&T`, `Option<&'a mut T>`, `*const path::T`
LOCK = re.compile(r"(?:Option<)?(?:\*(?:mut|const)|&(?:'\w+\s+)?(?:mut)?)\s*((?:\w+::)*\w+)>?")
NO_STD = re.compile(r"^\s*#!\[no_std\]", re.MULTILINE)
PANICS = re.compile(r"#\[panic_handler\]")


def read(file: Path) -> list[Lock]:
    return in_text(file.read_text(errors="replace"))


def in_text(text: str) -> list[Lock]:
    code = COMMENT.sub("", text)
    found = (f for said in FUNCTION.finditer(code) for f in _function(*said.groups("")))
    return locks.of_functions(found, RUST)


def _function(name: str, parameters: str, answer: str) -> Iterator[Function]:
    operation = names.operation(name)
    types = [part.partition(":")[2].strip() for part in parameters.split(",") if ":" in part]
    of = LOCK.fullmatch(types[0]) if types else None
    if not operation or not of:
        return
    rest: tuple[str, ...] = ()
    if operation == "wait" and len(types) == 2:
        mutex = LOCK.fullmatch(types[1])
        rest = (mutex[1] if mutex else "0",)
    elif operation == "init":
        rest = tuple("core::ptr::null_mut()" if "*" in one else "0" for one in types[1:])
    elif types[1:]:
        return
    yield Function(name, operation, of[1], "o", rest, answer=answer)
