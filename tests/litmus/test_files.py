# SPDX-License-Identifier: MIT
"""Reading .litmus files: errors with their line, and what the command prints of a file."""

import os
import subprocess
from pathlib import Path

import pytest

PROGRAM = Path(os.environ["BUILD"]) / "tests" / "litmus-tests"
HERE = Path(__file__).parent
STORE = "atomic_store_explicit(x, 1, memory_order_relaxed);"


def run(*files: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, *files], capture_output=True, text=True, timeout=300, check=False
    )


def program(body: str, condition: str = "x=1", init: str = "{}", head: str = "C t") -> str:
    return f"{head}\n{init}\nP0(atomic_int *x) {{\n{body}\n}}\nexists ({condition})\n"


BAD = {
    "": "1: expected 'C NAME'",
    "C ": "1: expected 'C NAME'",
    "C a\033b\n{}": "1: expected a name in ASCII",
    "C t\n{}\n": "3: expected 'P0', got the end",
    "C t (* no end": "1: expected '{', got the end",
    "C t\n(* no end": "2: this comment has no end",
    'C t\n"no end': "2: this string has no end",
    "C t\n{}\n\x01": "3: expected ASCII text",
    "C t\n{}\nP1() {}": "3: expected 'P0', got P1",
    "C t\n{}\nP0() {}\n": "4: expected 'P1', got the end",
    "C t\n{}\nP0(float *x) {}": "3: expected a type such as atomic_int, got float",
    "C t\n{}\nP0(atomic_int *x, atomic_uchar *x) {}": "3: x has another type before",
    "C t\n{ x=1; }\nP0() {}\nexists (1)": "2: no context has a variable x",
    "C t\n{}\n" + "".join(f"P{i}() {{}}\n" for i in range(9)): "11: expected at most 8 contexts",
    "C t\n{}\nP0(" + ", ".join(f"int *v{i}" for i in range(7)) + ")": "3: expected at most 6 sh",
    program(STORE, head="C t\n(* sc: forbiden; tso: allowed; c11: allowed *)"): "2: expected one",
    program(STORE, head="C t\n(* sc: allowed; tso: allowed *)"): "2: expected one (* sc: V;",
    program(STORE, init="{ x=-1; }"): "2: expected a number of at most 64 bits, got -",
    program(STORE, init="{ x=0x1ffffffffffffffff; }"): "2: expected a number of at most 64 bits",
    program(STORE[:-1]): "5: expected ';', got }",
    program(STORE.replace("x", "y", 1)): "4: P0 has no variable or operation atomic_store_eyplicit",
    program(STORE.replace("(x", "(y")): "4: expected a parameter of P0, got y",
    program(STORE.replace("relaxed", "seq_cst")): "4: expected memory_order_relaxed, _acquire,",
    program(STORE.replace("relaxed", "acquire")): "4: a store cannot be memory_order_acquire",
    program("r0 = atomic_load_explicit(x, memory_order_acquire);"): "4: P0 has no variable or op",
    program("int r0; int r0;"): "4: r0 is declared twice",
    program("".join(f"int r{i};" for i in range(9))): "4: expected at most 8 variables of contexts",
    program(STORE * 49): "4: expected at most 48 accesses",
    program("{" * 9 + "}" * 9): "4: expected at most 8 blocks in each other",
    program("int r0 = " + "(" * 33 + "1" + ")" * 33 + ";"): "4: expected at most 32 operands",
    program("int r0 = 1" + " + 1" * 32 + ";"): "4: expected at most 32 operands",
    program("int r0 = ;"): "4: expected an expression, got ;",
    program("while (1) {}"): "4: P0 has no variable or operation while",
    program("atomic_thread_fence(memory_order_acquire);"): "4: expected 'memory_order_seq_cst'",
    program(STORE, condition="0:r0=1"): "6: P0 has no variable or operation r0",
    program(STORE, condition="y=1"): "6: no context has a variable y",
    program(STORE) + "locations [x;]": "7: expected the end, got locations",
    program(STORE).replace("exists", "forall"): "6: expected 'P1', got forall",
    program(STORE, condition='"a\n\033b"'): '6: expected an expression, got "a??b"',
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
}


@pytest.mark.parametrize(("body", "condition"), VALUES.items(), ids=range(len(VALUES)))
def test_values(body: str, condition: str, tmp_path: Path) -> None:
    file = tmp_path / "value.litmus"
    file.write_text(
        program(body, condition, head="C t\n(* SC: allowed; TSO: allowed; C11: allowed *)")
    )
    done = run(file)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("1 outcomes in 1 executions") == 3
