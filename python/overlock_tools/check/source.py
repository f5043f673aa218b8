# SPDX-License-Identifier: MIT
"""The text that is checked: where a lock's header is, what it includes, the line of an event."""

import re
from functools import cache
from pathlib import Path

from overlock_tools.check.job import Subject
from overlock_tools.core.system import native
from overlock_tools.core.system.errors import Fail

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(?:<([^>\n]+)>|"([^"\n]+)")', re.MULTILINE)
# Of the platform layer's ports only this one is compiled here; including another changes nothing.
OTHER_PORTS = re.compile(r"overlock/port/(?!sim\b|lists\b|node\b)")


def header_of(subject: Subject) -> Path | None:
    places = [
        native.include() / f"overlock/{folder}/{subject.name}.h" for folder in ("lock", "wait")
    ]
    return next((path for path in [subject.header, *places] if path and path.is_file()), None)


def closure(root: Path, include: Path) -> list[Path]:
    """The file, and those it includes from overlock/, from check/engine/ and from beside it."""
    found: dict[Path, None] = {}
    open_ends = [root.resolve()]
    while open_ends:
        path = open_ends.pop()
        if path in found:
            continue
        found[path] = None
        open_ends += _included(path, include.resolve())
    return sorted(found)


def _included(path: Path, include: Path) -> list[Path]:
    text = path.read_text(errors="replace")
    found = []
    for angled, quoted in INCLUDE.findall(text):
        name = angled or quoted
        places = [include / name, include.parent / name]
        if quoted:
            places.insert(0, path.parent / name)
        hit = next((place for place in places if place.is_file()), None)
        if hit and not OTHER_PORTS.search(name):
            found.append(hit.resolve())
    return found


class Lines:
    """The lines of a lock's files, by the names that events have for them."""

    def __init__(self, subject: Subject) -> None:
        self.own = header_of(subject)
        self._folders = [self.own.parent] if self.own else []
        self._folders += _folders()

    def text(self, file: str, line: int) -> str:
        """Without its margin; empty if there is none."""
        lines = self._read(Path(file).name)
        return " ".join(lines[line - 1].split()) if 0 < line <= len(lines) else ""

    def all(self, file: str) -> list[str]:
        return [" ".join(line.split()) for line in self._read(Path(file).name)]

    def is_own(self, file: str) -> bool:
        return self.own is not None and Path(file).name == self.own.name

    def _read(self, name: str) -> list[str]:
        if self.own and name == self.own.name:
            return _lines(self.own)
        hit = next((f / name for f in self._folders if (f / name).is_file()), None)
        return _lines(hit) if hit else []


def _folders() -> list[Path]:
    try:
        include = native.include()
    except Fail:
        return []
    top = include.parent
    return [
        include / "overlock/lock",
        include / "overlock/lock/impl",
        include / "overlock/wait",
        include / "overlock",
        top / "check",
        top / "check/engine",
    ]


@cache
def _lines(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines()
