# SPDX-License-Identifier: MIT
"""Loops that only wait, told from others by their machine code, and the word that they wait for."""

import re
import subprocess
from pathlib import Path

import pytest

from overlock_tools.core.system import symbols
from overlock_tools.core.system.reading import Count
from overlock_tools.profile import spins
from overlock_tools.profile.seen import Sample, Suspect

LINE = re.compile(r"^\s*([0-9a-f]+):\s+(.*)$", re.MULTILINE)

# `while (load(lock)) pause();` as gcc and clang compile it.
TEST = """
    1190:  movl   (%rdi), %eax
    1192:  testl  %eax, %eax
    1194:  je     0x119a <take+0xa>
    1196:  pause
    1198:  jmp    0x1190 <take>
    119a:  retq
"""
FLAG = """
    2000:  cmpl   $0, 0x2f0(%rip)   # 0x22f8 <flag>
    2007:  jne    0x2000 <wait>
    2009:  retq
"""
INDEXED = """
    3000:  pause
    3002:  movq   0x8(%rbx,%rcx,8), %rax
    3007:  cmpq   %rdx, %rax
    300a:  jb     0x3000 <ticket>
"""
EXCHANGE = """
    4000:  movl   $1, %eax
    4005:  xchgl  %eax, (%rsi)
    4007:  testl  %eax, %eax
    4009:  jne    0x4000 <tas>
"""
LENGTH = """
    5000:  cmpb   $0, (%rdi)
    5003:  leaq   0x1(%rdi), %rdi
    5007:  jne    0x5000 <length>
"""
FILL = """
    6000:  movl   (%rdi), %eax
    6002:  movl   %eax, (%rsi)
    6004:  addq   $4, %rsi
    6008:  cmpq   %rdx, %rsi
    600b:  jne    0x6000 <fill>
"""
CALLS = """
    7000:  movl   (%rdi), %eax
    7002:  callq  0x9000 <yield>
    7007:  testl  %eax, %eax
    7009:  jne    0x7000 <other>
"""
DELAY = """
    8000:  subq   $1, %rax
    8004:  jne    0x8000 <delay>
"""


def written(text: str) -> list[spins.Instruction]:
    return [spins.Instruction(int(at, 16), " ".join(one.split())) for at, one in LINE.findall(text)]


def sample(registers: dict[str, int] | None = None, away: int = 0, *suspects: Suspect) -> Sample:
    values = [Count((registers or {}).get(name, 0)) for name in spins.REGISTERS]
    return Sample(Count(1), values, Count(away), list(suspects))


def suspect(thread: int, ip: int, state: str = "preempted") -> Suspect:
    return Suspect(Count(thread), Count(ip), state)


@pytest.mark.parametrize(
    ("code", "at", "registers", "address"),
    [
        (TEST, 0x1196, {"rdi": 0x1000}, 0x1000),
        (FLAG, 0x2000, {}, 0x7F0000002007 + 0x2F0),
        (INDEXED, 0x3002, {"rbx": 0x100, "rcx": 2}, 0x100 + 2 * 8 + 8),
        (EXCHANGE, 0x4007, {"rsi": 0x44}, 0x44),
    ],
    ids=["test", "flag", "indexed", "exchange"],
)
def test_the_word_that_is_waited_for(
    code: str, at: int, registers: dict[str, int], address: int
) -> None:
    loop = spins.loop_around(written(code), at)
    assert loop
    assert loop.word
    assert loop.word.address(sample(registers), 0x7F0000000000 + at, at) == address


@pytest.mark.parametrize(
    ("code", "at"),
    [(LENGTH, 0x5003), (FILL, 0x6004), (CALLS, 0x7007), (DELAY, 0x8000), (TEST, 0x119A)],
    ids=["length", "fill", "calls", "delay", "behind"],
)
def test_other_loops_do_not_wait(code: str, at: int) -> None:
    assert spins.loop_around(written(code), at) is None


def test_the_shortest_loop_counts() -> None:
    inner = spins.loop_around(written(TEST + "    119b:  jmp 0x1190 <take>"), 0x1192)
    assert inner
    assert inner.end == 0x1198


# Behind what swallows its first instructions, if it is read as code.
TAKE = """
.skip 300, 0x90
.byte 0x48, 0xb8
.globl main, leave
main: movl (%rdi), %eax
testl %eax, %eax
je leave
pause
jmp main
leave: ret
"""


def test_a_loop_in_a_file(tmp_path: Path) -> None:
    """Whichever of its instructions was met."""
    source, program = tmp_path / "take.s", tmp_path / "take"
    source.write_text(TAKE)
    subprocess.run(["cc", source, "-o", program], check=True)
    said = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    main, leave = (
        int(at, 16)
        for name in ("main", "leave")
        for at in re.findall(rf"^(\w+) T {name}$", said, re.MULTILINE)
    )
    begin, code = symbols.code(program, main, leave)
    met = [one.at for one in spins.parsed(code, begin)]
    assert len(met) == 5
    for at in met:
        loop = spins.loop_in(str(program), at)
        assert loop
        assert loop.word
        assert (loop.begin, loop.word.base) == (main, "rdi")
    assert spins.loop_in(str(program), leave) is None


def test_whole_registers() -> None:
    assert [spins.whole(name) for name in ("%eax", "%sil", "%r8d", "%r15", "%rbx")] == [
        *("rax", "rsi", "r8", "r15", "rbx")
    ]


LOOP = (0x100, 0x110)


@pytest.mark.parametrize(
    ("one", "holders", "cause"),
    [
        (sample(), {2}, "holder_running"),
        (sample(away=1), {2}, "unknown"),
        (sample({}, 1, suspect(2, 0x500)), {2}, "holder_preempted"),
        (sample({}, 1, suspect(2, 0x500, "throttled")), {2}, "holder_throttled"),
        (sample({}, 1, suspect(2, 0x108)), {2}, "unknown"),
        (sample({}, 1, suspect(3, 0x500)), {2}, "unknown"),
    ],
    ids=["nobody away", "others away", "preempted", "throttled", "waits, too", "no user"],
)
def test_who_may_be_the_holder(one: Sample, holders: set[int], cause: str) -> None:
    assert spins._cause(one, LOOP, holders) == cause
