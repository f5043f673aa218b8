# SPDX-License-Identifier: MIT
"""The file that the plugin for QEMU and this command share: chaos/guest.h."""

import bisect
import mmap
import re
import struct
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from overlock_tools.core.model import defs
from overlock_tools.core.system.errors import FAILED, Fail

MOMENTS = ("waiter", "holder", "before-unlock", "after-unlock", "inside")  # as in guest.h
ROW = struct.Struct("=2Q5Q5Q3Q")
PAIR = struct.Struct("=QQ")
WORD = struct.Struct("=Q")
ON, N_RANGES = 0, WORD.size
DOES = {"lock": "lock", "trylock": "try", "unlock": "unlock"}
LOCK = re.compile(
    r"_raw_(?:spin|read|write)_(lock|trylock|unlock)(?:_(?:irq|irqsave|irqrestore|bh))?"
)
TRIES = 2  # of guest_site.does


@dataclass(frozen=True)
class Function:
    at: int
    name: str
    module: str = ""

    @property
    def shown(self) -> str:
        return f"{self.name} [{self.module}]" if self.module else self.name

    def fits(self, pattern: str) -> bool:
        module, colon, name = pattern.rpartition(":")
        name_fits = fnmatchcase(self.name.partition(".")[0], name)
        return name_fits and (not colon or fnmatchcase(self.module or "vmlinux", module))


def of_line(line: str) -> Function | None:
    """Of nm, or /proc/kallsyms: `ffffffff81000000 t name [module]`."""
    words = line.split()
    if len(words) < 3 or words[1] not in "tT":
        return None
    module = words[3].strip("[]") if len(words) > 3 else ""
    return Function(int(words[0], 16), words[2], module)


def of_kernel(vmlinux: Path) -> list[Function]:
    done = subprocess.run(["nm", vmlinux], capture_output=True, text=True, check=False)
    found = [function for function in map(of_line, done.stdout.splitlines()) if function]
    if not found:
        raise Fail(f"{vmlinux} has no symbols; repeat `overlock guest build`", FAILED)
    return found


def lock_functions(functions: Iterable[Function]) -> str:
    """As the plugin reads them."""
    found = [(f.at, LOCK.fullmatch(f.name)) for f in functions]
    return "".join(f"{at:x} {DOES[match[1]]}\n" for at, match in found if match)


@dataclass
class Symbols:
    functions: Sequence[Function]

    def __post_init__(self) -> None:
        self.functions = sorted(self.functions, key=lambda f: f.at)
        self._starts = [f.at for f in self.functions]

    @property
    def end(self) -> int:
        """Behind the last function's first byte."""
        return self._starts[-1] + 1

    def at(self, address: int) -> Function:
        i = bisect.bisect_right(self._starts, address) - 1
        return self.functions[i] if i >= 0 else Function(address, f"{address:#x}")

    def ranges(self, patterns: Sequence[str]) -> list[tuple[int, int]]:
        """The code of functions that fit a pattern, neighbours together."""
        found: list[tuple[int, int]] = []
        for i, function in enumerate(self.functions):
            if not any(map(function.fits, patterns)):
                continue
            end = self._starts[i + 1] if i + 1 < len(self._starts) else function.at + 4096
            if found and found[-1][1] == function.at:
                found[-1] = (found[-1][0], end)
            else:
                found.append((function.at, end))
        return found


@dataclass(frozen=True)
class Site:
    at: int
    does: int
    visits: tuple[int, ...]  # by MOMENTS
    naps: tuple[int, ...]
    nap_ns: int
    wait_ns: int
    worst_ns: int

    @property
    def acquisitions(self) -> int:
        """Of a trylock, its calls."""
        return self.visits[0] if self.does == TRIES else self.visits[1]


class Record:
    def __init__(self, path: Path) -> None:
        self._at: dict[str, int] = defs.raw_lists()["chaos_guest"]
        with path.open("w+b") as file:
            file.truncate(self._at["bytes"])
            self._map = mmap.mmap(file.fileno(), self._at["bytes"])

    def begin(self, ranges: Sequence[tuple[int, int]]) -> None:
        """The first word comes last."""
        if len(ranges) > self._at["most_ranges"]:
            raise Fail(
                f"--sites: {len(ranges)} separate pieces of code fit; give narrower patterns"
            )
        for i, pair in enumerate(ranges):
            PAIR.pack_into(self._map, self._at["ranges"] + i * PAIR.size, *pair)
        WORD.pack_into(self._map, N_RANGES, len(ranges))
        WORD.pack_into(self._map, ON, 1)

    def end(self) -> None:
        WORD.pack_into(self._map, ON, 0)

    def sites(self) -> Iterator[Site]:
        for i in range(self._at["most_sites"]):
            row = ROW.unpack_from(self._map, self._at["sites"] + i * ROW.size)
            at, does, *counts = row
            n = len(MOMENTS)
            visits, naps, rest = tuple(counts[:n]), tuple(counts[n : 2 * n]), counts[2 * n :]
            if at and (any(visits) or rest[2]):
                yield Site(at, does, visits, naps, *rest)

    def close(self) -> None:
        self._map.close()
