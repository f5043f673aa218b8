# SPDX-License-Identifier: MIT
"""The file of a replay, as overlock-bench and a guest's module take it or refuse it."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from overlock_tools.core.trace import plan
from tests.conftest import TOP

ROWS = [
    (0, 1, 0, plan.ACQUIRE),
    (5, 1, 0, plan.RELEASE),
    (6, 0, 0, plan.NOTHING),
]
MADE = plan.Plan([], [np.array(ROWS, plan.OP)], [0], 100)
HEAD = 24 + 16 * plan.MOST_THREADS


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("plan") / "plan_file"
    flags = ["-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined"]
    flags += [f"-I{TOP}/include", f"-I{TOP}/bench/workload", "-o", str(found)]
    subprocess.run(["gcc", Path(__file__).with_name("plan_file.c"), *flags], check=True)
    return found


def judged(program: Path, raw: bytes, where: str) -> str:
    file = program.with_name("plan")
    file.write_bytes(raw)
    done = subprocess.run([program, file, where], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def changed(at: int, byte: int) -> bytes:
    raw = bytearray(plan.packed(plan.awake_inside(MADE)))
    raw[at] = byte
    return bytes(raw)


def test_only_threads_of_programs_sleep_in_sections(program: Path) -> None:
    asleep = plan.packed(MADE)
    assert judged(program, asleep, "user") == ""
    assert judged(program, asleep, "kernel") == "a thread sleeps while it holds a lock"
    assert judged(program, plan.packed(plan.awake_inside(MADE)), "kernel") == ""


BROKEN = {
    "magic": (0, 0, "no plan"),
    "no threads": (8, 0, "no threads or locks, or too many"),
    "too many locks": (15, 1, "no threads or locks, or too many"),
    "more operations than there are": (16, 9, "operations are missing"),
    "a thread without operations": (32, 0, "a thread has no operations"),
    "a thread beyond the end": (24, 2, "a thread has no operations"),
    "an unknown lock": (HEAD + 16, 1, "an operation is unknown"),
    "an unknown operation": (HEAD + 20, 3, "an operation is unknown"),
    "a release of nothing": (HEAD + 20, plan.RELEASE, "is released that is not held"),
    "no release": (HEAD + 24 + 20, plan.NOTHING, "is not released at the end"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_cannot_be_replayed_is_refused(program: Path, what: str) -> None:
    at, byte, said = BROKEN[what]
    assert said in judged(program, changed(at, byte), "user")


def test_a_file_that_is_cut_short_is_refused(program: Path) -> None:
    raw = plan.packed(MADE)
    assert "no plan" in judged(program, raw[: HEAD - 1], "user")
    assert "operations are missing" in judged(program, raw[:-1], "user")
