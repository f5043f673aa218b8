# SPDX-License-Identifier: MIT
"""overlock check of litmus tests: verdicts, exit codes, tables, JSON, errors."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.check.command.conftest import Command, Fake
from tests.command import schema
from tests.conftest import TOP

SCHEMA = schema("litmus")
TESTS = TOP / "tests/check/litmus"
SB = TESTS / "classic/SB.litmus"

X = "atomic_int *x"
XY = "atomic_int *x, atomic_int *y"
STORE = "atomic_store_explicit({}, 1, memory_order_relaxed);"
LOAD = "int {} = atomic_load_explicit({}, memory_order_relaxed);"


def written(folder: Path, condition: str, *contexts: tuple[str, str], name: str = "t") -> Path:
    bodies = [f"P{i}({of}) {{ {body} }}\n" for i, (of, body) in enumerate(contexts)]
    path = folder / f"{name}.litmus"
    path.write_text(f"C {name}\n{{}}\n{''.join(bodies)}{condition}\n")
    return path


def store_buffering(folder: Path, condition: str) -> Path:
    first = STORE.format("x") + LOAD.format("r0", "y")
    second = STORE.format("y") + LOAD.format("r1", "x")
    return written(folder, condition, (XY, first), (XY, second))


def document(real: Command, *args: str | Path) -> dict[str, Any]:
    real(*args, "--json", "out.json")
    said: dict[str, Any] = json.loads((real.folder / "out.json").read_text())
    Draft202012Validator(SCHEMA).validate(said)
    return said


def rows(text: str) -> list[list[str]]:
    """Of the table of verdicts: model, verdict, condition and observation."""
    found = re.findall(
        r"^\S+ +(sc|tso|c11) +(\w+(?: \w+)?) +(\S+: .*?)  +(\w+ \d+ \d+)", text, re.M
    )
    return [list(row) for row in found]


def test_outcomes_and_verdicts_of_each_model(real: Command) -> None:
    done = real(store_buffering(real.folder, r"exists (0:r0=0 /\ 1:r1=0)"))
    assert (done.returncode, done.stderr) == (1, "")
    assert rows(done.stdout) == [
        ["sc", "forbidden", "exists: No", "Never 0 3"],
        ["tso", "allowed", "exists: Ok", "Sometimes 1 3"],
        ["c11", "allowed", "exists: Ok", "Sometimes 2 3"],
    ]
    assert re.search(r"^0:r0=0; 1:r1=0; +\* +- +1 +2$", done.stdout, re.M)
    assert re.search(r"^0:r0=1; 1:r1=1; +1 +1 +1$", done.stdout, re.M)
    assert done.stdout.endswith("2 of 3 conditions hold\n")


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        (r"exists (0:r0=0 /\ 1:r1=0)", 0),
        (r"~exists (0:r0=0 /\ 1:r1=0)", 1),
        (r"forall (0:r0=1 \/ 1:r1=1)", 1),
        (r"forall (0:r0=0 \/ 0:r0=1)", 0),
        ("exists (0:r0=2)", 1),
        ("~exists (0:r0=2)", 0),
        (r"filter (0:r0=1) exists (1:r1=2)", 1),
        (r"filter (0:r0=1) forall (0:r0=1)", 0),
    ],
)
def test_exit_code_is_whether_the_condition_holds(real: Command, condition: str, code: int) -> None:
    assert real(store_buffering(real.folder, condition), "--model", "tso").returncode == code


def test_verdicts_of_the_file_are_what_is_expected(real: Command) -> None:
    done = real(SB)
    assert done.returncode == 0
    assert [row[2] for row in rows(done.stdout)] == [
        "exists: No, as expected",
        "exists: Ok, as expected",
        "exists: Ok, as expected",
    ]
    wrong = real.folder / "wrong.litmus"
    wrong.write_text(SB.read_text().replace("sc: forbidden", "sc: allowed"))
    done = real(wrong)
    assert done.returncode == 1
    assert "exists: No, but the file expects Ok" in done.stdout


def test_what_load_buffering_could_do_is_not_called_forbidden(real: Command) -> None:
    [test] = document(real, TESTS / "classic/LB.litmus")["tests"]
    verdicts = {one["model"]: one["verdict"] for one in test["results"]}
    assert verdicts == {"sc": "forbidden", "tso": "forbidden", "c11": "not found"}
    assert test["results"][2]["limits"] == ["this model has no load buffering"]


@pytest.mark.parametrize(
    ("test", "verdict"),
    [
        ("classic/LB", "not found"),
        ("classic/LB+datas", "not found"),
        ("classic/3.LB", "not found"),
        ("classic/LB+rel-acq", "forbidden"),  # a cycle in happens-before
        ("c11/cas-one-winner", "forbidden"),  # on one variable
        ("classic/MP+rel+acq", "forbidden"),
        ("c11/IRIW+sc", "forbidden"),
    ],
)
def test_load_buffering_is_suspected_where_it_can_be(
    real: Command, test: str, verdict: str
) -> None:
    [one] = document(real, TESTS / f"{test}.litmus", "--model", "c11")["tests"]
    assert one["results"][0]["verdict"] == verdict


FENCED = "{} atomic_thread_fence(memory_order_{}); atomic_thread_fence(memory_order_{}); {}"


@pytest.mark.parametrize(
    ("fences", "verdict"),
    [
        (("acquire", "release"), "forbidden"),
        (("release", "acquire"), "not found"),  # what is acquired is not released
        (("acquire", "acquire"), "not found"),
    ],
)
def test_fences_synchronize_in_their_order(
    real: Command, fences: tuple[str, str], verdict: str
) -> None:
    bodies = [
        (XY, FENCED.format(LOAD.format(f"r{i}", a), *fences, STORE.format(b)))
        for i, (a, b) in enumerate([("x", "y"), ("y", "x")])
    ]
    path = written(real.folder, r"exists (0:r0=1 /\ 1:r1=1)", *bodies)
    [one] = document(real, path, "--model", "c11")["tests"]
    assert one["results"][0]["verdict"] == verdict


def test_a_data_race_is_told(real: Command) -> None:
    path = written(real.folder, "forall (true)", ("int *x", "*x = 1;"), ("int *x", "int r = *x;"))
    [test] = document(real, path)["tests"]
    assert [one["data_race"] for one in test["results"]] == [False, False, True]
    assert "a data race of plain accesses" in test["results"][2]["limits"][0]
    assert "undefined behaviour" in real(path).stdout


def test_loops_that_are_cut_off_forbid_nothing(real: Command) -> None:
    path = written(real.folder, "exists (0:n=3)", (X, "int n = 0; while (n < 3) n = n + 1;"))
    done = real(path, "--model", "sc")
    assert done.returncode == 1
    [row] = rows(done.stdout)
    assert row[1] == "not found"
    assert "executions with more than 2 rounds of a loop are left out" in done.stdout


def test_only_what_is_observed_is_shown(real: Command) -> None:
    body = "int r0 = 1; int r1 = 2; " + STORE.format("x")
    path = written(real.folder, "locations [0:r1; x]\nexists (x=1)", (X, body))
    [test] = document(real, path, "--model", "sc")["tests"]
    assert [one["state"] for one in test["results"][0]["states"]] == ["0:r1=2; [x]=1;"]


def test_pointers_and_negative_numbers_are_shown_as_such(real: Command) -> None:
    body = "atomic_int *p = x; int n = -1;"
    path = written(real.folder, r"exists (0:p=x /\ 0:n=-1)", (X, body))
    done = real(path, "--model", "c11")
    assert done.returncode == 0
    assert "0:p=x; 0:n=-1;" in done.stdout


def test_folders_and_several_files(real: Command) -> None:
    folder = real.folder / "some"
    folder.mkdir()
    for i in range(5):
        written(folder, "exists (x=1)", (X, STORE.format("x")), name=f"t{i}")
    done = real(folder, SB, folder / "t0.litmus", "--model", "sc,c11", "--jobs", "2")
    assert done.returncode == 0
    names = [line.split()[0] for line in done.stdout.splitlines() if "exists: " in line]
    assert names == [name for i in range(5) for name in [f"t{i}"] * 2] + ["SB"] * 2
    assert "[x]=1;" not in done.stdout  # of many tests the table alone
    assert done.stdout.endswith("12 of 12 conditions hold, or are as the file expects\n")


def test_bad_files_are_one_line_each_and_the_others_are_run(real: Command) -> None:
    bad = real.folder / "bad.litmus"
    bad.write_text("C bad\n{}\nP0(atomic_int *x) {\n  int r0 = y;\n}\nexists (0:r0=1)\n")
    done = real(bad, SB, "none.litmus", "--json", "out.json")
    assert done.returncode == 2
    assert done.stderr == (
        f"overlock: {bad}:4:12: P0 has no variable, parameter or operation y\n"
        "overlock: none.litmus: cannot be read\n"
    )
    assert len(rows(done.stdout)) == 3
    said = json.loads((real.folder / "out.json").read_text())
    Draft202012Validator(SCHEMA).validate(said)
    assert [("error" in one) for one in said["tests"]] == [True, False, True]


def test_undefined_behaviour_is_told_with_its_line(real: Command) -> None:
    path = written(real.folder, "exists (0:r=1)", (X, "int *p = 0;\nint r = *p;"))
    done = real(path)
    assert done.returncode == 2
    assert done.stderr == (
        f"overlock: {path}:4: a pointer that is followed points to no variable\n"
    )


def test_executions_beyond_the_models_size_are_an_error(real: Command) -> None:
    """Each context waits for the other: it looks twice."""
    wait = "await(atomic_load_explicit({}, memory_order_relaxed) == {});"
    store = "atomic_store_explicit({}, {}, memory_order_relaxed);"
    first = "".join(store.format("x", i) + wait.format("y", i) for i in range(1, 13))
    second = "".join(wait.format("x", i) + store.format("y", i) for i in range(1, 13))
    path = written(real.folder, "exists (x=12)", (XY, first), (XY, second))
    done = real(path, "--model", "c11")
    assert done.returncode == 2
    assert done.stderr == f"overlock: {path}: more than 64 accesses and fences in one execution\n"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["ticket"], "ticket is no litmus test; check locks and litmus tests separately"),
        (["--model", "power"], "--model power: expected sc, tso, c11 or all"),
        (["--size", "2x2"], "--size is for locks; litmus tests have --model, --seconds, --jobs"),
        (["--trace", "t.json"], "--trace is for locks; litmus tests have --model, --seconds,"),
        (["--json", "/none/out.json"], "/none/out.json"),
    ],
)
def test_what_makes_no_sense_is_refused(real: Command, arguments: list[str], error: str) -> None:
    done = real(SB, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert error in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_the_program_there_is_a_remedy(fake: Fake) -> None:
    done = fake(SB)
    assert (done.returncode, done.stdout) == (3, "")
    assert (
        done.stderr
        == "overlock: overlock-litmus is not built; run `make checker` in the checkout\n"
    )


def test_an_answer_that_makes_no_sense_is_an_error(fake: Fake) -> None:
    program = fake.native / "overlock-litmus"
    program.write_text("#!/bin/sh\necho '{}'\necho broken >&2\nexit 1\n")
    program.chmod(0o755)
    done = fake(SB)
    assert (done.returncode, done.stderr) == (
        2,
        f"overlock: {SB}: overlock-litmus ended (1): broken\n",
    )
