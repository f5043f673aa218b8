# SPDX-License-Identifier: MIT
"""Source lines of a lock that executions reached, and those that none did."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from overlock_tools.check.blocks import Code, Evidence, Line
from overlock_tools.check.job import PLACE, Subject
from overlock_tools.core.ordinary import wrapping
from overlock_tools.core.system import native
from overlock_tools.core.system.errors import Fail

LOCKS = re.compile("overlock/(?:lock|wait)/")
# Of a compiler, its libraries and the platform layer: in functions of the lock, but not the lock.
SYSTEM = re.compile(
    r"^(?:/usr/lib|/usr/include/c\+\+|/usr/include/[^/]*-linux|/rustc/|<)"
    r"|/rustlib/|/library/core/|(?:^|/)include/overlock/"
)
Lines = dict[str, list[int]]  # of files


def resolve(result: dict[str, Any], subject: Subject, program: Path) -> None:
    """Replaces the addresses in what overlock-check says by source lines."""
    said = result.get("coverage")
    if not said or "addresses" not in said:
        return
    try:
        result["coverage"] = found(_code(subject, program), said["addresses"])
    except ValueError as error:
        result["coverage"] = {"unknown": str(error)}


def _code(subject: Subject, program: Path) -> Code:
    return _read(subject.loaded or program, subject if subject.loaded else None)


@cache
def _read(file: Path, subject: Subject | None) -> Code:
    code = Code(file, owned_by(subject))
    if not code.evidence:
        raise ValueError(f"{file.name} has no debug information")
    return code


def owned_by(subject: Subject | None) -> Callable[[str], str | None]:
    """A file's name in reports, by its path in debug information; None if it is not the lock's."""
    if subject is None or subject.header is None or subject.loaded is None:
        return lambda path: Path(path).name if LOCKS.search(path) else None
    folder = subject.loaded.parent.resolve()
    ours = _platform()
    table = {f"{PLACE}/{wrapping.TABLE}{suffix}" for suffix in (".c", ".cc")}

    def name(path: str) -> str | None:
        if path in table:
            return None
        if LOCKS.search(path):
            return Path(path).name
        if SYSTEM.search(path) or any(Path(path).is_relative_to(one) for one in ours):
            return None
        place = Path(path)
        return str(place.relative_to(folder)) if place.is_relative_to(folder) else place.name

    return name


def _platform() -> list[Path]:
    """Folders of what a lock is compiled with."""
    try:
        return [native.include().resolve(), native.subject_unit().resolve().parent]
    except Fail:
        return []


def found(code: Code, addresses: Iterable[int]) -> dict[str, Any]:
    """What of the lock that was executed the traces came from, and what else it has."""
    known = code.reached(addresses)
    entered = {code.blocks[start].function for start, is_reached in known.items() if is_reached}
    units = {code.units[function] for function in entered if function in code.units}
    of = [e for e in code.evidence if code.units[code.blocks[e.block].function] in units]
    reached = {one.line for one in of if known.get(one.block) and not one.is_weak}
    doubtful = {one.line for one in of if known.get(one.block) is not False} - reached
    missed = [one for one in of if not one.is_weak and one.line not in reached | doubtful]
    code.learn(of)  # at once: each question reads all of the debug information
    callable_now = _callees(code, entered)
    inlined = _inlined(code, of, reached) - callable_now
    missed = [one for one in missed if code.blocks[one.block].function not in inlined]
    inside = [one for one in missed if code.blocks[one.block].function in callable_now]
    unreached = {one.line for one in inside}
    outside = [one for one in missed if one.line not in unreached]
    return {
        "files": _files(reached, unreached),
        "within": _grouped(inside, code.function_of),
        "uncalled": _grouped(outside, lambda one: _root(code, outside, one)),
    }


def _inlined(code: Code, of: Iterable[Evidence], reached: Collection[Line]) -> set[int]:
    """Functions that were executed, or parts of others with the same lines."""
    return {code.blocks[one.block].function for one in of if one.line in reached}


def _callees(code: Code, entered: Collection[int]) -> set[int]:
    """The functions that were executed, and those that these may call."""
    calls = defaultdict(set)
    for called, callers in code.called_by.items():
        for caller in callers:
            calls[caller].add(called)
    open_ends, done = list(entered), set[int]()
    while open_ends:
        function = open_ends.pop()
        if function not in done:
            done.add(function)
            open_ends += calls[function]
    return done


def _root(code: Code, of: Collection[Evidence], one: Evidence) -> str:
    """The function by which the line is entered, through others of the lock."""
    by_function = {code.blocks[e.block].function: e for e in reversed(list(of))}
    function, seen = code.blocks[one.block].function, set[int]()
    while function not in seen:
        seen.add(function)
        callers = sorted(code.called_by.get(function, set()) & by_function.keys() - seen)
        function = callers[0] if callers else function
    return code.entry_of(by_function[function]) or code.entry_of(one)


def _files(reached: Collection[Line], unreached: Collection[Line]) -> dict[str, Lines]:
    files = sorted({file for file, _ in (*reached, *unreached)})
    return {
        file: {"reached": _of(file, reached), "unreached": _of(file, unreached)} for file in files
    }


def _of(file: str, lines: Iterable[Line]) -> list[int]:
    return sorted({line for name, line in lines if name == file})


def _grouped(of: Iterable[Evidence], by: Callable[[Evidence], str]) -> dict[str, Lines]:
    groups = defaultdict(set)
    for one in of:
        groups[by(one)].add(one.line)
    return {
        name: {file: _of(file, lines) for file in sorted({file for file, _ in lines})}
        for name, lines in sorted(groups.items())
    }


class Union:
    """What several explorations of a lock reached together."""

    def __init__(self, parts: Iterable[Mapping[str, Any] | None]) -> None:
        self.unknown = ""
        self.reached: set[Line] = set()
        self.unreached: set[Line] = set()
        self.within: dict[Line, str] = {}
        self.uncalled: dict[Line, str] = {}
        for part in parts:
            self._add(part or {"unknown": "overlock-check did not say"})
        self.unreached -= self.reached
        code = self.reached | self.unreached
        called = {name for line, name in self.uncalled.items() if line in code}
        self.uncalled = {line: name for line, name in self.uncalled.items() if name not in called}

    def _add(self, part: Mapping[str, Any]) -> None:
        self.unknown = self.unknown or part.get("unknown", "")
        for file, lines in part.get("files", {}).items():
            self.reached |= {(file, line) for line in lines["reached"]}
            self.unreached |= {(file, line) for line in lines["unreached"]}
        self.within |= _ungrouped(part.get("within", {}))
        self.uncalled |= _ungrouped(part.get("uncalled", {}))

    @property
    def files(self) -> dict[str, Lines]:
        return _files(self.reached, self.unreached)

    @property
    def never_called(self) -> list[str]:
        return sorted({name for name in self.uncalled.values() if name})

    def places(self) -> list[str]:
        """`mine.h:41-44 (futex_wait)`. Lines without code do not interrupt a range."""
        code = sorted(self.reached | self.unreached | self.uncalled.keys())
        groups = groupby(code, key=lambda line: (line[0], line in self.unreached))
        return [self._place(list(lines)) for (_, missed), lines in groups if missed]

    def _place(self, lines: list[Line]) -> str:
        (file, first), (_, last) = lines[0], lines[-1]
        inside = list(dict.fromkeys(filter(None, map(self.within.get, lines))))
        where = f"{first}" if first == last else f"{first}-{last}"
        return f"{file}:{where}" + (f" ({', '.join(inside)})" if inside else "")


def _ungrouped(groups: Mapping[str, Lines]) -> dict[Line, str]:
    return {
        (file, line): name
        for name, files in groups.items()
        for file, lines in files.items()
        for line in lines
    }
