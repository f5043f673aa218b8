# SPDX-License-Identifier: MIT
"""What of a lock from outside its compiler announces to nobody, by its assembler listing: inline
assembler, and functions that were not instrumented."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

BEGINS, ENDS = re.compile(r"\s*[#/]+APP"), re.compile(r"\s*[#/]+NO_APP")
PLACE = re.compile(r'\s*(?:#|//) (\d+) "(.+)" 1$')  # GCC's, within
LOC = re.compile(r"\s*\.loc\s+\d+\s+(\d+)")
COMMENT = re.compile(r"\s*(?:[#;]|//).*")
# They order the compiler alone, or let the CPU rest.
HARMLESS = re.compile(r"(?:pause|rep;?\s*nop|rep;|nop|yield|isb(?: sy)?|\.p2align .*)?$")
FUNCTION = re.compile(r"\s*\.type\s+(\S+),\s*[@%]function")
SECTION = re.compile(r"\s*(?:\.section\s+)?(\.(?:text|data|bss|rodata)[\w.]*)")
LABEL = re.compile(r"(\.?[\w.$]+):")
INSTRUMENTED = "__tsan_"
OURS = ".text.overlock"  # the section of functions of the table
# An operand in memory that is not on the stack.
MEMORY = re.compile(r"(?P<symbol>[\w.$]*)[^\s,(]*\(%(?!rsp)\w+|\[x(?!29\b)\d+")
NO_ACCESS = re.compile(r"\s*(?:lea\w*|nop\w*|call\w*|jmp|prefetch\w*)\s|\s*\.|.*@GOT")


def hidden(listing: Path, is_c: bool) -> tuple[str, ...]:
    """`assembler at mine.c:12`, `memory of bump()`. `is_c`: as GCC instruments it."""
    lines = listing.read_text(errors="replace").splitlines()
    found = [f"assembler at {place}" for place in _assembler(lines)]
    if is_c:
        found += [f"memory of {name}()" for name in _functions(lines)]
    return tuple(dict.fromkeys(found))


def _assembler(lines: Iterable[str]) -> Iterator[str]:
    inside, place = False, "?"
    for line in lines:
        if BEGINS.match(line):
            inside = True
        elif ENDS.match(line):
            inside = False
        elif hit := PLACE.match(line):
            place = f"{Path(hit[2]).name}:{hit[1]}"
        elif hit := LOC.match(line):
            place = f"line {hit[1]}"
        elif inside and not all(map(HARMLESS.match, _statements(line))):
            yield place


def _statements(line: str) -> list[str]:
    return [part.strip() for part in COMMENT.sub("", line).split(";")]


def _functions(lines: list[str]) -> Iterator[str]:
    """Those that use memory, and none of whose instructions are announced."""
    constant = _constants(lines)
    name, section, watched, used = "", "", False, False
    for line in lines:
        if hit := FUNCTION.match(line):
            name, watched, used = hit[1], section == OURS, False
        elif line.startswith("\t.size\t") and name:
            if used and not watched:
                yield name
            name = ""
        elif hit := SECTION.match(line):
            section = hit[1]
        elif INSTRUMENTED in line:
            watched = True
        elif name and not NO_ACCESS.match(line):
            hit = MEMORY.search(line)
            used |= bool(hit and hit["symbol"] not in constant)


def _constants(lines: Iterable[str]) -> set[str]:
    found, section = set(), ""
    for line in lines:
        if hit := SECTION.match(line):
            section = hit[1]
        elif section.startswith(".rodata") and (hit := LABEL.match(line)):
            found.add(hit[1])
    return found
