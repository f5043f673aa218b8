# SPDX-License-Identifier: MIT
"""`overlock chaos`: planted bugs are found and their site is named, healthy programs pass."""

import json
import signal
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.chaos.conftest import HERE, Build, Chaos, clean, report_of
from tests.command import COMMAND
from tests.processes import HANG_S, gone, until

# A thread sleeps each time where the bug is, for ten times as long as the other one needs: it fails
# in each of ten rounds, of which one is enough.
SURE = ["--runs", "1", "--rate", "1", "--length", "100ms", "--json", "found.json"]


class Planted(NamedTuple):
    name: str
    kind: str
    function: str
    how: str


FOUND = [
    Planted("abba", "holder", "transfer", "time-out"),
    Planted("check_then_act", "after-unlock", "read_balance", "signal 6 (SIGABRT)"),
    Planted("double_checked", "after-unlock", "note", "signal 6 (SIGABRT)"),
    Planted("early_post", "after-signal", "main", "signal 6 (SIGABRT)"),
    Planted("late_argument", "created", "begin", "signal 11 (SIGSEGV)"),
    Planted("lost_wakeup", "waiter", "wait_for", "time-out"),
    Planted("short_timeout", "after-unlock", "serve", "exit code 1"),
    Planted("unlocked_signal", "before-wait", "main", "time-out"),
    Planted("upgraded_rwlock", "after-unlock", "insert", "signal 6 (SIGABRT)"),
    Planted("use_after_free", "after-unlock", "work", "signal 6 (SIGABRT)"),
]
# Its limit is of 60 ms, which a busy machine may exceed without our help.
TIMED = {"starvation"}
HEALTHY = sorted({path.stem for path in HERE.glob("programs/*.c")} - TIMED)
TIMEOUT_S = "2"


@pytest.mark.parametrize("planted", FOUND, ids=[one.name for one in FOUND])
def test_a_planted_bug_is_found(
    planted: Planted, build: Build, chaos: Chaos, tmp_path: Path
) -> None:
    where = ["--at", planted.kind, "--sites", planted.function]
    limit = ["--timeout", TIMEOUT_S if planted.how == "time-out" else str(HANG_S)]
    done = chaos(*SURE, *limit, *where, "--", build(f"programs/{planted.name}"))
    assert done.returncode == 1, done.stdout + done.stderr
    found = report_of(tmp_path / "found.json")
    assert [one["how"] for one in found["failures"]] == [planted.how]
    slept = {(row["kind"], row["function"]) for row in found["sites"] if row["naps"]}
    assert slept == {(planted.kind, planted.function)}


@pytest.mark.parametrize("name", HEALTHY)
def test_the_same_without_the_bug_is_not_reported(name: str, build: Build, chaos: Chaos) -> None:
    program = build(f"programs/{name}", "-DFIXED")
    done = chaos("--runs", "2", "--rate", "0.2", "--length", "1ms", "--timeout", "300", program)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 of 2" in done.stdout


def test_where_threads_hang_is_told(build: Build, chaos: Chaos) -> None:
    done = chaos(*SURE, "--timeout", TIMEOUT_S, "--at", "holder", build("programs/abba"))
    assert "× a thread waited for a lock in transfer (abba.c:" in done.stdout


def test_the_site_is_found(build: Build, chaos: Chaos, tmp_path: Path) -> None:
    """Of the two sites one matters, and the program fails again with that alone."""
    where = ["--at", "after-unlock,start", "--sites", "note", "--sites", "begin"]
    words = [*SURE, "--timeout", str(HANG_S), *where, "--bisect"]
    done = chaos(*words, build("programs/double_checked"))
    assert done.returncode == 1
    found = report_of(tmp_path / "found.json")["bisection"]
    assert found["all_sites"] == 2
    (site,) = found["sites"]
    assert (site["kind"], site["function"]) == ("after-unlock", "note")
    assert found["alone"][0] >= 9
    assert found["replay"] in done.stdout
    words = found["replay"].split()
    assert words[:2] == ["overlock", "chaos"]
    assert chaos("--runs", "1", *words[2:]).returncode == 1


def test_children_of_a_test_runner(build: Build, chaos: Chaos, tmp_path: Path) -> None:
    program = build("programs/double_checked")
    words = [*SURE, "--at", "after-unlock", "--sites", "note", "--", "sh", "-c"]
    done = chaos(*words, f"{program} || exit 7")
    assert done.returncode == 1
    found = report_of(tmp_path / "found.json")
    assert [one["how"] for one in found["failures"]] == ["exit code 7"]
    assert "invariant violated: a configuration is complete" in found["runs"][0]["output"]


def in_chaos(*lines: str) -> list[str]:
    """A shell's work, but only under chaos: the run before it has no seed."""
    return ["--", "sh", "-c", "\n".join(["test $OVERLOCK_CHAOS_SEED || exit 0", *lines])]


def test_failures_that_are_alike_are_one(chaos: Chaos, tmp_path: Path) -> None:
    lines = ["test $OVERLOCK_CHAOS_SEED -lt 4 && exit 0", "echo process $$ failed", "exit 3"]
    done = chaos("--runs", "6", "--json", "found.json", *in_chaos(*lines))
    assert done.returncode == 1
    (one,) = report_of(tmp_path / "found.json")["failures"]
    assert (one["how"], one["seeds"]) == ("exit code 3", [4, 5, 6])
    assert "3 of 6 (12% – 88%) runs failed" in done.stdout
    assert "No thread ever lost its CPU" in done.stdout
    again = chaos("--report", "found.json")
    assert (again.stdout, again.returncode) == (done.stdout, 1)


def test_a_signal_is_named(chaos: Chaos) -> None:
    done = chaos("--runs", "2", "--stop", *in_chaos("kill -SEGV $$"))
    assert "1 run: signal 11 (SIGSEGV); seed 1" in done.stdout


def test_a_run_that_takes_too_long_is_killed(chaos: Chaos, tmp_path: Path) -> None:
    """With what it has started."""
    lines = in_chaos("sleep 1000 &", "echo $! >pid", "wait")
    done = chaos("--runs", "1", "--timeout", "1", *lines)
    assert "1 run: time-out" in done.stdout
    until(lambda: gone(int((tmp_path / "pid").read_text())))


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_was_found(sent: signal.Signals, tmp_path: Path) -> None:
    lines = in_chaos("echo $$ >>pids", "test $OVERLOCK_CHAOS_SEED -lt 3 || sleep 1000")
    command = [*COMMAND, "chaos", "--json", "found.json", "--timeout", "900", *lines]
    with subprocess.Popen(
        command, cwd=tmp_path, env=clean(), stdout=subprocess.PIPE, text=True
    ) as child:
        pids = tmp_path / "pids"
        until(lambda: pids.exists() and len(pids.read_text().split()) == 3)
        child.send_signal(sent)
        said, _ = child.communicate(timeout=HANG_S)
    assert child.returncode == 130
    assert "interrupted" in said
    found = report_of(tmp_path / "found.json")
    assert found["interrupted"]
    assert len(found["runs"]) == 2
    until(lambda: gone(int(pids.read_text().split()[2])))


ERRORS = [
    ((), 2, "there is no program to run; see `overlock chaos --help`"),
    (("--length", "fast", "true"), 2, "--length fast: expected a time up to 60s, or two, as in"),
    (("--length", "2ms..1ms", "true"), 2, "--length 2ms..1ms: expected a time"),
    (("--at", "hodler", "true"), 2, "unknown kind of site 'hodler'; did you mean holder?"),
    (("--only", "main", "true"), 2, "--only main: expected OBJECT+0xOFFSET:KIND, as --bisect"),
    (("--rate", "2", "true"), 2, "Invalid value for '--rate'"),
    (("--report", "found.json"), 2, "found.json is not a file of `overlock chaos --json`"),
    (("--", "sh", "-c", "echo broken; exit 4"), 1, "sh fails without chaos, exit code 4: broken;"),
    (("--", "./nothing"), 127, "nothing"),
    (("--json", "no/found.json", "true"), 2, "the folder no does not exist; create it first"),
]


@pytest.mark.parametrize(("words", "code", "said"), ERRORS, ids=[said[:30] for *_, said in ERRORS])
def test_errors_are_one_line(
    words: tuple[str, ...], code: int, said: str, chaos: Chaos, tmp_path: Path
) -> None:
    (tmp_path / "found.json").write_text(json.dumps({"version": 1}))
    done = chaos(*words)
    assert done.returncode == code
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
