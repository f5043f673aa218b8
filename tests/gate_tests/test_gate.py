# SPDX-License-Identifier: MIT
"""tests/gate and suite.cmake: which suites run, what is said of them, and what ends with them."""

import argparse
import importlib.machinery
import importlib.util
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import TOP
from tests.processes import HANG_S, until

GATE = TOP / "tests/gate"


def suite(name: str, command: str, *, seconds: int = 30, flags: str = "QUICK") -> str:
    return f'suite({name} {flags} SECONDS {seconds} WHAT "w" COMMAND "{command}")\n'


def configured(folder: Path, suites: str) -> list[str]:
    """A project of these suites, with hangs of a second; the command that runs them."""
    text = "cmake_minimum_required(VERSION 3.25)\nproject(x NONE)\nenable_testing()\n"
    text += f"include({TOP}/tests/suite.cmake)\nset(least_hang 1)\n{suites}"
    (folder / "CMakeLists.txt").write_text(text)
    command = ["cmake", "-S", str(folder), "-B", str(folder / "build")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return [str(GATE), "--all", "--build", str(folder / "build")]


def run(folder: Path, suites: str, *args: str) -> subprocess.CompletedProcess[str]:
    command = [*configured(folder, suites), *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False)


def word(done: subprocess.CompletedProcess[str], name: str) -> str:
    (found,) = re.findall(rf"^{name} +(\w+|not run) +all +[\d.]+ s ", done.stdout, re.MULTILINE)
    return str(found)


def ended(pid: Path) -> bool:
    """Or it had no time to begin."""
    if not pid.exists():
        return True
    state = Path(f"/proc/{pid.read_text().strip()}/stat")
    return not state.exists() or " Z " in state.read_text()


def test_passes_if_all_pass(tmp_path: Path) -> None:
    done = run(
        tmp_path, suite("one", "echo fine") + suite("two", f"test $BUILD = {tmp_path}/build")
    )
    assert (done.returncode, word(done, "one"), word(done, "two")) == (0, "passed", "passed")
    assert done.stdout.splitlines()[-1] == "2 passed, 0 failed"


def test_a_failure_shows_its_output_and_repeats_its_reason_last(tmp_path: Path) -> None:
    done = run(tmp_path, suite("good", "true") + suite("bad", "echo the reason && exit 7"))
    assert (done.returncode, word(done, "bad")) == (1, "FAILED")
    assert done.stdout.count("the reason") == 2
    assert done.stdout.splitlines()[-3] == "bad: the reason"
    assert done.stdout.splitlines()[-1] == "1 passed, 1 failed"


def test_a_slow_suite_is_reported_and_passes(tmp_path: Path) -> None:
    done = run(tmp_path, suite("late", "sleep 1.2", seconds=1) + suite("prompt", "true"))
    assert (done.returncode, word(done, "late"), word(done, "prompt")) == (0, "slow", "passed")
    assert re.search(r"^late: slow; \d+ of 1 s$", done.stdout, re.MULTILINE)


def test_a_hang_fails_and_ends_with_its_children(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    done = run(tmp_path, suite("stuck", f"sleep 1000 & echo $! > {pid} && wait", seconds=0))
    assert (done.returncode, word(done, "stuck")) == (1, "hang")
    assert ended(pid)


def test_a_run_ends_in_time_and_reports_what_it_did_not_run(tmp_path: Path) -> None:
    """CI would end it otherwise, and its table would be lost."""
    pid = tmp_path / "pid"
    suites = suite("cut", f"echo $$ > {pid} && sleep 1000", seconds=900, flags="QUICK ALONE")
    done = run(tmp_path, suites + suite("never", "true", flags="QUICK ALONE"), "--end-after", "2")
    assert (done.returncode, word(done, "cut"), word(done, "never")) == (1, "not run", "not run")
    assert done.stdout.splitlines()[-1] == "0 passed, 0 failed, 2 not run"
    assert ended(pid)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_everything(tmp_path: Path, number: signal.Signals) -> None:
    pid = tmp_path / "pid"
    suites = suite("long", f"sleep 1000 & echo $! > {pid}.new && mv {pid}.new {pid} && wait")
    gate = subprocess.Popen(configured(tmp_path, suites), stdout=subprocess.DEVNULL)
    until(pid.exists)
    gate.send_signal(number)
    assert gate.wait(HANG_S) == 128 + number
    until(lambda: ended(pid))


def skipped(done: subprocess.CompletedProcess[str]) -> list[str]:
    lines = done.stdout.splitlines()
    start = lines.index("skipped:") + 1
    return lines[start : lines.index("", start)]


def test_a_skip_is_listed_with_its_reason(tmp_path: Path) -> None:
    test = tmp_path / "test_x.py"
    test.write_text("import pytest\n@pytest.mark.skip(reason='no such CPU')\ndef test_x(): pass\n")
    source, program = tmp_path / "x.cpp", tmp_path / "x"
    skip = 'TEST(X, {}) {{ GTEST_SKIP() << "no CPU of that kind"; }}\n'
    source.write_text("#include <gtest/gtest.h>\n" + skip.format("A") + skip.format("B"))
    subprocess.run(["g++", "-o", program, source, "-lgtest", "-lgtest_main"], check=True)
    suites = suite("python", f"pytest -p no:cacheprovider {test}") + suite("cpp", str(program))
    done = run(tmp_path, suites)
    assert done.returncode == 0
    assert skipped(done) == [
        "python: skipped 1: no such CPU",
        "cpp: skipped 2: no CPU of that kind",
    ]


def test_suites_that_are_not_chosen_are_listed(tmp_path: Path) -> None:
    suites = suite("one", "true") + suite("hours", "true", flags="LONG")
    done = run(tmp_path, suites)
    assert skipped(done) == ["not chosen, long; --long runs all: hours"]
    assert skipped(run(tmp_path, suites, "--only", "one")) == ["nothing"]


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Any:
    loader = importlib.machinery.SourceFileLoader("gate", str(GATE))
    spec = importlib.util.spec_from_loader("gate", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(__import__("sys").modules, "gate", module)
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("text", "seconds"), [("0\n0m1.500s 0m0.250s\n2m0.000s 0m0.250s\n", 122.0), ("1\n", 0)]
)
def test_cpu_time_is_that_of_bash_and_its_children(gate: Any, text: str, seconds: float) -> None:
    assert gate.cpu_seconds(text) == seconds


def chosen(
    gate: Any,
    suites: list[Any],
    changed: list[str] | None,
    *args: str,
    part: float = 0,
    commit: str = "c0ffee",
) -> dict[str, list[int]]:
    gate.changed = lambda: changed
    gate.git = lambda *_: commit
    options = argparse.Namespace(only=None, minutes=8, slice=part)
    options.all, options.long = "all" in args, "long" in args
    return {suite.name: parts for suite, parts in gate.chosen(suites, options).parts.items()}


def names(gate: Any, changed: list[str] | None, *args: str) -> list[str]:
    suites = [
        gate.Suite(name="quick", what="w", seconds=1, quick=True),
        gate.Suite(name="lib", what="w", seconds=1, paths=("lib", "include")),
        gate.Suite(name="years", what="w", seconds=1, long=True),
    ]
    return [*chosen(gate, suites, changed, *args)]


def many(gate: Any) -> list[Any]:
    """An hour of suites for lib, and two long ones."""
    short = [
        gate.Suite(name=f"s{n}", what="w", seconds=240, parts=4, paths=("lib",)) for n in range(30)
    ]
    long = [gate.Suite(name="heavy", what="w", seconds=3600, parts=12, long=True)]
    return [*short, *long, gate.Suite(name="whole", what="w", seconds=3600, long=True)]


def seconds(gate: Any, suites: list[Any], parts: dict[str, list[int]]) -> float:
    return float(sum(one.seconds_of(len(parts.get(one.name, []))) for one in suites))


def test_what_a_change_touches_fits_in_the_time(gate: Any) -> None:
    suites = many(gate)
    found = chosen(gate, suites, ["lib/park.c"])
    assert 7 * 60 < seconds(gate, suites, found) <= 8 * 60
    assert not {"heavy", "whole"} & found.keys()
    assert all(sorted(set(parts)) == parts for parts in found.values())


def test_another_commit_runs_others_and_in_time_all_run(gate: Any) -> None:
    suites = many(gate)
    ran: set[tuple[str, int]] = set()
    for commit in range(300):
        found = chosen(gate, suites, ["lib/park.c"], part=5, commit=str(commit))
        assert seconds(gate, suites, found) <= (8 + 5) * 60
        ran |= {(name, part) for name, parts in found.items() for part in parts}
    known = {(one.name, part) for one in suites for part in range(one.parts)}
    assert known - ran == {("whole", 0)}  # it does not fit into five minutes


def test_a_slice_is_of_all_that_does_not_run_anyway(gate: Any) -> None:
    suites = many(gate)
    ran = chosen(gate, suites, ["docs/run.md"], part=5)
    assert ran
    assert 4 * 60 < seconds(gate, suites, ran) <= 5 * 60


def test_a_suite_that_runs_alone_takes_the_time_of_two(gate: Any) -> None:
    one = gate.Suite(name="s", what="w", seconds=60, alone=True)
    assert (one.seconds_of(1), gate.AT_ONCE) == (60, 2)


def test_only_the_chosen_parts_run_and_this_is_said(
    gate: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 20 tests the first and third of four parts, by a plain command and by pytest."""
    (tmp_path / "tests").mkdir()
    for name in ("conftest.py", "parts.py", "command.py", "processes.py"):
        (tmp_path / "tests" / name).write_text((TOP / "tests" / name).read_text())
    test = tmp_path / "tests/test_x.py"
    test.write_text("import pytest\n@pytest.mark.parametrize('n', range(20))\n")
    with test.open("a") as file:
        file.write(f"def test_x(n): open({str(tmp_path / 'ran')!r}, 'a').write(f'{{n}} ')\n")
    command = (
        f"echo \\$OVERLOCK_PARTS && cd {tmp_path} && PYTHONPATH=. pytest -p no:cacheprovider tests"
    )
    suites = suite("s", command, flags="PARTS 4")
    configured(tmp_path, suites)
    build = tmp_path / "build"
    (loaded,) = gate.load(build)
    (build / "suites").mkdir()
    gate.divide(build, gate.Chosen("", {loaded: [0, 2]}))
    gate.run(gate.ctest(build, [loaded], None))
    assert [int(n) % 4 for n in (tmp_path / "ran").read_text().split()] == [0, 2] * 5
    (case,) = gate.cases(build / gate.JUNIT, "testcase")
    done = gate.outcome(loaded, 2, case, build / "suites/s.end", late=False)
    assert (done.word, done.output.split("\n")[0]) == ("passed", "0 2")
    left = gate.left_out([loaded], gate.Chosen("", {loaded: [0, 2]}))
    assert [*left] == ["run in part, for more does not fit in the time; --only NAME runs all: s"]
    capsys.readouterr()
    assert gate.report([done], 0, 1, []) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 0 failed; 1 of them only in part"


def test_the_change_selects_the_longer_suites(gate: Any) -> None:
    assert names(gate, ["docs/run.md", "library.md"]) == ["quick"]
    assert names(gate, ["docs/run.md", "lib/park.c"]) == ["quick", "lib"]
    assert names(gate, ["include/overlock/lock/tas.h"]) == ["quick", "lib"]
    assert names(gate, ["tests/suites.cmake"]) == ["quick", "lib"]


def test_no_change_or_an_unknown_one_selects_the_quick_suites(gate: Any) -> None:
    assert names(gate, None) == ["quick"]
    assert names(gate, []) == ["quick"]


def test_all_are_those_but_the_long_ones(gate: Any) -> None:
    assert names(gate, ["docs/run.md"], "all") == ["quick", "lib"]
    assert names(gate, ["docs/run.md"], "long") == ["quick", "lib", "years"]


def test_the_change_is_what_differs_from_the_base(
    gate: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=x", "-c", "user.email=x@x")
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)

    monkeypatch.delenv("OVERLOCK_BASE", raising=False)
    gate.TOP = tmp_path
    assert gate.changed() is None  # no repository
    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "one")
    assert gate.changed() is None  # no origin
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert gate.changed() == []
    (tmp_path / "new").write_text("x")
    assert gate.changed() == ["new"]
    git("add", "new")
    git("commit", "-q", "-m", "two")
    assert gate.changed() == ["new"]
    monkeypatch.setenv("OVERLOCK_BASE", "HEAD~1")
    assert gate.changed() == ["new"]
    monkeypatch.setenv("OVERLOCK_BASE", "no-such-commit")
    assert gate.changed() is None


def test_needs_and_programs_come_before_the_suites(
    gate: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The union of what the suites need, once, and nothing where they need nothing."""
    calls = tmp_path / "calls"
    for name in ("tools/setup", "make"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name} "$@" >>{calls}\n')
        (tmp_path / name).chmod(0o755)
    gate.TOP = tmp_path
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    def one(needs: tuple[str, ...], build: tuple[str, ...]) -> object:
        return gate.Suite(name="s", what="w", seconds=1, needs=needs, build=build)

    gate.prepare(tmp_path / "b", [one((), ())])
    assert not calls.exists()
    gate.prepare(tmp_path / "b", [one(("clang",), ("all",)), one(("arm", "clang"), ("all", "x"))])
    setup, make = calls.read_text().splitlines()
    assert setup == "tools/setup test arm clang"
    assert make.endswith(f"native WITH_TESTS=ON BUILD={tmp_path}/b TARGETS=all x")


def test_every_group_that_a_suite_needs_exists() -> None:
    text = (TOP / "tests/suites.cmake").read_text()
    needs = set(" ".join(re.findall(r"^\tNEEDS (.*)", text, re.MULTILINE)).split())
    lines = (TOP / "tools/packages.txt").read_text().splitlines()
    assert needs <= {line.split("\t")[0] for line in lines}


def test_every_path_of_a_suite_exists() -> None:
    """A path that is misspelt, or has moved, would select its suite no more."""
    text = (TOP / "tests/suites.cmake").read_text()
    paths = " ".join(re.findall(r"^\tPATHS (.*)", text, re.MULTILINE)).split()
    assert len(paths) > 50
    assert [path for path in paths if not (TOP / path).exists()] == []
