# SPDX-License-Identifier: MIT
"""Threads seen in a loop that only waits for a word of memory to change: a spinlock, most likely.

The loop is the smallest that overlock-loops finds around an instruction at which threads were seen
(lib/loops). The address of the word comes from the registers of those who were seen there.
"""

import json
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from overlock_tools.core.system import native
from overlock_tools.core.system.text import printable
from overlock_tools.profile.naming import Names
from overlock_tools.profile.seen import Code, Sample, Seen

FINDER = "overlock-loops"
# Of lib/loops/kinds.def, those in which no time is spent but on waiting. Others call functions, or
# work meanwhile.
KINDS = {
    "wait",
    "counted wait",
    "timed wait",
    "wait with updates",
    "wait around a loop",
    "delay",
}
WORKS = "wait with work"  # and if it relaxes, the work is that of waiting
USUALLY = 0.5  # of the times that somebody waits, its holder is away: else it is not that one
LEAST = 0.005  # of all samples, at one instruction
# As DWARF numbers them, and so profile/waits.h.
REGISTERS = [
    *("rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp"),
    *(f"r{n}" for n in range(8, 16)),
]


@dataclass(frozen=True)
class Word:
    """Where a loop reads: [base + index * scale + offset], or a place in the object."""

    base: str
    index: str
    scale: int
    offset: int
    after: int  # the instruction's end, if it is relative to that

    def address(self, sample: Sample, ip: int, offset_of_ip: int) -> int:
        values = dict(zip(REGISTERS, sample.registers, strict=True))
        if self.base == "rip":
            return (ip - offset_of_ip + self.after + self.offset) % 2**64
        index = values.get(self.index, 0) * self.scale
        return (values.get(self.base, 0) + index + self.offset) % 2**64


@dataclass(frozen=True)
class Loop:
    object: str
    begin: int
    end: int  # behind its last instruction
    kind: str
    is_patched: bool  # by `overlock run --spins`, without being named
    is_fixed: bool  # it cannot be patched
    word: Word | None

    @property
    def name(self) -> str:
        """As `overlock run --spins=auto,NAME` takes it."""
        return f"{self.object}+{self.begin:#x}"

    def to_json(self) -> dict[str, Any]:
        names = ("name", "kind", "is_patched", "is_fixed")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Place:
    """What is known of an instruction."""

    is_read: bool  # else nothing is: its function cannot be told, or not be decoded
    loop: Loop | None = None


def _word(loops: list[dict[str, Any]]) -> Word | None:
    """Of the first that has one: a delay is a part of a wait."""
    found: dict[str, Any] | None = next((loop["word"] for loop in loops if loop["word"]), None)
    if not found or not found["stays"] or "?" in (found["base"], found["index"]):
        return None
    return Word(*(found[name] for name in ("base", "index", "scale", "offset", "after")))


def _waits(loop: dict[str, Any]) -> bool:
    return loop["kind"] in KINDS or (loop["kind"] == WORKS and loop["relaxes"])


def _place(answer: dict[str, Any], near: int) -> Place:
    if near in answer["unread"]:
        return Place(False)
    around = [loop for loop in answer["loops"] if near in loop["at"]]
    around.sort(key=lambda loop: loop["end"] - loop["begin"])
    waits = [loop for loop in around if _waits(loop)]
    if not waits:
        return Place(True)
    first = waits[0]
    where = (
        printable(answer["object"]),
        first["begin"],
        first["end"],
        first["kind"],
        first["patched"],
        bool(first["refused"]),
    )
    return Place(True, Loop(*where, _word(waits)))


def _ask(path: str, near: list[int]) -> dict[int, Place]:
    places = (word for at in near for word in ("--at", str(at)))
    done = subprocess.run(
        [native.loops(), *places, path], capture_output=True, text=True, check=False
    )
    answer = json.loads(done.stdout) if done.stdout else {"error": done.stderr}
    if "error" in answer:
        return dict.fromkeys(near, Place(False))
    return {at: _place(answer, at) for at in near}


_known: dict[str, dict[int, Place]] = {}


def places_in(path: str, near: Iterable[int]) -> dict[int, Place]:
    """Of a file, by address. What was asked of it before is not asked again."""
    known = _known.setdefault(path, {})
    if new := sorted({*near} - known.keys()):
        known.update(_ask(path, new))
    return known


def _often(seen: Seen, names: Names) -> dict[str, list[Code]]:
    """Code in which threads were seen often enough to be told, by file."""
    found: dict[str, list[Code]] = defaultdict(list)
    for code in seen.code:
        path = names.file((code.frame[0], code.frame[1]))
        if path and code.seen >= max(2, LEAST * seen.samples):
            found[path].append(code)
    return found


def _places(seen: Seen, names: Names) -> Iterator[tuple[Code, Place]]:
    often = _often(seen, names)
    if not often or not native.has(FINDER):
        return
    for path, codes in often.items():
        places = places_in(path, [code.frame[1] for code in codes])
        yield from ((code, places[code.frame[1]]) for code in codes)


def unread(seen: Seen, names: Names) -> int:
    """Samples in code of which no loops can be told."""
    return sum(code.seen for code, place in _places(seen, names) if not place.is_read)


@dataclass
class Spin:
    """What was seen of those who wait at one word."""

    address: int  # 0: not known
    samples: float = 0.0
    by_cause: Counter[str] = field(default_factory=Counter)
    frames: Counter[tuple[int, int]] = field(default_factory=Counter)
    loops: Counter[Loop] = field(default_factory=Counter)
    users: set[int] = field(default_factory=set)  # threads


def _holders(visits: list["_Visit"], users: set[int]) -> set[int]:
    """Who waits there, too, at times; and who is away most of the times when somebody waits."""
    away: Counter[int] = Counter()
    for visit in visits:
        away.update({suspect.thread for suspect in visit.sample.suspects})
    return users | {thread for thread, n in away.items() if n > USUALLY * len(visits)}


def _cause(sample: Sample, loop: tuple[int, int], holders: set[int]) -> str:
    """A thread that may be the holder is off its CPU elsewhere in the code."""
    for suspect in sample.suspects:
        if suspect.thread in holders and not loop[0] <= suspect.ip < loop[1]:
            return "holder_throttled" if suspect.state == "throttled" else "holder_preempted"
    return "unknown" if sample.away else "holder_running"


@dataclass(frozen=True)
class _Visit:
    """A sample in a loop, and for how many it stands."""

    sample: Sample
    weight: float
    frame: tuple[int, int]
    loop: Loop
    where: tuple[int, int]  # it is in memory


def _visits(code: Code, loop: Loop) -> Iterator[tuple[int, _Visit]]:
    at = code.ip - code.frame[1]
    for sample in code.kept:
        address = loop.word.address(sample, code.ip, code.frame[1]) if loop.word else 0
        frame = (code.frame[0], code.frame[1])
        where = (at + loop.begin, at + loop.end)
        yield address, _Visit(sample, code.seen / len(code.kept), frame, loop, where)


def _spin(address: int, visits: list[_Visit]) -> Spin:
    spin = Spin(address, users={visit.sample.thread for visit in visits})
    holders = _holders(visits, spin.users)
    for visit in visits:
        spin.samples += visit.weight
        part = round(visit.weight * 1000)
        spin.by_cause[_cause(visit.sample, visit.where, holders)] += part
        spin.frames[visit.frame] += part
        spin.loops[visit.loop] += part
    return spin


def find(seen: Seen, names: Names) -> list[Spin]:
    """Those with the most samples first. Words that are not known are others in each loop."""
    visits: dict[tuple[int, Loop | None], list[_Visit]] = defaultdict(list)
    for code, place in _places(seen, names):
        if loop := place.loop:
            for address, visit in _visits(code, loop):
                visits[address, None if address else loop].append(visit)
    spins = [_spin(address, found) for (address, _), found in visits.items()]
    return sorted(spins, key=lambda spin: -spin.samples)
