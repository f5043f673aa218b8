# SPDX-License-Identifier: MIT
"""The suite runner: what it calls failed, and what it prints last."""

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


def test_over_budget_fails(tmp_path: Path) -> None:
    done = run(tmp_path, suite("slow", "sleep 2.3", 2))
    assert done.returncode == 1
    assert "OVER BUDGET" in done.stdout


def test_a_hang_is_ended_with_its_children(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    done = run(tmp_path, suite("hang", f"sleep 1000 & echo $! > {pid}; wait", 0.3))
    assert done.returncode == 1
    assert "HUNG" in done.stdout
    state = Path(f"/proc/{pid.read_text().strip()}/stat")
    assert not state.exists() or " Z " in state.read_text()


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
    state = Path(f"/proc/{pid.read_text().strip()}/stat")
    assert not state.exists() or " Z " in state.read_text()


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
    assert done.stderr == "there is no suite c; there are a, b\n"


@pytest.mark.parametrize(
    ("suites", "message"),
    [
        (suite("a", "true", 4499) + suite("b", "true", 2), "more than 4500 s"),
        (suite("a", "true", 4500) + suite("b", "true", 2, "shares = true"), "4501 s, more than"),
        (suite("a", "true") + suite("a", "true"), "more than one suite is named a"),
    ],
)
def test_bad_lists_are_refused(tmp_path: Path, suites: str, message: str) -> None:
    done = run(tmp_path, suites)
    assert done.returncode == 1
    assert message in done.stderr


def test_the_list_of_this_project_is_good() -> None:
    listed = subprocess.run(
        [*RUNNER, "--list", "--long"], capture_output=True, text=True, check=True
    )
    assert "tools" in listed.stdout
