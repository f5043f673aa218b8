# SPDX-License-Identifier: MIT
"""`overlock reproduce` as a user runs it."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from overlock_tools.lab.reproduce import answers, rows, run
from overlock_tools.lab.reproduce.answers import Answers, State
from overlock_tools.lab.reproduce.rigs import measured
from overlock_tools.lab.reproduce.run import FILE

COMMAND = [sys.executable, "-m", "overlock_tools", "reproduce"]
LIMIT_S = 120


def reproduce(*words: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [*COMMAND, *words, "-o", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)


def test_a_figure_is_answered_with_all_that_is_known_of_it(tmp_path: Path) -> None:
    done = reproduce("dice2019", "fifo", "--by", "proof", "--no-kept", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "holds: model checker" in " ".join(done.stdout.split())
    assert "none in all" in done.stdout
    assert "1 row, 1 decided (1 holds): 1 by a rig that meets" in done.stdout
    (one,) = answers.read(tmp_path / FILE)
    assert (one.row, one.rig, one.state) == ("dice2019-fifo", "proof", State.HOLDS)
    assert all(command.startswith("overlock-check ") for command in one.commands)


def test_what_is_decided_is_not_asked_again(tmp_path: Path) -> None:
    words = ("teabe2017", "fifo", "--by", "proof", "--no-kept")
    reproduce(*words, folder=tmp_path)
    again = reproduce(*words, folder=tmp_path)
    assert "0 questions" in again.stderr
    assert "1 decided" in again.stdout
    assert "1 question," in reproduce(*words, "--again", folder=tmp_path).stderr


def test_rounds_are_measured_until_they_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ticket lock whose waiters share CPUs loses by orders of magnitude: six rounds tell."""
    words = "bench sections --locks ticket,byte --threads {2x},{4x} --seconds 0.15"
    small = {"command": f"{words} --rounds {{rounds}} --json {{file}}", "round_s": 1.0}
    monkeypatch.setattr(measured, "measurements", lambda: {"overcommitted": small})
    chosen = run.Chosen(rows.chosen("rao2012-order", None), ["native"], None)
    plan = run.prepared(chosen, Answers(), {}, tmp_path)
    plan.all()
    (one,) = answers.read(tmp_path / FILE)
    assert one.state == State.HOLDS, one
    assert one.lacks
    assert all(found["count"] == 6 for found in one.found)
    assert "CPUs, Linux" in one.machine
    assert (plan.sources[0].took_s > 0) == ("measured overcommitted" in plan.answers.took_s)


def test_nothing_is_run_in_no_time(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = reproduce("long", "--minutes", "0", "--page", str(page), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / FILE).exists()
    assert "<title>" in page.read_text()


def test_others_are_shown_with_their_machine(tmp_path: Path) -> None:
    reproduce("dice2019", "hash", "--by", "computed", folder=tmp_path)
    body = json.loads((tmp_path / FILE).read_text())
    body["answers"][0] |= {"machine": "a machine of theirs", "state": "does not hold"}
    (tmp_path / "theirs.json").write_text(json.dumps(body))
    words = ("dice2019", "hash", "--minutes", "0", "--read", str(tmp_path / "theirs.json"))
    done = reproduce(*words, folder=tmp_path)
    assert "a machine of theirs" in " ".join(done.stdout.split())


def test_ctrl_c_keeps_what_is_done(tmp_path: Path) -> None:
    """Long's transactions take a minute to simulate; what is computed before is kept."""
    command = [*COMMAND, "long", "--by", "computed,simulated", "-o", str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as one:
        assert one.stderr
        until = time.monotonic() + LIMIT_S
        for line in one.stderr:
            if "simulated" in line or time.monotonic() > until:
                break
        one.send_signal(signal.SIGINT)
        said = one.stderr.read()
        assert one.wait(LIMIT_S) == 130
    assert "the same command goes on" in said
    kept = {answer.row: answer.state for answer in answers.read(tmp_path / FILE)}
    assert kept["long-steals-printed"] == State.HOLDS


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("ouyang",), "no such paper or row"),
        (("ouyang2013", "fig77"), "nothing of it"),
        (("--by", "dream"), "expected of proof"),
        (("--read", "/nowhere.json"), "does not exist"),
        (("--minutes", "0", "--page", "/nowhere/page.html"), "/nowhere"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    done = reproduce(*words, folder=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_answers_that_are_damaged_are_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"format": "overlock-reproduced", "version": 1, "answers": 7}')
    done = reproduce("dice2019", "hash", folder=tmp_path)
    assert done.returncode == 2
    assert FILE in done.stderr
    assert "Traceback" not in done.stderr
