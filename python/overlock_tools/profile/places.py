# SPDX-License-Identifier: MIT
"""Where in its code a program spends its CPU time, as far as ptrace() tells.

The CPU time that all threads had since the last look counts for where those are now that have a
CPU: what they had in system calls for those that are in one, the rest for the others. Where threads
without a CPU are is no measure: they lose it at certain places rather than at any, the ends of
system calls above all.
"""

import contextlib
import os
import random
import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from overlock_tools.core.system import symbols
from overlock_tools.profile.registers import At, Reader
from overlock_tools.profile.seen import DWARF

YIELD = 24  # the system call, of x86-64
KEPT = 256  # samples of an instruction
MOSTLY = 0.5  # of the time since the last look
US_OF_TICK = 1_000_000 // os.sysconf("SC_CLK_TCK")  # a sample's weight counts microseconds
STACK_WORDS = 8  # as profile/waits.h has them
POINTER = struct.Struct("=Q")


def read_memory(pid: int, tid: int, address: int, size: int) -> bytes:
    """Nothing where there is none."""
    file = Path(f"/proc/{pid}/task/{tid}/mem")
    with contextlib.suppress(OSError, OverflowError), file.open("rb", 0) as memory:
        memory.seek(address)
        return memory.read(size)
    return b""


@dataclass
class _Code:
    """Of an instruction: the CPU time of who was seen there, in us, and some of them."""

    frame: list[int]
    weight: int = 0
    n: int = 0
    kept: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class _Mapping:
    begin: int
    end: int
    offset: int
    path: str


class Places:
    """Of a process."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.reader: Reader | None = None
        self.why_not = ""
        self.left = {"user": 0, "system": 0}  # us that count for no place yet
        self.last: dict[int, int] = {}  # where each thread was seen
        self.code: dict[int, _Code] = {}
        self.yields: dict[tuple[int, int], int] = defaultdict(int)  # us, by who called
        self.kernel = 0
        self.dice = random.Random(1)  # noqa: S311 - which samples are kept
        self.mappings: list[_Mapping] = []
        self.modules: list[str] = []
        if os.uname().machine != "x86_64":
            self.why_not = "registers are read on x86-64 alone"
            return
        with contextlib.suppress(OSError, IndexError, ValueError):
            parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            self.reader = Reader(pid, is_child=parent == os.getpid())

    def close(self) -> None:
        if self.reader:
            self.reader.close()

    def look(self, running: set[int], user: int, system: int, without: Mapping[int, float]) -> None:
        """`user`, `system`: ticks. `without`: the share of its time that each had no CPU."""
        self.left["user"] += user * US_OF_TICK
        self.left["system"] += system * US_OF_TICK
        if not self.reader or not running:
            return
        try:
            found = self.reader.look(running)
        except OSError as error:
            self.why_not, self.reader = f"ptrace() is refused ({error.strerror})", None
            return
        for mode in self.left:
            those = [tid for tid, at in found.items() if (at.call is None) == (mode == "user")]
            for tid in those:
                self._take(tid, found[tid], self.left[mode] // len(those), without)
            if those:
                self.left[mode] = 0
        self.last |= {tid: at.ip for tid, at in found.items()}

    def _take(self, tid: int, at: At, weight: int, without: Mapping[int, float]) -> None:
        if at.call is not None:
            self.kernel += weight
            if at.call == YIELD:
                self._take_yield(tid, at, weight)
            return
        code = self.code.get(at.ip)
        if not code:
            code = self.code[at.ip] = _Code(list(self._frame(at.ip)))
        code.weight += weight
        sample = self._sample(tid, at, without)
        place = len(code.kept) if len(code.kept) < KEPT else self.dice.randrange(code.n + 1)
        code.n += 1
        if place == len(code.kept):
            code.kept.append(sample)
        elif place < KEPT:
            code.kept[place] = sample

    def _take_yield(self, tid: int, at: At, weight: int) -> None:
        """The C library's function has nothing on the stack but where it was called from."""
        raw = read_memory(self.pid, tid, at.registers["rsp"], POINTER.size)
        if len(raw) == POINTER.size:
            self.yields[self._frame(POINTER.unpack(raw)[0] - 1)] += weight

    def _sample(self, tid: int, at: At, without: Mapping[int, float]) -> dict[str, Any]:
        suspects = [
            {"thread": other, "ip": self.last[other], "state": "preempted"}
            for other, share in without.items()
            if other != tid and share >= MOSTLY and other in self.last
        ]
        return {
            "thread": tid,
            "registers": [at.registers[name] for name in DWARF],
            "away": round(sum(without.values())),
            "suspects": suspects,
            "stack": self._stack(tid, at),
        }

    def _stack(self, tid: int, at: At) -> list[list[int]]:
        raw = read_memory(self.pid, tid, at.registers["rsp"], STACK_WORDS * POINTER.size)
        words = [word for (word,) in POINTER.iter_unpack(raw[: len(raw) & -POINTER.size])]
        known = [word for word in words if any(m.begin <= word < m.end for m in self.mappings)]
        return [list(self._frame(word)) for word in known]

    def _frame(self, ip: int) -> tuple[int, int]:
        """The object and the address in it; below 0: in none."""
        one = self._mapping(ip)
        if not one:
            return -1, ip
        offset = ip - one.begin + one.offset
        inside = Path(f"/proc/{self.pid}/root/{one.path}")
        with contextlib.suppress(OSError):
            for begin, size, address in symbols.segments(inside):
                if begin <= offset < begin + size:
                    if one.path not in self.modules:
                        self.modules.append(one.path)
                    return self.modules.index(one.path), offset - begin + address
        return -1, ip

    def _mapping(self, ip: int) -> _Mapping | None:
        """Read again for an address in none of them, as of a library that was loaded since."""
        for again in (False, True):
            if again:
                self.mappings = list(_mappings(self.pid))
            found = next((one for one in self.mappings if one.begin <= ip < one.end), None)
            if found:
                return found
        return None

    def seen(self) -> dict[str, Any]:
        """What Seen has of it; a sample is a microsecond."""
        weight = sum(code.weight for code in self.code.values())
        yielders = [
            {
                "of": "yielder",
                "state": "yielding",
                "address": 0,
                "ns": 0,
                "seen": us,
                "frames": [list(frame)],
            }
            for frame, us in self.yields.items()
        ]
        return {
            "hertz": 1_000_000,
            "sampled_cpus": os.cpu_count() if self.reader else 0,
            "samples": weight + self.kernel,
            "samples_kernel": self.kernel,
            "samples_yield": sum(self.yields.values()),
            "stacks": yielders,
            "code": [
                {"ip": ip, "frame": code.frame, "seen": code.weight, "kept": code.kept}
                for ip, code in self.code.items()
                if code.kept
            ],
            "modules": self.modules,
        }


def _mappings(pid: int) -> Iterator[_Mapping]:
    """Of code in files."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines():
            where, rights, offset, _, _, *path = line.split(None, 5)
            if "x" in rights and path and path[0].startswith("/"):
                begin, end = (int(word, 16) for word in where.split("-"))
                yield _Mapping(begin, end, int(offset, 16), path[0])
