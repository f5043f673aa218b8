# SPDX-License-Identifier: MIT
"""Names, files and lines of calls, those that were inlined too: llvm-symbolizer tells them."""

import contextlib
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Required, TypedDict

from overlock_tools.system import reading

TOOL = "llvm-symbolizer"
PACKAGE = "llvm"  # Debian's


@dataclass(frozen=True)
class Call:
    """A function, and where in it somebody is; of what is unknown nothing is said."""

    function: str | None = None
    file: str | None = None
    line: int | None = None
    inlined: bool = False  # into the one after it

    @property
    def where(self) -> str:
        """`queue.h:31`; empty if it is unknown, as of files without debug information."""
        return f"{Path(self.file).name}:{self.line}" if self.file and self.line else ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@cache
def tool() -> str | None:
    """By its name alone, or with a version, of which the newest."""
    versions = (f"{TOOL}-{n}" for n in range(40, 13, -1))
    return next(filter(None, map(shutil.which, (TOOL, *versions))), None)


def look_up(module: Path, offsets: Iterable[int]) -> dict[int, tuple[Call, ...]]:
    """By offset, innermost first; nothing where the file tells nothing, or nobody can ask it."""
    asked = sorted(set(offsets))
    if not asked or not tool() or not module.is_file():
        return {}
    return named(_ask(module, (f"{offset:#x}" for offset in asked)))


def variables(module: Path, offsets: Iterable[int]) -> dict[int, str]:
    """By offset, the global or static variable that is there; nothing where there is none."""
    asked = sorted(set(offsets))
    if not asked or not tool() or not module.is_file():
        return {}
    return named_data(_ask(module, (f"DATA {offset:#x}" for offset in asked)))


def _ask(module: Path, lines: Iterable[str]) -> str:
    done = subprocess.run(
        [str(tool()), "-e", str(module), "--inlines", "--demangle", "--output-style=JSON"],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        start_new_session=True,  # Ctrl-C ends the program that is looked at, not this
    )
    return done.stdout


class _Symbol(TypedDict, total=False):
    FunctionName: str
    FileName: str
    Line: int


class _Data(TypedDict, total=False):
    Name: str
    Start: str


class _Answer(TypedDict, total=False):
    Address: Required[str]
    Symbol: list[_Symbol]
    Data: _Data


def named(answers: str) -> dict[int, tuple[Call, ...]]:
    """Of what the tool prints, a line of JSON per address. A file may make it print anything."""
    found = {}
    for line in answers.splitlines():
        with contextlib.suppress(ValueError):
            answer = reading.checked(_Answer, reading.parsed(line), "an answer")
            found[int(answer["Address"], 16)] = _calls(answer.get("Symbol", []))
    return {offset: calls for offset, calls in found.items() if calls}


def named_data(answers: str) -> dict[int, str]:
    """The same of variables: `cache`, or `cache+0x28` for what is within one."""
    found = {}
    for line in answers.splitlines():
        with contextlib.suppress(ValueError):
            # An answer alone is in a list, others are not.
            answer = reading.checked(_Answer, reading.parsed(line.strip("[]")), "an answer")
            data, at = answer.get("Data", {}), int(answer["Address"], 16)
            if name := data.get("Name"):
                inside = at - int(data.get("Start", answer["Address"]), 16)
                found[at] = f"{name}+{inside:#x}" if inside else name
    return found


def _calls(symbols: list[_Symbol]) -> tuple[Call, ...]:
    calls = tuple(
        Call(
            symbol.get("FunctionName") or None,
            symbol.get("FileName") or None,
            symbol.get("Line") or None,
            i + 1 < len(symbols),
        )
        for i, symbol in enumerate(symbols)
    )
    return calls if any(call.function or call.file for call in calls) else ()
