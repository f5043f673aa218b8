# SPDX-License-Identifier: MIT
"""Threads seen in a loop that only waits for a word of memory to change: a spinlock, most likely.

The loop is found in the machine code around an instruction at which threads were seen: the shortest
that contains it, in which memory is read at an address that the loop does not change, and nothing
else is written. The address comes from the registers of those who were seen there.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from overlock_tools.core.system import symbols
from overlock_tools.profile.naming import Names
from overlock_tools.profile.seen import Code, Sample, Seen

READER = "capstone"  # Python's package, which reads machine code
BEFORE = AFTER = 192  # bytes of code that are looked at, around an instruction
LONGEST = 128  # bytes of a loop
USUALLY = 0.5  # of the times that somebody waits, its holder is away: else it is not that one
LEAST = 0.005  # of all samples, at one instruction
# As DWARF numbers them, and so profile/waits.h.
REGISTERS = [
    *("rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp"),
    *(f"r{n}" for n in range(8, 16)),
]
PARTS = {
    "eax": "rax", "ax": "rax", "al": "rax", "edx": "rdx", "dx": "rdx", "dl": "rdx",
    "ecx": "rcx", "cx": "rcx", "cl": "rcx", "ebx": "rbx", "bx": "rbx", "bl": "rbx",
    "esi": "rsi", "si": "rsi", "sil": "rsi", "edi": "rdi", "di": "rdi", "dil": "rdi",
    "ebp": "rbp", "esp": "rsp",
}  # fmt: skip

MEMORY = re.compile(r"(?:%([a-z]s):)?(-?(?:0x)?[0-9a-f]*)\(([^)]*)\)")
JUMP = re.compile(r"^j\w+\s+(?:0x)?([0-9a-f]+)")
ATOMIC = ("xchg", "lock", "cmpxchg", "xadd")
ONLY_READ = ("cmp", "test", "bt")


@dataclass(frozen=True)
class Instruction:
    at: int
    text: str

    @property
    def name(self) -> str:
        return self.text.split()[0]

    @property
    def operands(self) -> list[str]:
        rest = re.sub(r"^(lock|rep|repz)\s+", "", self.text).split(None, 1)[1:]
        return (
            re.split(r",\s*(?![^(]*\))", rest[0].split("#")[0].split("<")[0].strip())
            if rest
            else []
        )

    @property
    def goes_back_to(self) -> int | None:
        found = JUMP.match(self.text)
        return int(found[1], 16) if found and int(found[1], 16) <= self.at else None


def whole(register: str) -> str:
    """`rax` of `%eax`, `r8` of `%r8d`."""
    name = register.strip("%* ")
    return PARTS.get(name, re.sub(r"^(r\d+)[dwb]$", r"\1", name))


def parsed(code: bytes, at: int) -> list[Instruction]:
    """As AT&T writes them; what is no instruction is `.byte`."""
    from capstone import CS_ARCH_X86, CS_MODE_64, CS_OPT_SYNTAX_ATT, Cs

    reader = Cs(CS_ARCH_X86, CS_MODE_64)
    reader.syntax, reader.skipdata = CS_OPT_SYNTAX_ATT, True
    return [
        Instruction(start, f"{name} {operands}".strip())
        for start, _, name, operands in reader.disasm_lite(code, at)
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
    begin: int
    end: int  # of its last instruction
    word: Word | None


def _word(operand: str, following: int) -> Word | None:
    found = MEMORY.search(operand)
    if not found or found[1]:
        return None
    base, index, scale, *_ = [*(part.strip() for part in found[3].split(",")), "", "", ""]
    offset = int(found[2], 0) if found[2] not in ("", "-") else 0
    return Word(whole(base), whole(index), int(scale or 1), offset, following)


def _written(instruction: Instruction) -> str:
    """The register that it writes, if any; those that write more do not occur in such loops."""
    if instruction.name.startswith((*ONLY_READ, "j", "pause", "nop", "push")):
        return ""
    last = instruction.operands[-1] if instruction.operands else ""
    return whole(last) if last.startswith("%") else ""


def _stores(instruction: Instruction) -> bool:
    if instruction.name.startswith((*ONLY_READ, "j", "lea", "nop", "prefetch")):
        return False
    operands = instruction.operands
    return bool(operands) and bool(MEMORY.search(operands[-1]))


def _waits(body: list[Instruction], following: int) -> Loop | None:
    """The loop, if all it does is to wait."""
    if any(one.name.startswith(("call", "ret", "syscall", "leave")) for one in body):
        return None
    written = {_written(one) for one in body if not one.name.startswith(ATOMIC)}
    ends = [*(one.at for one in body[1:]), following]
    word = None
    for one, end in zip(body, ends, strict=True):
        for operand in one.operands if not one.name.startswith(("lea", "nop", "j")) else []:
            found = _word(operand, end)
            if found and not {found.base, found.index} & written - {""}:
                word = word or found
    others = [one for one in body if _stores(one) and not one.name.startswith(ATOMIC)]
    pauses = any(one.name == "pause" for one in body)
    if others or not (word or pauses):
        return None
    return Loop(body[0].at, body[-1].at, word)


def loop_around(code: list[Instruction], at: int) -> Loop | None:
    """The shortest one."""
    places = {one.at: i for i, one in enumerate(code)}
    best = None
    for i, one in enumerate(code):
        begin = one.goes_back_to
        if begin is None or begin not in places or not begin <= at <= one.at:
            continue
        if one.at - begin > LONGEST or (best and best.end - best.begin <= one.at - begin):
            continue
        following = code[i + 1].at if i + 1 < len(code) else one.at + 2
        best = _waits(code[places[begin] : i + 1], following) or best
    return best


@cache
def loop_in(path: str, near: int) -> Loop | None:
    """Code is read from where instructions begin: from there, and from where jumps lead to."""
    at, code = symbols.code(Path(path), near - BEFORE, near + AFTER)
    ahead = parsed(code[near - at :], near)
    begins = {begin for one in ahead if (begin := one.goes_back_to) and at <= begin <= near}
    found = (loop_around(parsed(code[begin - at :], begin), near) for begin in begins)
    return min(filter(None, found), key=lambda loop: loop.end - loop.begin, default=None)


@dataclass
class Spin:
    """What was seen of those who wait at one word."""

    address: int  # 0: not known
    samples: float = 0.0
    by_cause: Counter[str] = field(default_factory=Counter)
    frames: Counter[tuple[int, int]] = field(default_factory=Counter)
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
        if suspect.thread in holders and not loop[0] <= suspect.ip <= loop[1]:
            return "holder_throttled" if suspect.state == "throttled" else "holder_preempted"
    return "unknown" if sample.away else "holder_running"


@dataclass(frozen=True)
class _Visit:
    """A sample in a loop, and for how many it stands."""

    sample: Sample
    weight: float
    frame: tuple[int, int]
    loop: tuple[int, int]  # where it is in memory


def _visits(code: Code, loop: Loop) -> Iterator[tuple[int, _Visit]]:
    at = code.ip - code.frame[1]
    for sample in code.kept:
        address = loop.word.address(sample, code.ip, code.frame[1]) if loop.word else 0
        frame = (code.frame[0], code.frame[1])
        place = (at + loop.begin, at + loop.end)
        yield address, _Visit(sample, code.seen / len(code.kept), frame, place)


def _spin(address: int, visits: list[_Visit]) -> Spin:
    spin = Spin(address, users={visit.sample.thread for visit in visits})
    holders = _holders(visits, spin.users)
    for visit in visits:
        spin.samples += visit.weight
        part = round(visit.weight * 1000)
        spin.by_cause[_cause(visit.sample, visit.loop, holders)] += part
        spin.frames[visit.frame] += part
    return spin


def find(seen: Seen, names: Names) -> list[Spin]:
    """Those with the most samples first."""
    visits: dict[int, list[_Visit]] = defaultdict(list)
    for code in seen.code:
        path, offset = names.file((code.frame[0], code.frame[1])), code.frame[1]
        if not path or code.seen < max(2, LEAST * seen.samples):
            continue
        if loop := loop_in(path, offset):
            for address, visit in _visits(code, loop):
                visits[address].append(visit)
    spins = [_spin(address, found) for address, found in visits.items()]
    return sorted(spins, key=lambda spin: -spin.samples)
