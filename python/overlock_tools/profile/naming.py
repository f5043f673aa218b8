# SPDX-License-Identifier: MIT
"""Names of what overlock-profiler tells as numbers: code, variables, functions of the kernel."""

import bisect
import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import TypeVar

from overlock_tools.core.system import symbols
from overlock_tools.core.system.symbols import Call
from overlock_tools.profile import functions
from overlock_tools.profile.seen import Seen

KALLSYMS = Path("/proc/kallsyms")

Frame = tuple[int, int]  # number of the object, below 0 if there is none; offset in it


@dataclass
class Names:
    modules: list[str]
    code: dict[str, dict[int, tuple[Call, ...]]]
    data: dict[str, dict[int, str]]
    files: dict[str, Path] = field(default_factory=dict)  # where what was mapped can be read

    def calls(self, frame: Frame) -> tuple[Call, ...]:
        """Innermost first; never empty."""
        module, offset = frame
        if not 0 <= module < len(self.modules):
            return (Call(f"{offset:#x}"),)
        path = self.modules[module]
        fallback = f"{Path(path).name}+{offset:#x}"
        found = self.code.get(path, {}).get(offset, ())
        if not found:
            return (Call(fallback),)
        last = found[-1]
        return found if last.function else (*found[:-1], Call(fallback, last.file, last.line))

    def path(self, frame: Frame) -> str:
        return self.modules[frame[0]] if 0 <= frame[0] < len(self.modules) else ""

    def file(self, frame: Frame) -> str:
        """The object itself; empty if it is not there any more."""
        return str(self.files.get(self.path(frame), ""))

    def learn(self, frames: Iterable[Frame]) -> None:
        """Names of code beside what was seen to run."""
        for path, offsets in self._by_path(frames).items():
            found = _new(_code, path, self.files.get(path), offsets, symbols.look_up)
            self.code.setdefault(path, {}).update(found)

    @property
    def unread(self) -> list[str]:
        """Objects of files that were removed or replaced since."""
        gone = {*self.code, *self.data} - self.files.keys()
        return sorted(path for path in gone if path.startswith("/"))

    def learn_variables(self, frames: Iterable[Frame]) -> None:
        for path, offsets in self._by_path(frames).items():
            found = _new(_data, path, self.files.get(path), offsets, symbols.variables)
            self.data.setdefault(path, {}).update(found)

    def _by_path(self, frames: Iterable[Frame]) -> dict[str, set[int]]:
        found: dict[str, set[int]] = defaultdict(set)
        for frame in frames:
            if path := self.path(frame):
                found[path].add(frame[1])
        return found

    def variable(self, frame: Frame) -> str:
        """A global one's name, or nothing."""
        return functions.unmangled(self.data.get(self.path(frame), {}).get(frame[1], ""))


def of(seen: Seen, root: Path | None = None) -> Names:
    """All that is asked of an object is asked at once. `root`: of the process, if it is another."""
    files = _files(seen, root)
    code: dict[str, set[int]] = defaultdict(set)
    data: dict[str, set[int]] = defaultdict(set)

    def want(where: dict[str, set[int]], module: int, offset: int) -> None:
        if 0 <= module < len(seen.modules):
            where[seen.modules[module]].add(offset)

    for stack in seen.stacks:
        for module, offset in stack.frames:
            want(code, module, offset)
    for one in seen.code:
        want(code, one.frame[0], one.frame[1])
    for lock in seen.locks:
        want(data, lock.module, lock.offset)
    return Names(
        seen.modules,
        {
            path: _new(_code, path, files.get(path), offsets, symbols.look_up)
            for path, offsets in code.items()
        },
        {
            path: _new(_data, path, files.get(path), offsets, symbols.variables)
            for path, offsets in data.items()
        },
        files,
    )


def _files(seen: Seen, root: Path | None) -> dict[str, Path]:
    """By the name that the process has for it: what it has mapped, not what has that name now."""
    found: dict[str, Path] = {}
    for path, identity in zip_longest(seen.modules, seen.identities, fillvalue=""):
        inside = [root / path.lstrip("/")] if root and path.startswith("/") else []
        for file in (Path(path), *inside):
            if symbols.is_same(file, identity):
                found.setdefault(path, file)
    return found


Told = TypeVar("Told")
_code: dict[str, dict[int, tuple[Call, ...] | None]] = {}
_data: dict[str, dict[int, str | None]] = {}


def _new(
    known: dict[str, dict[int, Told | None]],
    path: str,
    file: Path | None,
    offsets: set[int],
    ask: Callable[[Path, set[int]], dict[int, Told]],
) -> dict[int, Told]:
    """What was asked of that object before is not asked again: `--live` asks each second."""
    answers = known.setdefault(path, {})
    if file and (new := offsets - answers.keys()):
        answers.update(dict.fromkeys(new))
        answers.update(ask(file, new))
    return {offset: told for offset in offsets if (told := answers.get(offset)) is not None}


class Kernel:
    """Functions of the kernel, by their addresses; none without the right to see these."""

    def __init__(self) -> None:
        found = []
        with contextlib.suppress(OSError), KALLSYMS.open() as file:
            for line in file:
                at, kind, name = line.split()[:3]
                if kind in "tTwW":
                    found.append((int(at, 16), name))
        found.sort()
        self.starts = [at for at, _ in found]
        self.names = [name for _, name in found]

    def function(self, address: int) -> str:
        place = bisect.bisect_right(self.starts, address) - 1
        return self.names[place] if place >= 0 and self.starts[place] else f"{address:#x}"
