# SPDX-License-Identifier: MIT
"""Threads seen in a loop that only waits for a word of memory to change, and what they wait for.

The loop is the smallest around an instruction at which threads were seen. The address of the word
comes from the registers of those who were seen there.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from overlock_tools.core.system import native
from overlock_tools.profile import causes, kinds, placing
from overlock_tools.profile.kinds import FIFO_SPINLOCK, SPIN_WAIT, Kind, Manner
from overlock_tools.profile.loops import FINDER, Instruction, Loop, instructions
from overlock_tools.profile.naming import Names
from overlock_tools.profile.seen import Code, Sample, Seen

USUALLY = 0.5  # of the times that somebody waits, its holder is away: else it is not that one
LEAST = 0.005  # of all samples, at one instruction
ENOUGH = 3  # values, each seen more than once
NOWHERE, NOBODYS = (0, 0), (-1, 0)
PART = 0.25  # of what a thread runs on average: one that runs less is no worker


def _by_file(seen: Seen, names: Names) -> dict[str, list[Code]]:
    """Code in which threads were seen often enough to be told, by file."""
    found: dict[str, list[Code]] = defaultdict(list)
    for code in seen.code:
        path = names.file((code.frame[0], code.frame[1]))
        if path and code.seen >= max(2, LEAST * seen.samples):
            found[path].append(code)
    return found


def _often_seen(seen: Seen, names: Names) -> Iterator[tuple[Code, Instruction]]:
    often = _by_file(seen, names)
    if not often or not native.has(FINDER):
        return
    for path, codes in often.items():
        known = instructions(path, [code.frame[1] for code in codes])
        yield from ((code, known[code.frame[1]]) for code in codes)


def unread(seen: Seen, names: Names) -> int:
    """Samples in code of which no loops can be told."""
    return sum(code.seen for code, at in _often_seen(seen, names) if not at.is_read)


def in_others(seen: Seen, names: Names, kind: str) -> int:
    """Samples in loops of that kind, which may work."""
    return sum(code.seen for code, at in _often_seen(seen, names) if at.other == kind)


@dataclass
class Spin:
    """What was seen of those who wait at one word."""

    address: int  # 0: not known
    samples: float = 0.0
    by_cause: Counter[str] = field(default_factory=Counter)
    frames: Counter[tuple[int, int]] = field(default_factory=Counter)
    loops: Counter[Loop] = field(default_factory=Counter)
    users: set[int] = field(default_factory=set)  # threads
    variable: tuple[int, int] = (
        NOBODYS  # the object and the address in it, if it may be a global one
    )
    kind: Kind = SPIN_WAIT
    kind_by: str = ""


def _holders(visits: list["_Visit"], users: set[int]) -> set[int]:
    """Who waits there, too, at times; and who is away most of the times when somebody waits."""
    away: Counter[int] = Counter()
    for visit in visits:
        away.update({suspect.thread for suspect in visit.sample.suspects})
    return users | {thread for thread, n in away.items() if n > USUALLY * len(visits)}


def _cause(
    sample: Sample, loop: tuple[int, int], holders: set[int], kind: Kind, short_of_quota: bool
) -> str:
    """A thread that may be the holder is off its CPU elsewhere in the code."""
    if kind.spins:
        return _cause_without_holder(sample, short_of_quota)
    for suspect in sample.suspects:
        if suspect.thread in holders and not loop[0] <= suspect.ip < loop[1]:
            return "holder_throttled" if suspect.state == "throttled" else "holder_preempted"
    if not sample.away:
        return "holder_running"
    return "turn_preempted" if kind == FIFO_SPINLOCK else "unknown"


def _cause_without_holder(sample: Sample, short_of_quota: bool) -> str:
    """Whoever of the program lacks a CPU may be waited for: if nobody does, spinning is no loss.

    But where the quota is used up, whatever CPU time it takes is missing later.
    """
    if not sample.away:
        return "quota_spent" if short_of_quota else "others_running"
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


def _visits(code: Code, loop: Loop) -> Iterator[tuple[int, _Visit]]:
    at = code.ip - code.frame[1]
    for sample in code.kept:
        address = loop.address(sample, code)
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
    known = {path: instructions(path, offsets) for path, offsets in wanted.items()}
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
            value = visit.sample.by_name[visit.loop.value]
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
    first = visits[0]
    spin = Spin(address, users={visit.sample.thread for visit in visits})
    if address and first.loop:
        spin.variable = (first.frame[0], address - first.where[0] + first.loop.begin)
    for visit in visits:
        spin.samples += visit.weight
        part = round(visit.weight * 1000)
        spin.frames[visit.frame] += part
        if visit.loop:
            spin.loops[visit.loop] += part
    return spin


def _blame(spin: Spin, visits: list[_Visit], short_of_quota: bool) -> None:
    holders = _holders(visits, spin.users)
    for visit in visits:
        cause = _cause(visit.sample, visit.where, holders, spin.kind, short_of_quota)
        spin.by_cause[cause] += round(visit.weight * 1000)


def _workers(seen: Seen) -> set[int]:
    """Threads that had a part of the CPU time worth a word."""
    ran: Counter[int] = Counter()
    for code in seen.code:
        for sample in code.kept:
            ran[sample.thread] += round(1000 * code.seen / len(code.kept))
    return {thread for thread, part in ran.items() if part > PART * ran.total() / len(ran)}


def _tell(spin: Spin, visits: list[_Visit], seen: Seen, words: int, names: Names) -> None:
    """What is waited for, and why."""
    steps = placing.of_frame(spin.frames.most_common(1)[0][0], names)
    spin.kind, spin.kind_by = kinds.of_spin(steps, _manner(spin, visits, _workers(seen), words))
    _blame(spin, visits, causes.is_short_of_quota(seen.times))


def find(seen: Seen, names: Names) -> list[Spin]:
    """Those with the most samples first. Words that are not known are others in each loop."""
    visits: dict[tuple[int, Loop | tuple[int, int] | None], list[_Visit]] = defaultdict(list)
    relaxing = []
    for code, at in _often_seen(seen, names):
        if loop := at.loop:
            for address, visit in _visits(code, loop):
                visits[address, None if address else loop].append(visit)
        elif at.relaxes:
            relaxing.append(code)
    callers = list(_callers(relaxing, names))
    names.learn({visit.frame for visit in callers})
    for visit in callers:
        visits[0, visit.frame].append(visit)
    spins = [(_spin(address, found), found) for (address, _), found in visits.items()]
    words = Counter(loop for spin, _ in spins for loop in spin.loops)
    for spin, found in spins:
        _tell(spin, found, seen, max((words[loop] for loop in spin.loops), default=1), names)
    return sorted((spin for spin, _ in spins), key=lambda spin: -spin.samples)
