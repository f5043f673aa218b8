# SPDX-License-Identifier: MIT
"""overlock check over a checker that follows a script: jobs, words, exit codes, Ctrl-C, cache."""

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.check.command.conftest import COMMAND, ONE, Fake
from tests.check.command.story import HOW, STEPS, failure
from tests.command import schema
from tests.processes import HANG_S, until

SCHEMA = schema("check")
TIME_UP = {"result": {"exhausted": False, "ended": "time"}}


def valid(document: dict[str, Any]) -> dict[str, Any]:
    Draft202012Validator(SCHEMA).validate(document)
    return document


def test_a_lock_that_holds(fake: Fake) -> None:
    done = fake("ticket", *ONE)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^ticket +lock +sc +2x2 +1,234 +250 ms .*ted: holds$", done.stdout, re.M)
    assert "\n1 of 1 checks exhausted: hold\n" in done.stdout


def test_the_checker_gets_what_was_asked_for(fake: Fake) -> None:
    options = "--contexts 3 --acquisitions 1 --model tso --scenario free --budget stop=1"
    options += " --budget expiry=2 --clock 3 --search pct --seed 7 --seconds 5 --executions 99"
    assert fake("preemptable_ticket@tau=inf", *options.split()).returncode == 0
    [call] = fake.calls()
    assert call.split() == [
        "--lock=preemptable_ticket",
        "--contexts=3",
        "--acquisitions=1",
        "--model=tso",
        "--scenario=free",
        "--budget=stop=1",
        "--budget=expiry=2",
        "--tune=tau=inf",
        "--clock=3",
        "--search=pct",
        "--seed=7",
        "--executions=99",
        "--seconds=5",
    ]


def test_locks_scenarios_models_and_sizes_are_multiplied(fake: Fake) -> None:
    sizes = ("--size", "2x2", "--size", "3x1")
    done = fake("all", "--model", "all", "--scenario", "lock", "--scenario", "try", *sizes)
    assert done.returncode == 0
    assert len(set(fake.calls())) == 4 * 3 * 2 * 2
    assert "\n48 of 48 checks exhausted: hold\n" in done.stdout


def test_no_limit_is_no_limit(fake: Fake) -> None:
    fake("ticket", "--seconds", "0", *ONE)
    assert "--seconds" not in fake.calls()[0]


def test_exhausted_is_never_said_of_what_was_not(fake: Fake) -> None:
    fake.says({"if": ["--lock=mcs"], **TIME_UP})
    done = fake("ticket", "mcs", *ONE)
    assert done.returncode == 3
    [row] = [line for line in done.stdout.splitlines() if line.startswith("mcs")]
    assert row.endswith("not exhausted (time limit reached): no failure found so far")
    assert "\n1 of 2 checks exhausted: hold; 1 not exhausted\n" in done.stdout


@pytest.mark.parametrize("ended", ["time", "executions", "exhausted", "interrupted", "bored"])
def test_nor_of_any_other_end(fake: Fake, ended: str) -> None:
    fake.says({"result": {"exhausted": False, "ended": ended}})
    done = fake("ticket", *ONE)
    assert done.returncode == 3
    assert "not exhausted (" in done.stdout
    assert "exhausted: holds" not in done.stdout
    [result] = valid(fake.json("ticket", *ONE))["results"]
    assert (result["verdict"], result["exhausted"]) == ("open", False)


def test_a_failure_is_told_and_can_be_replayed(fake: Fake) -> None:
    fake.says({"if": ["--lock=pv_ticket"], "failure": failure()})
    done = fake("ticket", "pv_ticket", "--model", "tso", "--budget", "stop=1", "--clock", "3")
    assert done.returncode == 1
    assert "pv_ticket, scenario lock, tso, 2x2, stop=1, clock=3: FAILS: " in done.stdout
    assert "FAILS: use after release" in done.stdout
    assert HOW in done.stdout
    assert re.search(r"^✗ +28 . FAILS.* 142  if \(OL_UNLIKELY", done.stdout, re.M)
    fake.calls()
    command = next(line for line in done.stdout.splitlines() if line.startswith("  overlock check"))
    words = subprocess.run(
        ["bash", "-c", f"overlock() {{ printf '%s\\n' \"$@\"; }}; {command}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    replayed = fake(*words[1:])
    assert replayed.returncode == 1
    assert fake.calls()[-1].split() == [
        *("--lock=pv_ticket", "--contexts=2", "--acquisitions=2", "--model=tso"),
        *("--scenario=lock", "--budget=stop=1", "--clock=3", "--search=dpor"),
        *("--replay=1*2.2*13:1.1.2*5.1", "--trace"),
    ]
    assert "FAILS: use after release" in replayed.stdout


def test_a_failure_without_steps_is_run_again_for_them(fake: Fake) -> None:
    fake.says({"if": ["--trace"], "failure": failure()}, {"failure": failure(told=False)})
    done = fake("pv_ticket", *ONE)
    assert len(fake.calls()) == 2
    assert "✗  28" in done.stdout


def test_more_failures_than_one_reads_are_named_only(fake: Fake) -> None:
    fake.says({"failure": failure()})
    done = fake("pv_ticket", "--scenario", "all", "--model", "all")
    assert done.stdout.count("✗  28") == 3
    assert done.stdout.count("overlock check --replay") == 9
    assert "\n9 FAIL\n" in done.stdout


def test_scenarios_that_do_not_apply(fake: Fake) -> None:
    """Of all they are passed over; one that was asked for by name is bad usage."""
    fake.says({"if": ["--scenario=try"], "status": 2, "stderr": "overlock-check: mcs: no trylock"})
    assert fake("mcs", "--scenario", "all").returncode == 0
    done = fake("mcs", "--scenario", "try")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "overlock: mcs: no trylock\n")
    done = fake("mcs", "--scenario", "try", "--scenario", "lock")
    assert done.returncode == 2
    assert "does not apply: mcs: no trylock" in done.stdout


def test_scenarios_that_are_known_not_to_apply_are_not_tried(fake: Fake) -> None:
    fake("ticket", "preemptable_ticket", "--scenario", "all")
    timed = [call.split()[0] for call in fake.calls() if "--scenario=timed" in call]
    assert timed == ["--lock=preemptable_ticket"]


def test_what_becomes_of_the_others(fake: Fake) -> None:
    """Where a holder never comes back, holding is not all there is to say."""
    fake.says(
        {"if": ["--lock=ticket"], "result": {"notes": {"went_on": 0, "stuck": 3, "spin": 3}}},
        {"if": ["--lock=mcs"], "result": {"notes": {"went_on": 3, "stuck": 0}}},
        {"result": {"notes": {"went_on": 3, "stuck": 1, "spin": 1, "parked": 1}}},
    )
    said = fake("all").stdout
    assert re.search(r"^ticket .* holds; the other contexts spin for ever$", said, re.M)
    assert re.search(r"^mcs .* holds; the other contexts continue$", said, re.M)
    assert re.search(r"^pv_t.* holds; the other contexts may spin or sleep for ever$", said, re.M)


def test_a_checker_that_dies_is_no_verdict(fake: Fake) -> None:
    fake.says({"if": ["--lock=mcs"], "status": 77})
    done = fake("mcs", "ticket", *ONE)
    assert done.returncode == 3
    assert "no answer: overlock-check ended with status 77 without a result" in done.stdout
    assert "1 of 2 checks exhausted: hold; 1 not exhausted" in done.stdout
    valid(fake.json("mcs", "ticket", *ONE))


def test_nonsense_is_no_verdict(fake: Fake) -> None:
    fake.says({"garbage": "Segmentation fault\n"})
    done = fake("ticket", *ONE)
    assert done.returncode == 3
    assert "no answer: overlock-check said 'Segmentation fault'" in done.stdout


def test_json(fake: Fake) -> None:
    fake.says({"if": ["--lock=pv_ticket"], "failure": failure()}, {"if": ["--lock=mcs"], **TIME_UP})
    document = valid(fake.json("all"))
    assert document["complete"]
    verdicts = {r["lock"]: r["verdict"] for r in document["results"]}
    assert verdicts == {
        "ticket": "holds",
        "pv_ticket": "fails",
        "preemptable_ticket": "holds",
        "mcs": "open",
    }
    [failed] = [r for r in document["results"] if r["failure"]]
    assert len(failed["failure"]["events"]) == len(STEPS)
    assert failed["failure"]["command"].startswith("overlock check --replay 'pv_ticket@1*2.")


def test_the_schema_knows_a_lie() -> None:
    """What claims to hold without having been exhausted is not valid."""
    result: dict[str, Any] = {
        "lock": "l",
        "header": None,
        "tune": {},
        "scenario": "lock",
        "model": "sc",
        "contexts": 2,
        "acquisitions": 2,
        "budgets": {},
        "clock": None,
        "search": "dpor",
        "weakened": None,
        "verdict": "holds",
        "words": "w",
        "exhausted": True,
        "ended": "exhausted",
        "error": None,
        "cached": False,
        "executions": 1,
        "redundant": 0,
        "steps": 1,
        "seconds": 0.1,
        "notes": {},
        "failure": None,
    }
    whole = {"format": "overlock-check", "version": 1, "command": "", "complete": True}
    validator = Draft202012Validator(SCHEMA)
    assert validator.is_valid({**whole, "results": [result], "weakened": []})
    lie = {**result, "exhausted": False}
    assert not validator.is_valid({**whole, "results": [lie], "weakened": []})
    lie = {**result, "verdict": "fails"}
    assert not validator.is_valid({**whole, "results": [lie], "weakened": []})


USAGE = [
    ((), r"no lock to check; give a lock, a header such as ./mine.h, or all"),
    (("tiket",), r"unknown lock 'tiket'; did you mean ticket\? `overlock check --list` lists them"),
    (("ticket@tua=1",), r"unknown tunable 'tua'; did you mean tau\?"),
    (("ticket@tau",), r"expected NAME=VALUE"),
    (("ticket", "--model", "tos"), r"unknown model 'tos'; did you mean tso\?"),
    (("ticket", "--scenario", "fre"), r"unknown scenario 'fre'; did you mean free\?"),
    (("ticket", "--budget", "stp=1"), r"unknown budget 'stp'; did you mean stop\?"),
    (("ticket", "--budget", "stop"), r"--budget stop: expected KIND=N"),
    (("ticket", "--budget", "stop=-1"), r"expected KIND=N"),
    (("ticket", "--size", "2"), r"--size 2: expected CONTEXTSxACQUISITIONS, as in 2x2"),
    (("ticket", "--size", "0x2"), r"from 1 to 64 contexts"),
    (("ticket", "--contexts", "65"), r"from 1 to 64 contexts"),
    (("ticket", "--acquisitions", "0"), r"expected 1 to 1000 acquisitions per context"),
    (("ticket", "--seconds", "nan"), r"--seconds"),
    (("ticket", "--clock", "101"), r"--clock"),
    (("ticket", "--search", "luck"), r"--search"),
    (("ticket", "--json", "nowhere/x.json"), r"the folder nowhere does not exist"),
    (("ticket", "--trace", "nowhere/x.json"), r"the folder nowhere does not exist"),
    (("./mine.h",), r"mine.h does not exist"),
    (("--replay", "ticket"), r"expected LOCK@SCHEDULE"),
    (("--replay", "ticket@tau=3"), r"expected LOCK@SCHEDULE"),
    (("--replay", "ticket@1*2", "--model", "all"), r"exactly one scenario, one model and one size"),
    (("mcs", "--replay", "ticket@1*2"), r"--replay already names a lock"),
    (("mcs", "--weaken", "ticket"), r"--weaken already names a lock"),
    (("--weaken", "ticket", "--replay", "ticket@1"), r"exclude each other"),
    (("--emit", "spin", "ticket"), r"--emit"),
]


@pytest.mark.parametrize(("args", "pattern"), USAGE, ids=lambda value: str(value)[-40:])
def test_bad_usage(fake: Fake, args: tuple[str, ...], pattern: str) -> None:
    done = fake(*args)
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.match(r"overlock: [^\n]+\n\Z", done.stderr), done.stderr
    assert re.search(pattern, done.stderr), done.stderr
    assert fake.calls() == []


def test_not_built(fake: Fake) -> None:
    fake.program.unlink()
    done = fake("ticket", *ONE)
    line = "overlock: overlock-check is not built; run `make checker` in the checkout\n"
    assert (done.returncode, done.stdout, done.stderr) == (3, "", line)


def test_a_checker_that_cannot_be_run(fake: Fake) -> None:
    fake.program.chmod(0o644)
    done = fake("ticket", *ONE)
    line = "overlock: overlock-check cannot be run: Permission denied; run `make checker` again\n"
    assert (done.returncode, done.stdout, done.stderr) == (3, "", line)


def test_lists(fake: Fake) -> None:
    done = fake("--list")
    assert done.returncode == 0
    assert "  free   the last one out frees the lock\n" in done.stdout
    assert "models\n  sc" in done.stdout
    assert "  ticket  (without timed)\n" in done.stdout
    assert "  expiry  a deadline that passes  [1]\n" in done.stdout


def test_jobs_run_at_once(fake: Fake) -> None:
    fake.says({"meets": 4})
    assert fake("all", "--jobs", "4").returncode == 0


# Ctrl-C


def interrupted(fake: Fake, *args: str, number: int = signal.SIGINT) -> tuple[int, str]:
    """Sends the signal once the slow lock is at it, to the command alone."""
    child = subprocess.Popen(
        [*COMMAND, *args],
        cwd=fake.folder,
        env=fake.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until(lambda: fake.log.exists() and "--lock=mcs" in fake.log.read_text())
    child.send_signal(number)
    out, errors = child.communicate(timeout=HANG_S)
    assert errors.strip() == ""
    return child.returncode, out


SLOW = {"if": ["--lock=mcs"], "progress": 600, "pause": 0.1}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_is_done_is_kept(fake: Fake, number: int) -> None:
    fake.says(SLOW)
    code, out = interrupted(fake, "all", "--jobs", "1", "--json", "out.json", number=number)
    assert code == 130
    assert "not exhausted (interrupted): no failure found so far" in out
    assert "interrupted: 3 of 4 checks are done" in out
    document = valid(json.loads((fake.folder / "out.json").read_text()))
    assert not document["complete"]
    assert [r["ended"] for r in document["results"]] == ["exhausted"] * 3 + ["interrupted"]
    fake.calls()
    fake.says()
    assert fake("all").returncode == 0
    assert [call.split()[0] for call in fake.calls()] == ["--lock=mcs"]  # the rest was cached


def test_a_checker_that_is_deaf_is_ended(fake: Fake) -> None:
    fake.says({**SLOW, "deaf": True})
    code, out = interrupted(fake, "ticket", "mcs", *ONE, "--jobs", "1")
    assert code == 130
    assert "interrupted: 1 of 2 checks are done" in out
    left = subprocess.run(["pgrep", "-f", str(fake.program)], capture_output=True, check=False)
    assert left.stdout == b""


# The cache


def test_known_results_are_not_explored_again(fake: Fake) -> None:
    assert "(cached)" not in fake("ticket", *ONE).stdout
    assert len(fake.calls()) == 1
    done = fake("ticket", *ONE)
    assert "exhausted: holds  (cached)" in done.stdout
    assert fake.calls() == []
    assert valid(fake.json("ticket", *ONE))["results"][0]["cached"]
    assert "(cached)" not in fake("ticket", "--no-cache", *ONE).stdout
    assert len(fake.calls()) == 1


def test_failures_are_known_too(fake: Fake) -> None:
    fake.says({"failure": failure()})
    assert fake("pv_ticket", *ONE).returncode == 1
    assert fake("pv_ticket", *ONE).returncode == 1
    assert len(fake.calls()) == 1


def test_more_time_may_find_more(fake: Fake) -> None:
    fake.says(TIME_UP)
    fake("ticket", *ONE)
    fake("ticket", *ONE)
    assert len(fake.calls()) == 2


@pytest.mark.parametrize(
    "other",
    [
        ("--size", "3x1"),
        ("--model", "tso"),
        ("--scenario", "try"),
        ("--budget", "stop=1"),
        ("--clock", "3"),
        ("--search", "plain"),
        ("--executions", "5"),
        ("--weaken-line", "ticket.h:55:acquire"),
    ],
)
def test_every_option_counts(fake: Fake, other: tuple[str, ...]) -> None:
    fake("ticket", *ONE)
    fake("ticket", *ONE, *other)
    assert len(fake.calls()) == 2


def test_settings_count(fake: Fake) -> None:
    fake("preemptable_ticket@tau=0", "preemptable_ticket@tau=1", "preemptable_ticket", *ONE)
    assert len(fake.calls()) == 3


def test_another_checker_counts(fake: Fake) -> None:
    fake("ticket", *ONE)
    fake.program.write_text(fake.program.read_text() + "# another build\n")
    fake("ticket", *ONE)
    assert len(fake.calls()) == 2


def test_the_text_counts(fake: Fake, tmp_path: Path) -> None:
    """Of the lock's header, and of what it includes; not that of other locks."""
    include = fake.native / "include/overlock"
    (include / "lock").mkdir(parents=True)
    (include / "port.h").write_text("#include <overlock/port/lists.h>\n")
    (include / "port").mkdir()
    for name in ("port/lists.h", "lock/mcs.h"):
        (include / name).write_text("\n")
    (include / "lock/ticket.h").write_text("#include <overlock/port.h>\n")
    fake("ticket", *ONE)
    for name, times in (("lock/mcs.h", 0), ("lock/ticket.h", 1), ("port/lists.h", 1)):
        with (include / name).open("a") as out:
            out.write("/* changed */\n")
        fake.calls()
        fake("ticket", *ONE)
        assert len(fake.calls()) == times, name


def test_a_spoiled_cache_is_no_cache(fake: Fake) -> None:
    fake("ticket", *ONE)
    [kept] = (fake.folder / "cache/overlock/check").glob("*.json")
    for nonsense in ("", "[1]", '{"result": 3}'):
        kept.write_text(nonsense)
        assert fake("ticket", *ONE).returncode == 0
    assert len(fake.calls()) == 4


def test_a_cache_that_cannot_be_written_is_no_error(fake: Fake) -> None:
    (fake.folder / "cache").write_text("a file")
    done = fake("ticket", *ONE)
    assert (done.returncode, done.stderr) == (0, "")


# A terminal


def on_terminal(fake: Fake, *args: str, width: int = 80) -> str:
    """Without its colours."""
    # The shell leads the session until all is read: at its end the kernel discards the rest.
    command = ["sh", "-c", '"$@"; echo "exit code: $?"; read -r end', "sh", *COMMAND, *args]
    pid, handle = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
        os.chdir(fake.folder)
        os.execve(  # noqa: S606 - the terminal is what this is about
            "/bin/sh", command, {**fake.environment, "TERM": "xterm-256color"}
        )
    out = b""
    while b"exit code: " not in out:
        out += os.read(handle, 1 << 16)
    os.write(handle, b"\n")
    os.waitpid(pid, 0)
    os.close(handle)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.decode())


def test_progress_is_shown_while_it_runs(fake: Fake) -> None:
    fake.says({"progress": 20, "pause": 0.05})
    said = on_terminal(fake, "ticket", "mcs", *ONE, "--jobs", "2")
    assert "0 of 2 done" in said
    assert re.search(r"ticket lock sc 2x2\s.*100 k", said)
    assert "exhausted: holds" in said


@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_verdict_is_cut_on_a_terminal(fake: Fake, width: int) -> None:
    fake.says({"if": ["--lock=mcs"], **TIME_UP}, {"result": {"executions": 123456789}})
    said = on_terminal(fake, "preemptable_ticket@tau=inf", "mcs", "--model", "all", width=width)
    table = said[[m.start() for m in re.finditer("lock +(of|scenario) ", said)][-1] :].split(
        "\r\n\r\n"
    )[0]
    assert all(len(line) <= width for line in table.splitlines())
    words = " ".join(table.split())
    assert words.count("exhausted: holds") == 3
    assert all(words.count(word) >= 3 for word in ("not exhausted", "no failure", "so far"))


def test_a_shell_completes_what_the_checker_knows(fake: Fake) -> None:
    def complete(*words: str) -> list[str]:
        line = " ".join(("overlock", "check", *words))
        done = subprocess.run(
            [Path(COMMAND[0]).with_name("overlock")],
            env={
                **fake.environment,
                "_OVERLOCK_COMPLETE": "bash_complete",
                "COMP_WORDS": line,
                "COMP_CWORD": str(len(words) + 1),
            },
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()

    assert complete("pv") == ["plain,pv_ticket"]
    assert complete("ticket", "--model", "t") == ["plain,tso"]
    assert complete("ticket", "--scenario", "f") == ["plain,free"]
    assert complete("ticket", "--budget", "st") == ["plain,stop="]
    fake.program.unlink()
    assert complete("pv") == []
