# SPDX-License-Identifier: MIT
"""Threads seen in a loop that only waits for a word of memory to change, and what they wait for.

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
from overlock_tools.profile import kinds, placing
from overlock_tools.profile.kinds import FIFO_SPINLOCK, SPIN_WAIT, Kind, Manner
from overlock_tools.profile.naming import Names
from overlock_tools.profile.seen import DWARF, Code, Sample, Seen

FINDER = "overlock-loops"
UPDATES = "wait with updates"
# Of lib/loops/kinds.def, those in which no time is spent but on waiting. Others call functions, or
# work meanwhile.
KINDS = {
    "wait",
    "counted wait",
    "timed wait",
    UPDATES,
    "wait around a loop",
    "delay",
}
WORKS = "wait with work"  # and if it relaxes, the work is that of waiting
USUALLY = 0.5  # of the times that somebody waits, its holder is away: else it is not that one
LEAST = 0.005  # of all samples, at one instruction
ENOUGH = 3  # values, each seen more than once
RED_ZONE, STACK = 128, 1 << 20  # bytes below a stack's end, and above it, that are the thread's own
NOWHERE = (0, 0)
PART = 0.25  # of what a thread runs on average: one that runs less is no worker


@dataclass(frozen=True)
class Word:
    """Where a loop reads: [base + index * scale + offset], or a place in the object."""

    base: str
    index: str
    scale: int
    offset: int
    after: int  # the instruction's end, if it is relative to that

    def address(self, sample: Sample, ip: int, offset_of_ip: int) -> int:
        values = _registers(sample)
        if self.base == "rip":
            return (ip - offset_of_ip + self.after + self.offset) % 2**64
        index = values.get(self.index, 0) * self.scale
        return (values.get(self.base, 0) + index + self.offset) % 2**64


def _registers(sample: Sample) -> dict[str, int]:
    return dict(zip(DWARF, sample.registers, strict=True))


@dataclass(frozen=True)
class Loop:
    object: str
    begin: int
    end: int  # behind its last instruction
    kind: str
    is_patched: bool  # by `overlock run --spins`, without being named
    is_fixed: bool  # it cannot be patched
    word: Word | None
    other: Word | None = None  # that it is compared with
    value: str = ""  # the register whose value is waited for; empty: none, or not known
    has_ticket: bool = False  # that value is an update's, made before
    takes: bool = False  # it, or a loop around it, updates the word
    is_after_update: bool = False  # whoever comes to it has made one

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
    relaxes: bool = False  # its function does, in no loop: who called it spins
    is_call: bool = False


def _word(found: dict[str, Any] | None) -> Word | None:
    if not found or not found["stays"] or "?" in (found["base"], found["index"]):
        return None
    return Word(*(found[name] for name in ("base", "index", "scale", "offset", "after")))


def _waits(loop: dict[str, Any]) -> bool:
    return loop["kind"] in KINDS or (loop["kind"] == WORKS and loop["relaxes"])


def _place(answer: dict[str, Any], near: int) -> Place:
    if near in answer.get("unread", (near,)):
        return Place(False)
    around = [loop for loop in answer["loops"] if near in loop["at"]]
    around.sort(key=lambda loop: loop["end"] - loop["begin"])
    waits = [loop for loop in around if _waits(loop)]
    found = _loop(answer["object"], waits, around) if waits else None
    return Place(True, found, near in answer["relaxing"], near in answer["calls"])


def _loop(name: str, waits: list[dict[str, Any]], around: list[dict[str, Any]]) -> Loop:
    """The first."""
    first = waits[0]
    looks = next((loop for loop in waits if loop["word"]), first)  # a delay is a part of a wait
    value = looks["value"] if looks["until_equal"] and looks["value"] != "?" else ""
    where = (
        printable(name),
        first["begin"],
        first["end"],
        first["kind"],
        first["patched"],
        bool(first["refused"]),
    )
    takes = any(loop["kind"] == UPDATES for loop in around)
    words = (_word(looks["word"]), _word(looks["other"]))
    has_ticket = bool(value) and looks["value_is_updates"]
    return Loop(*where, *words, value, has_ticket, takes, first["after_update"])


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
    kind: Kind = SPIN_WAIT
    kind_by: str = ""


def _holders(visits: list["_Visit"], users: set[int]) -> set[int]:
    """Who waits there, too, at times; and who is away most of the times when somebody waits."""
    away: Counter[int] = Counter()
    for visit in visits:
        away.update({suspect.thread for suspect in visit.sample.suspects})
    return users | {thread for thread, n in away.items() if n > USUALLY * len(visits)}


def _cause(sample: Sample, loop: tuple[int, int], holders: set[int], kind: Kind) -> str:
    """A thread that may be the holder is off its CPU elsewhere in the code."""
    if kind.spins:
        return _cause_without_holder(sample)
    for suspect in sample.suspects:
        if suspect.thread in holders and not loop[0] <= suspect.ip < loop[1]:
            return "holder_throttled" if suspect.state == "throttled" else "holder_preempted"
    if not sample.away:
        return "holder_running"
    return "turn_preempted" if kind == FIFO_SPINLOCK else "unknown"


def _cause_without_holder(sample: Sample) -> str:
    """Whoever of the program lacks a CPU may be waited for: if nobody does, spinning is no loss."""
    if not sample.away:
        return "others_running"
    throttled = any(suspect.state == "throttled" for suspect in sample.suspects)
    return "others_throttled" if throttled else "others_preempted"


@dataclass(frozen=True)
class _Visit:
    """A sample in a loop, and for how many it stands."""

    sample: Sample
    weight: float
    frame: tuple[int, int]
    loop: Loop | None  # none where it spins in a function that it calls
    where: tuple[int, int]  # it is in memory


def _address(loop: Loop, sample: Sample, code: Code) -> int:
    """Of two words that are compared, one of the thread's own stack is not what it waits for."""
    words = [word for word in (loop.word, loop.other) if word]
    found = [word.address(sample, code.ip, code.frame[1]) for word in words]
    stack = _registers(sample)["rsp"] - RED_ZONE
    shared = [address for address in found if not stack <= address < stack + STACK]
    return next(iter(shared or found), 0)


def _visits(code: Code, loop: Loop) -> Iterator[tuple[int, _Visit]]:
    at = code.ip - code.frame[1]
    for sample in code.kept:
        address = _address(loop, sample, code)
        frame = (code.frame[0], code.frame[1])
        where = (at + loop.begin, at + loop.end)
        yield address, _Visit(sample, code.seen / len(code.kept), frame, loop, where)


def _callers(relaxing: list[Code], names: Names) -> Iterator[_Visit]:
    """Who calls a function that relaxes spins: where, the stack tells."""
    wanted: dict[str, set[int]] = defaultdict(set)
    for code in relaxing:
        for module, offset in (frame for sample in code.kept for frame in sample.stack):
            if path := names.file((module, offset)):
                wanted[path].add(offset - 1)  # in the call, not behind it
    known = {path: places_in(path, offsets) for path, offsets in wanted.items()}
    for code in relaxing:
        for sample in code.kept:
            for module, offset in sample.stack:
                place = known.get(names.file((module, offset)), {}).get(offset - 1)
                if place and place.is_call:
                    weight = code.seen / len(code.kept)
                    yield _Visit(sample, weight, (module, offset - 1), place.loop, NOWHERE)
                    break


def _in_turns(visits: list[_Visit]) -> bool:
    """As with tickets: no two threads wait for the same value."""
    threads: dict[int, set[int]] = defaultdict(set)
    samples: Counter[int] = Counter()
    for visit in visits:
        if visit.loop and visit.loop.value:
            value = _registers(visit.sample)[visit.loop.value]
            threads[value].add(visit.sample.thread)
            samples[value] += 1
    often = [value for value, n in samples.items() if n > 1]
    return len(often) >= ENOUGH and all(len(threads[value]) == 1 for value in often)


def _manner(spin: Spin, visits: list[_Visit], workers: set[int], words: int) -> Manner:
    """`words`: so many are waited for by that loop."""
    several = len(spin.users) > 1
    is_after_update = any(loop.is_after_update for loop in spin.loops)
    return Manner(
        takes=any(loop.takes for loop in spin.loops),
        in_turns=several and (any(loop.has_ticket for loop in spin.loops) or _in_turns(visits)),
        queues=not several and words > 1 and is_after_update,
        arrives=several and is_after_update,
        alone=not several,
        everybody=several and workers <= spin.users,
    )


def _spin(address: int, visits: list[_Visit]) -> Spin:
    spin = Spin(address, users={visit.sample.thread for visit in visits})
    for visit in visits:
        spin.samples += visit.weight
        part = round(visit.weight * 1000)
        spin.frames[visit.frame] += part
        if visit.loop:
            spin.loops[visit.loop] += part
    return spin


def _blame(spin: Spin, visits: list[_Visit]) -> None:
    holders = _holders(visits, spin.users)
    for visit in visits:
        cause = _cause(visit.sample, visit.where, holders, spin.kind)
        spin.by_cause[cause] += round(visit.weight * 1000)


def _workers(seen: Seen) -> set[int]:
    """Threads that had a part of the CPU time worth a word."""
    ran: Counter[int] = Counter()
    for code in seen.code:
        for sample in code.kept:
            ran[sample.thread] += round(1000 * code.seen / len(code.kept))
    return {thread for thread, part in ran.items() if part > PART * ran.total() / len(ran)}


def find(seen: Seen, names: Names) -> list[Spin]:
    """Those with the most samples first. Words that are not known are others in each loop."""
    visits: dict[tuple[int, Loop | tuple[int, int] | None], list[_Visit]] = defaultdict(list)
    relaxing = []
    for code, place in _places(seen, names):
        if loop := place.loop:
            for address, visit in _visits(code, loop):
                visits[address, None if address else loop].append(visit)
        elif place.relaxes:
            relaxing.append(code)
    callers = list(_callers(relaxing, names))
    names.learn({visit.frame for visit in callers})
    for visit in callers:
        visits[0, visit.frame].append(visit)
    spins = [(_spin(address, found), found) for (address, _), found in visits.items()]
    words = Counter(loop for spin, _ in spins for loop in spin.loops)
    for spin, found in spins:
        steps = placing.of_frame(spin.frames.most_common(1)[0][0], names)
        manner = _manner(
            spin,
            found,
            _workers(seen),
            max(words[loop] for loop in spin.loops) if spin.loops else 1,
        )
        spin.kind, spin.kind_by = kinds.of_spin(steps, manner)
        _blame(spin, found)
    return sorted((spin for spin, _ in spins), key=lambda spin: -spin.samples)
