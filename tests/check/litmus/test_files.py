# SPDX-License-Identifier: MIT
"""Reading .litmus files: errors with their line, and what the command prints of a file."""

import os
import subprocess
from pathlib import Path

import pytest

PROGRAM = Path(os.environ["BUILD"]) / "tests" / "litmus-tests"
HERE = Path(__file__).parent
CAS = (
    "int e; atomic_compare_exchange_weak_explicit(x, &e, 1,\n"
    "memory_order_relaxed, memory_order_FAILING);"
)
STORE = "atomic_store_explicit(x, 1, memory_order_relaxed);"


def run(*files: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, *files], capture_output=True, text=True, timeout=300, check=False
    )


def program(body: str, condition: str = "x=1", init: str = "{}", head: str = "C t") -> str:
    return f"{head}\n{init}\nP0(atomic_int *x) {{\n{body}\n}}\nexists ({condition})\n"


BAD = {
    "": "1:1: expected 'C NAME'",
    "C ": "1:1: expected 'C NAME'",
    "C a\033b\n{}": "1:1: expected a name in ASCII",
    "C t\n{}\n": "3:1: expected 'P0', got the end",
    "C t (* no end": "1:14: expected '{', got the end",
    "C t\n(* no end": "2:1: this comment has no end",
    "C t\n(* one (* two *)": "2:1: this comment has no end",
    "C t\n/* no end": "2:1: this comment has no end",
    'C t\n"no end': "2:1: this string has no end",
    "C t\n{}\n\x01": "3:1: expected ASCII text",
    "C t\nCycle Rfe\n{}": "2:1: expected '{', got Cycle",
    "C t\n{}\nP1() {}": "3:1: expected 'P0', got P1",
    "C t\n{}\nP0() {}\nP2() {}": "4:1: expected 'P1', got P2",
    "C t\n{}\nP0() {": "3:7: expected '}', got the end",
    "C t\n{}\nP0(float *x) {}": "3:4: expected a type such as atomic_int, got float",
    "C t\n{}\nP0(atomic_int x) {}": "3:15: expected '*', got x",
    "C t\n{}\nP0(__int128 *x) {}": "3:4: expected a type of at most 64 bits, got __int128",
    "C t\n{ __int128 x; }": "2:3: expected a type of at most 64 bits, got __int128",
    "C t\n{ int x[2]; }": "2:8: arrays are not supported: expected one variable for each element",
    "C t\n{ int *x=y; }\nP0(int *x) {}": "2:8: x is too narrow for a pointer: expected a param",
    "C t\n{ 1:r0=1; }\nP0() {}\nexists (1:r1=0)": "4:11: P1 has no variable, parameter or",
    "C t\n{}\nP0(atomic_int *x, atomic_uchar *x) {}": "3:33: x has another type before",
    "C t\n{}\n" + "".join(f"P{i}() {{}}\n" for i in range(9)): "11:1: expected at most 8 contexts",
    "C t\n{}\nP0(" + ", ".join(f"int *v{i}" for i in range(13)): "3:119: expected at most 12 sh",
    "C t\n{}\nP0(" + "_Atomic(" * 9: "3:76: expected at most 8 types in each other",
    program(STORE, head="C t\n(* sc: forbiden; tso: allowed; c11: allowed *)"): "2:1: expected one",
    program(STORE, head="C t\n(* sc: allowed; tso: allowed *)"): "2:1: expected one (* sc: V;",
    program(STORE, init="{ x=--1; }"): "2:6: expected a number of at most 64 bits, got -",
    program(STORE, init="{ x=0x1ffffffffffffffff; }"): "2:5: expected a number of at most 64 bits",
    program(STORE[:-1]): "5:1: expected ';', got }",
    program(STORE.replace("x", "y", 1)): "4:1: P0 has no variable, parameter or operation atomic_s",
    program(STORE.replace("(x", "(y")): "4:23: P0 has no variable, parameter or operation y",
    program(STORE.replace("(x", "(lo(y)")): "4:26: expected a parameter of P0, got y",
    program(STORE.replace("relaxed", "strict")): "4:29: expected memory_order_relaxed, _acquire,",
    program(STORE.replace("relaxed", "consume")): "4:29: memory_order_consume is not modelled: exp",
    program(STORE.replace("relaxed", "acquire")): "4:29: a store cannot be memory_order_acquire",
    program(
        CAS.replace("FAILING", "release")
    ): "5:23: a failed compare-exchange is a load: expected",
    program("mtx_lock(x);"): "4:1: P0 has no variable, parameter or operation mtx_lock",
    program("int r0 = r1;"): "4:10: P0 has no variable, parameter or operation r1",
    program("int r0; int r0;"): "4:13: r0 is declared twice",
    program("{ int r0; } { char r0; }"): "4:20: r0 has another type before",
    program("".join(f"int r{i};" for i in range(25))): "4:190: expected at most 24 variables of",
    program(STORE * 49): "4:2450: expected at most 48 accesses",
    program(
        "while (0) {" + STORE * 17 + "}"
    ): "4:861: expected at most 48 accesses, those in a loop",
    program("{" * 9 + "}" * 9): "4:9: expected at most 8 blocks in each other",
    program("int r0 = " + "(" * 33 + "1" + ")" * 33 + ";"): "4:42: expected at most 32 operands",
    program("int r0 = 1" + " + 1" * 32 + ";"): "4:138: expected at most 32 operands",
    program("int r0 = ;"): "4:10: expected an expression, got ;",
    program("atomic_thread_fence();"): "4:21: expected memory_order_relaxed, _acquire, _release",
    program(STORE, condition="0:r0=1"): "6:11: P0 has no variable, parameter or operation r0",
    program(STORE, condition="y=1"): "6:9: no context has a variable y",
    program(STORE, condition="x=1 => "): "6:16: expected an expression, got )",
    program(STORE, condition="x/1=1"): "6:10: expected ')', got /",
    program(STORE) + "locations [x;]": "7:1: expected the end, got locations",
    program(STORE).replace(
        "exists", "locations [x;\nexists"
    ): "7:1: no context has a variable exists",
    program(STORE).replace(
        "exists", "forevery"
    ): "6:1: expected exists, ~exists or forall, got for",
    program(STORE).replace(
        "exists", "(* sc: allowed; tso: allowed; c11: ok *) forall"
    ): "6:1: of fo",
    program(STORE, condition='"a\n\033b"'): '6:9: expected an expression, got "a??b"',
}


@pytest.mark.parametrize(("text", "error"), BAD.items(), ids=BAD.values())
def test_bad_file_gives_one_line(text: str, error: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.litmus"
    file.write_text(text)
    done = run(file)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"litmus-tests: {file}:{error}")
    assert done.stderr.count("\n") == 1


def test_missing_file() -> None:
    done = run(HERE / "none.litmus")
    assert (done.returncode, done.stderr) == (
        2,
        f"litmus-tests: {HERE}/none.litmus: cannot be read\n",
    )


def test_outcomes_are_listed_with_counts() -> None:
    done = run(HERE / "classic" / "SB.litmus")
    assert done.returncode == 0
    assert "sc: forbidden, 3 outcomes in" in done.stdout
    assert "tso: allowed, 4 outcomes in" in done.stdout
    starred = [line.split(maxsplit=2)[2] for line in done.stdout.splitlines() if " * " in line]
    assert starred == ["0:r0=0; 1:r1=0; x=1; y=1;"] * 2


@pytest.mark.parametrize("model", ["sc", "tso", "c11"])
def test_wrong_verdict_fails(model: str, tmp_path: Path) -> None:
    text = (HERE / "classic" / "SB+fences.litmus").read_text()
    file = tmp_path / "flipped.litmus"
    file.write_text(text.replace(f"{model}: forbidden", f"{model}: allowed"))
    done = run(file)
    assert done.returncode == 1
    wrong = [line.split(":")[0] for line in done.stdout.splitlines() if "otherwise" in line]
    assert wrong == [model]


def test_what_never_ends_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "stuck.litmus"
    file.write_text(program("await(atomic_load_explicit(x, memory_order_relaxed) == 2);"))
    done = run(file)
    assert done.returncode == 2
    assert done.stderr.startswith(f"litmus-tests: {file}: ")


VALUES = {
    "int r0 = 1 + 2 - 3 == 0 && 4 > 3 || 0;": "0:r0=1",
    "int r0 = 0; if (0) r0 = 1; else { r0 = 2; }": "0:r0=2",
    "uint8_t r0 = 0x1ff;": "0:r0=255",
    "int r0 = hi(0x10002) | lo(0x10004);": "0:r0=5",
    "int r0 = 6 & 3; // a comment": "0:r0=2",
    "int r0 = 8 >> 1 + 1;": "0:r0=2",
    "int r0 = 1 - 2 >> 28;": "0:r0=0xffffffff",
    "int r0 = 1; r0 = 3 >> 64 + !r0;": "0:r0=0",
    "int e = 1; int r0 = atomic_compare_exchange_strong_explicit(x, &e, 7,"
    " memory_order_acquire, memory_order_relaxed);": r"0:r0=0 /\ 0:e=0 /\ x=0",
    "int e = 0; int r0 = atomic_compare_exchange_strong_explicit(lo(x), &e, 7,"
    " memory_order_acq_rel, memory_order_relaxed);": r"0:r0=1 /\ 0:e=0 /\ x=7",
    "int r0 = atomic_fetch_or_explicit(x, 6, memory_order_relaxed);"
    "r0 = atomic_fetch_and_explicit(x, 3, memory_order_release);"
    "r0 = atomic_exchange_explicit(hi(x), 1, memory_order_acquire);": r"0:r0=0 /\ x=0x10002",
    "{" * 8 + "int r0 = " + "(" * 31 + "1" + ")" * 31 + ";" + "}" * 8: "0:r0=1",
    "int r0 = 1" + " + 1" * 31 + "; " + STORE: r"0:r0=32 /\ [x]=1",
    "int r0 = -7 / 2 * 2 + -7 % 4 ^ 8;": "0:r0=-1",
    "unsigned char r0 = -1; long r1 = (signed char)255; int r2 = r0 > r1;": r"0:r1=-1 /\ 0:r2=1",
    "int r0 = 1 << 3; r0 = ~r0;": "0:r0=-9",
    "if (1) { int t = 1; } else { int t = 2; }": "0:t=1",
    "r0 = 5;": "0:r0=5",  # herd declares what is assigned
    "int r0 = 0; while (r0 < 2) r0 = r0 + 1;": "0:r0=2",
    "*x = 3; int r0 = *(x) + (*x); /* plain */": "0:r0=6",
    "volatile int *r0 = x; *r0 = 4; int r1 = *r0;": r"0:r0=x /\ 0:r1=4",
    "(void) atomic_fetch_add(x, 2); atomic_fetch_sub(x, 3);": "x=-1",
    "atomic_thread_fence(memory_order_relaxed); ;": "true",
}
CONDITIONS = {
    "x=1": True,
    "[x]=1": True,
    "0:r1=*x": True,
    "x==1": True,
    "0:r0=2": True,
    "P0:r0=2": True,
    "x != 1": False,
    "x <> 1": False,
    "~x=2": True,
    r"not x=2 /\ x=1": True,
    r"not (x=2 /\ x=1)": True,
    "[x]=0:r1": True,
    "0:r1=[x]": True,
    "0:p=x": True,
    "0:p=&x": True,
    "0:p != y": True,
    "[x]=[y]": False,
    r"false \/ true": True,
    "x=1 => x=2": False,
    "x=2 => x=3": True,
    "x=1 => x=2 => x=1": True,  # to the right
    r"x=2 /\ x=1 => x=2": False,  # herd: => binds tighter than /\
    r"x=2 /\ x=1 => x=1": False,
    r"x=1 \/ x=2 /\ x=3": True,  # /\ binds tighter than \/
    "(x + 1) = 2": True,
    "((x) + (1)) = 0:r0": True,
    "0:r0 - x >= x": True,
    "0:m=-1": True,
    "0:m=0xffffffff": True,
}


@pytest.mark.parametrize(("condition", "holds"), CONDITIONS.items(), ids=CONDITIONS)
def test_conditions(condition: str, holds: bool, tmp_path: Path) -> None:
    verdict = "allowed" if holds else "forbidden"
    file = tmp_path / "condition.litmus"
    file.write_text(
        f"C t\n(* sc: {verdict}; tso: {verdict}; c11: {verdict} *)\n{{ x=1; y=0; }}\n"
        "P0(atomic_int *x, atomic_int *y) { int r0 = 2; int r1 = 1; int m = -1; int *p = x; }\n"
        f"exists ({condition})\n"
    )
    done = run(file)
    assert done.returncode == 0, done.stdout + done.stderr


INITIAL = {
    "{ x=1; }": "0:r0=1",
    "{ [x]=1 }": "0:r0=1",
    "{ int x = 1; }": "0:r0=1",
    "{ atomic_int x = ATOMIC_INIT(1); }": "0:r0=1",
    "{ _Atomic int x = -1; }": "0:r0=-1",
    "{ int x; 0:r1=3; z=4; }": r"0:r0=0 /\ 0:r1=3 /\ z=4",
    "{ atomic_int *y; x=2; }": "0:r0=2",
    "{ int z = 5; int *p = &z; }": "0:r0=0",
}


@pytest.mark.parametrize(("init", "condition"), INITIAL.items(), ids=INITIAL)
def test_initial_values(init: str, condition: str, tmp_path: Path) -> None:
    file = tmp_path / "initial.litmus"
    text = program("int r1; int r0 = *x;", condition, init, "C t\n(* SC: ok; TSO: ok; C11: ok *)")
    file.write_text(text)
    done = run(file)
    assert done.returncode == 0, done.stdout + done.stderr


def test_lines_of_the_head_and_nested_comments_are_skipped(tmp_path: Path) -> None:
    head = 'C t\n"a source"\nCycle=Rfe PodRR Fre PodWW\n(* one (* two *) *)'
    file = tmp_path / "head.litmus"
    file.write_text(program(STORE, head=head) + "(* the end *)")
    done = run(file)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("t: a source\n")


TROUBLE = {
    "int r0 = 1 / 0;": "4: a division by zero",
    "int *r0 = 0; int r1 = 1;\nr1 = *r0;": "5: a pointer that is followed points to no variable",
}


@pytest.mark.parametrize(("body", "error"), TROUBLE.items(), ids=TROUBLE.values())
def test_undefined_behaviour_is_an_error(body: str, error: str, tmp_path: Path) -> None:
    file = tmp_path / "trouble.litmus"
    file.write_text(program(body))
    done = run(file)
    assert (done.returncode, done.stderr) == (2, f"litmus-tests: {file}:{error}\n")


@pytest.mark.parametrize(("body", "condition"), VALUES.items(), ids=range(len(VALUES)))
def test_values(body: str, condition: str, tmp_path: Path) -> None:
    file = tmp_path / "value.litmus"
    file.write_text(
        program(body, condition, head="C t\n(* SC: allowed; TSO: allowed; C11: allowed *)")
    )
    done = run(file)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(", 1 outcomes in ") == 3
