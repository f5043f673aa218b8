# SPDX-License-Identifier: MIT
"""Loops that only wait, told from others by their machine code, and the word that they wait for."""

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from overlock_tools.core.system import native
from overlock_tools.core.system.reading import Count
from overlock_tools.profile import doubts, kinds, loops, naming, spins
from overlock_tools.profile.seen import DWARF, Code, Sample, Suspect
from tests.profile.test_report import made

# Functions, with a label at each instruction that is asked for: NAME, or NAME_what.
CODE = {
    # `while (load(lock)) pause();` as gcc and clang compile it.
    "test": """
test:           movl (%rdi), %eax
                testl %eax, %eax
                je test_behind
test_in:        pause
                jmp test
test_behind:    ret""",
    "flag": """
flag:           cmpl $0, word(%rip)
                jne flag
                ret""",
    "indexed": """
indexed:        pause
indexed_in:     movq 0x8(%rbx,%rcx,8), %rax
                cmpq %rdx, %rax
                jb indexed
                ret""",
    "exchange": """
exchange:       movl $1, %eax
                xchgl %eax, (%rsi)
exchange_in:    testl %eax, %eax
                jne exchange
                ret""",
    # An exchange, and in it a wait.
    "inner": """
inner:          movl $1, %eax
                xchgl %eax, (%rdi)
                testl %eax, %eax
                je inner_behind
inner_in:       pause
                cmpl $0, (%rdi)
                jne inner_in
                jmp inner
inner_behind:   ret""",
    # As a function of its own, whose callers look; and within a wait.
    "relax": """
relax:          movl $9, %eax
relax_in:       pause
                decl %eax
                jne relax_in
                ret""",
    "backs_off": """
backs_off:      movl $9, %eax
backs_off_in:   pause
                decl %eax
                jne backs_off_in
                cmpl $0, (%rdi)
                jne backs_off
                ret""",
    # From word to word, the last of which is waited for.
    "follows": """
follows:        movq (%rdi), %rax
follows_in:     cmpl $0, (%rax)
                jne follows
                ret""",
    "of_thread": """
of_thread:      cmpl $0, %fs:16
                jne of_thread
                ret""",
    "length": """
length:         cmpb $0, (%rdi)
length_in:      leaq 1(%rdi), %rdi
                jne length
                ret""",
    "fill": """
fill:           movl (%rdi), %eax
                movl %eax, (%rsi)
fill_in:        addq $4, %rsi
                cmpq %rdx, %rsi
                jne fill
                ret""",
    "calls": """
calls:          movl (%rdi), %ebx
                call test
calls_in:       testl %ebx, %ebx
                jne calls
                ret""",
    "delay": """
delay:          subq $1, %rax
delay_in:       jne delay
                ret""",
    "ticket": """
ticket:         movl $1, %eax
                lock xaddl %eax, 4(%rdi)
                movl %eax, %edx
ticket_in:      cmpl %edx, (%rdi)
                jne ticket_in
                ret""",
    "arrives": """
arrives:        lock subl $1, (%rdi)
                je arrives_last
arrives_in:     cmpl %esi, 4(%rdi)
                jne arrives_in
arrives_last:   ret""",
    "leaves": """
leaves:         cmpl %esi, 4(%rdi)
                je leaves
                ret""",
    "compares": """
compares:       movl (%rdx), %eax
                cmpl (%rsi), %eax
                jne compares
                ret""",
    "pauses_once": """
pauses_once:    testl %edi, %edi
                jne pauses_first
pauses_now:     pause
pauses_once_in: ret
pauses_first:   movl $1, %eax
                jmp pauses_now""",
    "asks": """
asks:           movl (%rdi), %ebx
                call pauses_once
asks_again:     movl %ebx, (%rsi)
                testl %ebx, %ebx
                jne asks
                ret""",
    # The wait is laid out behind the work that follows it.
    "apart": """
apart:          movl (%rdi), %eax
                testl %eax, %eax
                jne apart_waits
apart_works:    addl $3, %eax
                imull %eax, %eax
                ret
apart_waits:    pause
                jmp apart""",
    # As a compiler leaves it that does not optimize; and a wait that calls something.
    "unoptimized": """
unoptimized:    pushq %rbp
                movq %rsp, %rbp
                movq %rdi, -24(%rbp)
unoptimized_in: movq -24(%rbp), %rax
                movl (%rax), %eax
                movl %eax, -4(%rbp)
                cmpl $0, -4(%rbp)
                jne unoptimized_in
                popq %rbp
                ret""",
    "asks_another": """
asks_another:   call main
                cmpl $0, word(%rip)
                jne asks_another
                ret""",
}
WITH_TABLE = ".globl {0}\n.type {0}, @function\n.cfi_startproc\n{1}\n.cfi_endproc\n"
NO_STACK = ".section .note.GNU-stack\n"


def assembled(folder: Path, text: str) -> tuple[str, dict[str, int]]:
    """The program, and where its labels are."""
    source, program = folder / "code.s", folder / "code"
    main = WITH_TABLE.format("main", "main: ret")
    source.write_text(f".comm word, 4\n.text\n{main}{text}\n{NO_STACK}")
    subprocess.run(["cc", source, "-o", program], check=True)
    said = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    labels = {name: int(at, 16) for at, name in re.findall(r"^(\w+) \w (\w+)$", said, re.MULTILINE)}
    return str(program), labels


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, int]]:
    text = "".join(WITH_TABLE.format(*function) for function in CODE.items())
    return assembled(tmp_path_factory.mktemp("code"), text)


def place(code: tuple[str, dict[str, int]], label: str) -> loops.Instruction:
    path, labels = code
    return loops.instructions(path, [labels[label]])[labels[label]]


def sample(registers: dict[str, int] | None = None, away: int = 0, *suspects: Suspect) -> Sample:
    values = [Count((registers or {}).get(name, 0)) for name in DWARF]
    return Sample(Count(1), values, Count(away), list(suspects))


def code_at(ip: int, offset: int) -> Code:
    return Code(Count(ip), [0, offset], Count(1), [])


def suspect(thread: int, ip: int, state: str = "preempted") -> Suspect:
    return Suspect(Count(thread), Count(ip), state)


@pytest.mark.parametrize(
    ("label", "registers", "address"),
    [
        ("test_in", {"rdi": 0x1000}, 0x1000),
        ("indexed_in", {"rbx": 0x100, "rcx": 2}, 0x100 + 2 * 8 + 8),
        ("exchange_in", {"rsi": 0x44}, 0x44),
        ("backs_off_in", {"rdi": 0x44}, 0x44),
    ],
)
def test_the_word_that_is_waited_for(
    code: tuple[str, dict[str, int]], label: str, registers: dict[str, int], address: int
) -> None:
    loop, at = place(code, label).loop, code[1][label]
    assert loop
    assert loop.word
    assert loop.address(sample(registers), code_at(0x7F0000000000 + at, at)) == address


def test_a_word_of_the_object(code: tuple[str, dict[str, int]]) -> None:
    loop, at = place(code, "flag").loop, code[1]["flag"]
    assert loop
    assert loop.word
    assert (
        loop.address(sample(), code_at(0x7F0000000000 + at, at)) == 0x7F0000000000 + code[1]["word"]
    )


@pytest.mark.parametrize(
    ("label", "value", "has_ticket", "is_after_update"),
    [
        ("ticket_in", "rdx", True, True),
        ("arrives_in", "rsi", False, True),
        ("leaves", "", False, False),
        ("flag", "", False, False),
    ],
)
def test_the_value_that_is_waited_for(
    code: tuple[str, dict[str, int]],
    label: str,
    value: str,
    has_ticket: bool,
    is_after_update: bool,
) -> None:
    loop = place(code, label).loop
    assert loop
    assert (loop.value, loop.has_ticket) == (value, has_ticket)
    assert loop.is_after_update is is_after_update


def test_of_two_words_one_s_own_is_not_waited_for(code: tuple[str, dict[str, int]]) -> None:
    """A thread's stack is its own."""
    loop, at = place(code, "compares").loop, code[1]["compares"]
    assert loop
    one = code_at(at, at)
    shared, stack = 0x1000, 0x7FFF0000
    for own, other in (("rsi", "rdx"), ("rdx", "rsi")):
        registers = {own: stack + 64, other: shared, "rsp": stack}
        assert loop.address(sample(registers), one) == shared


@pytest.mark.parametrize("label", ["relax_in", "follows_in", "of_thread"])
def test_a_wait_for_an_unknown_word(code: tuple[str, dict[str, int]], label: str) -> None:
    """Registers tell no address, if there is none, each round changes them, or a segment counts."""
    loop = place(code, label).loop
    assert loop
    assert loop.word is None


def test_unknown_words_of_two_loops_are_two(code: tuple[str, dict[str, int]]) -> None:
    path, labels = code
    kept = [{"thread": 1, "registers": [0] * len(DWARF), "away": 0, "suspects": []}]
    seen = made(
        samples=100,
        modules=[path],
        code=[
            {"ip": labels[label], "frame": [0, labels[label]], "seen": n, "kept": kept}
            for label, n in (("relax", 20), ("relax_in", 10), ("follows", 40))
        ],
    )
    found = spins.find(seen, naming.of(seen))
    assert [(spin.address, round(spin.samples)) for spin in found] == [(0, 40), (0, 10)]


@pytest.mark.parametrize(
    "label", ["length_in", "fill_in", "calls_in", "delay_in", "test_behind", "apart_works"]
)
def test_other_code_does_not_wait(code: tuple[str, dict[str, int]], label: str) -> None:
    assert place(code, label) == loops.Instruction(True)


def test_who_calls_a_function_that_relaxes_spins(code: tuple[str, dict[str, int]]) -> None:
    """A function without a loop: whether it is called in one does not matter."""
    path, labels = code
    stack = [[0, labels["word"]], [0, labels["asks_again"]], [0, labels["calls_in"]]]
    kept = {"thread": 1, "registers": [0] * len(DWARF), "away": 1, "suspects": [], "stack": stack}
    frame = [0, labels["pauses_once_in"]]
    one = {"ip": frame[1], "frame": frame, "seen": 40, "kept": [kept]}
    seen = made(samples=100, modules=[path], code=[one])
    assert place(code, "pauses_once_in").relaxes
    (found,) = spins.find(seen, naming.of(seen))
    assert found.samples == pytest.approx(40)
    assert [*found.frames] == [(0, labels["asks_again"] - 1)]


def test_the_smallest_loop_counts(code: tuple[str, dict[str, int]]) -> None:
    inner, outer = place(code, "inner_in").loop, place(code, "inner").loop
    assert inner
    assert outer
    assert (inner.begin, inner.kind) == (code[1]["inner_in"], "wait")
    assert (outer.begin, outer.kind) == (code[1]["inner"], "wait with updates")


def test_a_loop_has_the_name_that_run_takes(code: tuple[str, dict[str, int]]) -> None:
    loop = place(code, "apart_waits").loop
    assert loop
    assert loop.name == f"code+{code[1]['apart']:#x}"


def test_a_library_has_the_name_that_it_is_loaded_by(tmp_path: Path) -> None:
    """Files may be called otherwise: libthing.so.1.0."""
    library, text = tmp_path / "libthing.so.1.0", WITH_TABLE.format("test", CODE["test"])
    (tmp_path / "code.s").write_text(text + NO_STACK)
    flags = ["-shared", "-Wl,-soname,libthing.so.1"]
    subprocess.run(["cc", *flags, tmp_path / "code.s", "-o", library], check=True)
    said = subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout
    at = next(int(line.split()[0], 16) for line in said.splitlines() if line.endswith(" test"))
    loop = loops.instructions(str(library), [at])[at].loop
    assert loop
    assert loop.name == f"libthing.so.1+{at:#x}"


def test_loops_of_functions_without_a_table(tmp_path: Path) -> None:
    """As those in assembly are. `overlock run --spins` does not look there, in spite of room."""
    text = f"{CODE['flag']}\n.skip 16, 0x90{CODE['test']}\n.skip 16, 0x90"
    found = place(assembled(tmp_path, text), "test_in")
    assert found.loop
    assert (found.loop.kind, found.loop.is_patched, found.loop.is_fixed) == ("wait", False, True)


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    """Behind what swallows its first instructions, if it is read as code; and in no ELF file."""
    code = assembled(tmp_path, "\n.byte 0x48, 0xb8" + CODE["test"])
    assert place(code, "test_in") == loops.Instruction(False)
    text = tmp_path / "text"
    text.write_text("no program")
    assert loops.instructions(str(text), [16])[16] == loops.Instruction(False)


def test_the_finder_knows_the_kinds() -> None:
    """Of the list, which has them once."""
    text = (native.checkout() or Path()) / "lib/loops/kinds.def"
    known = set(re.findall(r'^OL_LOOP_KIND\(\w+, "([^"]+)"', text.read_text(), re.MULTILINE))
    assert {*loops.KINDS, loops.WORKS, *doubts.UNJUDGED} == known


@pytest.mark.parametrize(
    ("label", "words"),
    [("unoptimized_in", "compiled without optimization"), ("asks_another", "call functions")],
)
def test_a_loop_that_may_work_is_a_doubt(
    code: tuple[str, dict[str, int]], label: str, words: str
) -> None:
    """Only where much was seen in it."""
    path, labels = code
    kept = [{"thread": 1, "registers": [0] * len(DWARF), "away": 0, "suspects": []}]
    for n, said in ((50, True), (4, False)):
        one = {"ip": labels[label], "frame": [0, labels[label]], "seen": n, "kept": kept}
        seen = made(samples=100, times={"running": 10**9}, modules=[path], code=[one])
        seen = replace(seen, sampled_cpus=Count(2), hertz=Count(100))
        found = "; ".join(doubts.of(seen, [], naming.of(seen), 10**9))
        assert (words in found) == said


LOOP = (0x100, 0x110)


@pytest.mark.parametrize(
    ("one", "holders", "cause"),
    [
        (sample(), {2}, "holder_running"),
        (sample(away=1), {2}, "unknown"),
        (sample({}, 1, suspect(2, 0x500)), {2}, "holder_preempted"),
        (sample({}, 1, suspect(2, 0x500, "throttled")), {2}, "holder_throttled"),
        (sample({}, 1, suspect(2, 0x108)), {2}, "unknown"),
        (sample({}, 1, suspect(2, 0x110)), {2}, "holder_preempted"),
        (sample({}, 1, suspect(3, 0x500)), {2}, "unknown"),
    ],
    ids=["nobody away", "others away", "preempted", "throttled", "waits, too", "behind", "no user"],
)
def test_who_may_be_the_holder(one: Sample, holders: set[int], cause: str) -> None:
    assert spins._cause(one, LOOP, holders, kinds.SPINLOCK, True) == cause


@pytest.mark.parametrize(
    ("one", "short_of_quota", "cause"),
    [
        (sample(), False, "others_running"),
        (sample(), True, "quota_spent"),
        (sample({}, 1, suspect(2, 0x500)), True, "others_preempted"),
        (sample({}, 1, suspect(2, 0x500, "throttled")), False, "others_throttled"),
    ],
)
def test_spinning_on_no_lock_is_a_loss_where_somebody_lacks_cpu_time(
    one: Sample, short_of_quota: bool, cause: str
) -> None:
    assert spins._cause(one, LOOP, set(), kinds.SPIN_BARRIER, short_of_quota) == cause
