# SPDX-License-Identifier: MIT
"""Basic blocks of compiled code, and the source lines that are executed with each.

binutils' objdump disassembles the code and decodes its line table. The compiler has put a call of
TRACE at the beginning of each block (-fsanitize-coverage=trace-pc). Blocks without such a call came
up later, and can be judged only by those before and after them.
"""

import os
import re
import subprocess
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

MOST_ADDRESSES = 1000  # in a question to addr2line
TRACE = "__sanitizer_cov_trace_pc"
# Calls that always return, and are no part of a source line.
RUNTIME = (TRACE, "__tsan_func_entry", "__tsan_func_exit")
SYMBOL = re.compile(r"^([0-9a-f]+) <(.+)>:$")
INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t(.*)$")
PREFIXES = re.compile(
    r"^(?:(?:lock|rep|repn?z|repn?e|notrack|bnd|cs|ds|data16|xacquire|xrelease) )+"
)
TARGET = re.compile(r"\b([0-9a-f]+) <")
ROW = re.compile(r"^\S.*?\s+(\d+|-)\s+(0x[0-9a-f]+|0)(?:\s+\d+)?(\s+x)?(?:\s+END)?\s*$")
HEADING = re.compile(r"^(?:CU: )?(\S.*):$")
# x86-64, AArch64
JUMPS = re.compile(r"^(?:j\w+|b|b\.\w+|cbn?z|tbn?z|br)$")
ALWAYS = {"jmp", "jmpq", "b", "br"}
ENDS = re.compile(r"^(?:ret\w*|ud2|hlt|udf|brk)$")
CALLS = re.compile(r"^(?:callq?|blr?)$")

Line = tuple[str, int]  # of a file, by its name in reports


@dataclass
class Block:
    start: int
    function: int  # where it begins
    end: int = 0
    traces: list[int] = field(default_factory=list)  # where their calls return to
    effects: list[int] = field(default_factory=list)  # calls and conditional jumps of a line
    may_end: bool = False  # it calls what might not return
    before: set[int] = field(default_factory=set)
    after: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class Row:
    """Of the line table."""

    unit: int
    line: Line | None
    address: int
    end: int
    is_statement: bool


@dataclass(frozen=True)
class Evidence:
    """The line is executed with the block; if it is weak, it may be."""

    line: Line
    block: int
    address: int
    is_weak: bool


@dataclass
class Reading:
    """One line of a disassembly."""

    address: int
    word: str
    operands: str

    @property
    def target(self) -> int | None:
        found = TARGET.search(self.operands)
        return int(found[1], 16) if found and "*" not in self.operands else None

    def calls(self, *names: str) -> bool:
        return bool(CALLS.match(self.word)) and any(name in self.operands for name in names)


def _said(*command: str | Path) -> Iterator[str]:
    """The lines that it prints; a ValueError if it cannot."""
    env = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(command, capture_output=True, check=False, env=env)
    except OSError as error:
        raise ValueError(f"{command[0]} cannot be run; install binutils") from error
    if done.returncode:
        raise ValueError(f"{command[0]} failed")
    return iter(done.stdout.decode(errors="replace").splitlines())


def _functions(lines: Iterable[str]) -> Iterator[tuple[int, list[Reading]]]:
    """Those with traces, each by its address."""
    address, body = 0, list[str]()
    for line in chain(lines, ["0 <end>:"]):
        if not line.endswith(">:"):
            body.append(line)
        elif match := SYMBOL.match(line):
            if any(TRACE in one for one in body):
                yield address, list(_instructions(body))
            address, body = int(match[1], 16), []


def _instructions(lines: Iterable[str]) -> Iterator[Reading]:
    for match in filter(None, map(INSTRUCTION.match, lines)):
        words = PREFIXES.sub("", match[2]).split(None, 1)
        if words:
            yield Reading(int(match[1], 16), words[0], "".join(words[1:]))


class Code:
    """Of an object's code that is of interest: functions whose blocks are traced."""

    def __init__(self, file: Path, own: Callable[[str], str | None]) -> None:
        self.file, self.own = file, own
        rows = list(_rows(_said("objdump", "--dwarf=decodedline", file), own))
        functions = dict(_functions(_said("objdump", "-d", "--no-show-raw-insn", file)))
        self.blocks: dict[int, Block] = {}
        self.called_by: dict[int, set[int]] = defaultdict(set)
        self._cut(functions)
        self.starts = sorted(self.blocks)
        self._join(functions)
        self.units: dict[int, int] = {}  # of the lock's functions
        self.evidence = self._evidence(rows)
        self._frames: dict[int, list[tuple[str, str]]] = {}  # function, place; the innermost first

    def _cut(self, functions: dict[int, list[Reading]]) -> None:
        targets = {one.target for body in functions.values() for one in body if _is_jump(one)}
        for start, body in functions.items():
            block: Block | None = None
            for one in body:
                if block is None or one.address in targets or one.calls(TRACE):
                    block = self.blocks[one.address] = Block(one.address, start)
                if _is_jump(one) or ENDS.match(one.word):
                    block = None

    def _join(self, functions: dict[int, list[Reading]]) -> None:
        for body in functions.values():
            block = self.blocks[body[0].address]
            for one, after in zip(body, [*(r.address for r in body[1:]), None], strict=True):
                block = self.blocks.get(one.address, block)
                block.end = after or one.address + 1
                self._read(block, one, after)
        for start, body in functions.items():
            for one in body:
                self._call(start, one)

    def _read(self, block: Block, one: Reading, after: int | None) -> None:
        if CALLS.match(one.word):
            if one.calls(TRACE):
                block.traces.append(block.end)
            if one.calls(TRACE) or not one.calls(*RUNTIME):
                block.effects.append(one.address)
            block.may_end |= not one.calls(*RUNTIME)
        stops = ENDS.match(one.word) or one.word in ALWAYS
        if _is_jump(one):
            self._edge(block, one.target)
            if not stops:
                block.effects.append(one.address)
        if after in self.blocks and not stops:
            self._edge(block, after)

    def _edge(self, block: Block, to: int | None) -> None:
        if to in self.blocks:
            block.after.add(to)
            self.blocks[to].before.add(block.start)

    def _call(self, caller: int, one: Reading) -> None:
        goes = CALLS.match(one.word) or _is_jump(one)
        called = self.block_at(one.target) if goes and one.target is not None else None
        if called and called.function != caller:
            self.called_by[called.function].add(caller)

    def block_at(self, address: int) -> Block | None:
        at = bisect_right(self.starts, address) - 1
        found = self.blocks[self.starts[at]] if at >= 0 else None
        return found if found and address < found.end else None

    def _evidence(self, rows: Iterable[Row]) -> list[Evidence]:
        """A statement begins in the block, or calls or decides there.

        Other instructions of a line may have been moved to where the line is not executed. A block
        whose first instruction is of no line repeats the line of the block above it in memory.
        """
        found, above = set(), None
        for row in rows:
            block = self.block_at(row.address)
            is_repeated = block and row.address == block.start and row.line == above
            above = row.line
            if block and row.line and (row.is_statement or not is_repeated):
                self.units[block.function] = row.unit
                is_weak = not (row.is_statement or _any_within(block, row))
                found.add(Evidence(row.line, block.start, row.address, is_weak))
        return sorted(found, key=lambda one: (one.line, one.address))

    def reached(self, addresses: Iterable[int]) -> dict[int, bool]:
        """Of the blocks that can be judged, by what the traces of an exploration returned to."""
        seen = set(addresses)
        known = {b.start: not seen.isdisjoint(b.traces) for b in self.blocks.values() if b.traces}
        open_ends = [block for block in self.blocks.values() if not block.traces]
        while True:
            new = {b.start: said for b in open_ends if (said := self._judged(b, known)) is not None}
            if not new:
                return known
            known |= new
            open_ends = [block for block in open_ends if block.start not in known]

    def _judged(self, block: Block, known: dict[int, bool]) -> bool | None:
        """Executed only if one before it was, and always before what follows it alone."""
        if block.before and all(known.get(one) is False for one in block.before):
            return False
        if len(block.after) == 1:
            [after] = block.after
            if known.get(after) is False and not block.may_end:
                return False
            if known.get(after) is True and self.blocks[after].before == {block.start}:
                return True
        return None

    def learn(self, of: Iterable[Evidence]) -> None:
        """Asks for the functions that these are in, all at once."""
        new = sorted({one.address for one in of} - self._frames.keys())
        for first in range(0, len(new), MOST_ADDRESSES):
            self._ask(new[first : first + MOST_ADDRESSES])

    def _ask(self, addresses: Sequence[int]) -> None:
        words = [f"{address:#x}" for address in addresses]
        lines = list(_said("addr2line", "-a", "-f", "-i", "-C", "-e", self.file, *words))
        heads = [at for at, line in enumerate(lines) if line.startswith("0x")]
        for address, at, end in zip(addresses, heads, [*heads[1:], len(lines)], strict=True):
            names = [line.partition("(")[0] for line in lines[at + 1 : end : 2]]
            self._frames[address] = list(zip(names, lines[at + 2 : end : 2], strict=False))

    def function_of(self, one: Evidence) -> str:
        """The one that has the line, be it inlined; empty if that is not known."""
        name, line = one.line
        for function, place in self._frames[one.address]:
            file, _, number = place.partition(" ")[0].rpartition(":")
            if Path(file).name == Path(name).name and number == str(line):
                return function
        return ""

    def entry_of(self, one: Evidence) -> str:
        """The lock's function that code outside the lock calls."""
        places = self._frames[one.address]
        inside = [name for name, place in places if self.own(place.rpartition(":")[0])]
        return inside[-1] if inside else ""


def _is_jump(one: Reading) -> bool:
    return bool(JUMPS.match(one.word))


def _any_within(block: Block, row: Row) -> bool:
    at = bisect_left(block.effects, row.address)
    return at < len(block.effects) and block.effects[at] < min(row.end, block.end)


def _rows(lines: Iterable[str], own: Callable[[str], str | None]) -> Iterator[Row]:
    """Of several at one address only the last has the instructions there."""
    unit, name = 0, None
    last: Row | None = None
    for line in (line.removesuffix("[++]") for line in lines):
        if line.startswith("File name"):
            unit += 1
        elif line.endswith(":") and (match := HEADING.match(line)):
            name = own(match[1])
        elif (name or last) and (match := ROW.match(line)):
            address = int(match[2], 16)
            if last:
                yield replace(last, end=max(address, last.address))
            at = (name, int(match[1])) if name and match[1] not in "-0" else None
            row = Row(unit, at, address, address, bool(match[3]))
            last = None if match[1] == "-" else row
    if last:
        yield last
