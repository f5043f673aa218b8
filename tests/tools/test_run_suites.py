# SPDX-License-Identifier: MIT
"""The suite runner: its verdicts, and what it prints last."""

import re
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import TOP

RUNNER = [sys.executable, str(TOP / "tests/run_suites.py")]


def run(tmp_path: Path, suites: str, *args: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "suites.toml").write_text(suites)
    return subprocess.run(
        [*RUNNER, "--suites", str(tmp_path / "suites.toml"), "--build", str(tmp_path), *args],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def suite(name: str, command: str, budget: float = 30, more: str = "") -> str:
    fields = f'name = "{name}"\nwhat = "w"\ncommand = "{command}"\nbudget_s = {budget}'
    return f"[[suite]]\n{fields}\n{more}\n"


def ended(pid: Path) -> bool:
    state = Path(f"/proc/{pid.read_text().strip()}/stat")
    return not state.exists() or " Z " in state.read_text()


def test_passes_when_all_pass(tmp_path: Path) -> None:
    done = run(tmp_path, suite("one", "echo fine") + suite("two", "test $BUILD = " + str(tmp_path)))
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "2 passed, 0 failed"
    assert (tmp_path / "suites/one.log").read_text() == "fine\n"


def test_fails_when_one_fails_and_shows_its_end(tmp_path: Path) -> None:
    done = run(tmp_path, suite("good", "true") + suite("bad", "echo the reason; exit 7"))
    assert done.returncode == 1
    assert "    | the reason" in done.stdout
    assert done.stdout.splitlines()[-3] == "bad: the reason"
    assert done.stdout.splitlines()[-1] == "1 passed, 1 failed"


def test_over_budget_is_reported_and_passes(tmp_path: Path) -> None:
    done = run(tmp_path, suite("late", "sleep 1.2", 1) + suite("prompt", "true"))
    assert done.returncode == 0
    table, _, below = done.stdout.partition("\nall ")
    assert [line.split()[1] for line in table.splitlines() if line.startswith("late ")] == ["slow"]
    assert re.search(r"^late: slow, \d+\.\d s of a budget of 1 s$", below, re.MULTILINE)
    assert "prompt: slow" not in done.stdout
    assert done.stdout.splitlines()[-1] == "2 passed, 0 failed"


def test_a_suite_that_is_late_and_fails_has_failed(tmp_path: Path) -> None:
    done = run(tmp_path, suite("late", "sleep 1.2; echo the reason; exit 1", 1))
    assert done.returncode == 1
    assert "late: the reason" in done.stdout.splitlines()
    assert done.stdout.splitlines()[-1] == "0 passed, 1 failed"


def test_a_hang_is_ended_with_its_children(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    hang = suite("stuck", f"sleep 1000 & echo $! > {pid}; wait", 0.1)
    done = run(tmp_path, hang, "--hang-after", "1")
    assert done.returncode == 1
    assert re.search(r"^stuck +hang ", done.stdout, re.MULTILINE)
    assert done.stdout.splitlines()[-1] == "0 passed, 1 failed"
    assert ended(pid)


def test_a_hang_is_one_only_at_ten_budgets(tmp_path: Path) -> None:
    """However short the least time is."""
    done = run(tmp_path, suite("late", "sleep 1.5", 0.5), "--hang-after", "0.1")
    assert done.returncode == 0, done.stdout


def test_the_preset_limits_are_generous() -> None:
    namespace = runpy.run_path(RUNNER[1])
    short = namespace["Suite"]("x", "w", "true", 40)
    long = namespace["Suite"]("x", "w", "true", 100)
    assert namespace["hang_limit"](short, namespace["HANG_AFTER_S"]) == 900
    assert namespace["hang_limit"](long, namespace["HANG_AFTER_S"]) == 1000


def test_a_run_ends_in_time_and_says_what_it_did_not_run(tmp_path: Path) -> None:
    """CI would else end it, and nobody would see the table."""
    pid = tmp_path / "pid"
    suites = suite("first", "true") + suite("cut", f"echo $$ > {pid}; sleep 1000", 900)
    done = run(tmp_path, suites + suite("never", "true"), "--end-after", "1")
    assert done.returncode == 1  # what has not run has not passed
    assert re.search(r"^cut +not run ", done.stdout, re.MULTILINE)
    assert re.search(r"^never +not run ", done.stdout, re.MULTILINE)
    assert re.search(r"^all +not run ", done.stdout, re.MULTILINE)
    assert "never: not run, because the time limit of all suites is 1 s" in done.stdout.splitlines()
    assert done.stdout.splitlines()[-1] == "1 passed, 0 failed, 2 skipped"
    assert ended(pid)


def test_a_hang_at_the_end_of_a_run_is_one(tmp_path: Path) -> None:
    """A suite that has had its budget by then is not excused by the others' time."""
    done = run(tmp_path, suite("stuck", "sleep 1000", 0.2), "--end-after", "1")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "0 passed, 1 failed"


def test_long_suites_are_not_held_to_the_time_of_a_run(tmp_path: Path) -> None:
    more = "long = true"
    done = run(tmp_path, suite("x", "sleep 1", more=more), "--long", "--end-after", "0.3")
    assert done.stdout.splitlines()[-1] == "1 passed, 0 failed"


def test_those_that_share_run_two_at_a_time_and_first(tmp_path: Path) -> None:
    meet = "touch {}; until [ -e {} ]; do sleep 0.02; done"
    a, b = tmp_path / "a", tmp_path / "b"
    done = run(
        tmp_path,
        suite("alone", f"rm {a} {b}")
        + suite("one", meet.format(a, b), more="shares = true")
        + suite("two", meet.format(b, a), more="shares = true"),
    )
    assert done.stdout.splitlines()[-1] == "3 passed, 0 failed"


@pytest.mark.parametrize("more", ["", "shares = true"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stopped_it_ends_the_suite_too(tmp_path: Path, number: int, more: str) -> None:
    pid = tmp_path / "pid"
    (tmp_path / "suites.toml").write_text(
        suite("long", f"echo $$ > {pid}.new; mv {pid}.new {pid}; sleep 99", more=more)
        + suite("other", "sleep 99", more=more)
    )
    command = [*RUNNER, "--suites", str(tmp_path / "suites.toml"), "--build", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as runner:
        while not pid.exists():
            time.sleep(0.02)
        runner.send_signal(number)
        assert runner.wait(20) == 128 + number
    assert ended(pid)


def test_no_suite_is_not_a_pass(tmp_path: Path) -> None:
    assert run(tmp_path, suite("x", "true", 1, "long = true")).returncode == 1


def test_long_suites_run_only_when_asked(tmp_path: Path) -> None:
    suites = suite("short", "true") + suite("long", "true", 9999, "long = true")
    assert run(tmp_path, suites).stdout.endswith("\n1 passed, 0 failed\n")
    assert run(tmp_path, suites, "--long").stdout.endswith("\n2 passed, 0 failed\n")


def test_only(tmp_path: Path) -> None:
    suites = suite("a", "true") + suite("b", "false")
    assert run(tmp_path, suites, "--only", "a").returncode == 0
    done = run(tmp_path, suites, "--only", "c")
    assert done.returncode == 1
    assert done.stderr == "unknown suite c; expected one of a, b\n"


@pytest.mark.parametrize(
    ("suites", "allowed"),
    [
        (suite("a", "true", 4499) + suite("b", "true", 2), "4501 s"),
        (suite("a", "true", 4500) + suite("b", "true", 2, "shares = true"), "4501 s"),
        (suite("a", "true", 4500), ""),
    ],
)
def test_budgets_that_are_too_long_are_reported(tmp_path: Path, suites: str, allowed: str) -> None:
    done = run(tmp_path, suites)
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stdout.splitlines() if "the budgets allow" in line]
    assert told == (
        [f"the budgets allow {allowed}, more than 4500 s; lower some"] if allowed else []
    )


def test_two_suites_of_one_name_are_refused(tmp_path: Path) -> None:
    done = run(tmp_path, suite("a", "true") + suite("a", "true"))
    assert done.returncode == 1
    assert "more than one suite is named a" in done.stderr


def test_the_list_of_this_project_is_good() -> None:
    listed = subprocess.run(
        [*RUNNER, "--list", "--long"], capture_output=True, text=True, check=True
    )
    assert "tools" in listed.stdout
