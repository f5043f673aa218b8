# SPDX-License-Identifier: MIT
"""What a lock's text calls, through the headers that it includes."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.conftest import TOP

INCLUDE = TOP / "include"
COMMENT = re.compile(r"[ \t]*(?:/\*.*?\*/|//[^\n]*)", re.DOTALL)
INCLUDED = re.compile(r"^#include <(overlock/(?!port)[\w/]+\.h)>$", re.MULTILINE)
# A part that many locks share: its functions get the names of the lock that includes it.
SHARED = re.compile(
    r"^#define (OL_\w+) (\w+)\n#include <(overlock/lock/impl/\w+\.h)>$", re.MULTILINE
)
FUNCTION = re.compile(r"^[^\s#/*}][^;{}=]*?\b(\w+)\([^;{}]*\)\n\{\n(.*?)^\}", re.M | re.S)
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\(.*?)$(?<!\\)", re.M | re.S)
CALL = re.compile(r"\b(\w+)(?=\()")

# What a trait says that the text calls: OL_EACH_TRAIT of ops.h.
TRAIT = re.compile(r'OL_TRAIT\((NEEDS_\w+),\s*\d+,\s*"([^"]*)"\)')


@dataclass(frozen=True)
class Text:
    """A header, without its comments, and those that it includes."""

    calls: dict[str, frozenset[str]]  # of each function and macro
    own: frozenset[str]  # those of the header itself

    def reached(self) -> set[str]:
        """All that the header's functions call, and what those call."""
        found, todo = set(self.own), list(self.own)
        while todo:
            for name in self.calls.get(todo.pop(), ()):
                if name not in found:
                    found.add(name)
                    todo.append(name)
        return found


def defined(code: str) -> dict[str, frozenset[str]]:
    both = (*FUNCTION.findall(code), *MACRO.findall(code))
    return {name: frozenset(CALL.findall(body)) for name, body in both}


def included(code: str) -> list[Path]:
    """Headers of the project except the platform layer."""
    return [INCLUDE / name for name in INCLUDED.findall(code)]


@cache
def of_the_seam() -> dict[str, frozenset[str]]:
    """What port.h writes in terms of its other calls."""
    return defined(COMMENT.sub("", (INCLUDE / "overlock/port.h").read_text()))


def with_shared(code: str) -> str:
    def named(found: re.Match[str]) -> str:
        macro, prefix, header = found.groups()
        shared = COMMENT.sub("", (INCLUDE / header).read_text())
        return re.sub(rf"\b{macro}_\((\w+)\)", rf"{prefix}\1", shared)

    return SHARED.sub(named, code)


def parse(text: str) -> Text:
    code = with_shared(COMMENT.sub("", text))
    own = defined(code)
    calls = of_the_seam() | own
    for path in included(code):
        calls |= parse(path.read_text()).calls
    return Text(calls, frozenset(own))


def header(lock: str) -> Path:
    return INCLUDE / f"overlock/lock/{lock}.h"


@cache
def needs() -> dict[str, frozenset[str]]:
    """Each trait NEEDS_, in small letters, and the calls of the platform layer behind it."""
    found = TRAIT.findall((INCLUDE / "overlock/ops.h").read_text())
    return {name.lower(): frozenset(CALL.findall(what)) for name, what in found}


def needed(text: str) -> set[str]:
    """The traits NEEDS_ that are true of a lock's text."""
    reached = parse(text).reached()
    return {trait for trait, calls in needs().items() if calls & reached}
