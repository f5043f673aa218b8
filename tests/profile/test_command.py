# SPDX-License-Identifier: MIT
"""overlock profile, as it is called: what it refuses, and the program's exit code."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from overlock_tools.core.system import repeated
from overlock_tools.profile import command as watching
from overlock_tools.profile import sampler, verify
from overlock_tools.profile.runtimes import unwatched
from tests.processes import HANG_S, until


def profile(*words: str, folder: Path | None = None) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "overlock_tools", "profile", *words]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=folder, timeout=HANG_S, check=False
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "expected either --pid PID or -- PROGRAM"),
        (("--pid", "1", "--", "true"), "expected either --pid PID or -- PROGRAM"),
        (("--pid", str(2**22 + 1)), "does not exist"),
        (("--instead", "x", "--", "true"), "--instead is for --verify"),
        (("--verify", "--pid", "1"), "--verify runs the program again"),
        (("--json", "/nowhere/x", "--", "true"), "the folder /nowhere does not exist"),
        (("diff", "/nowhere/a", "/nowhere/b"), "cannot be read"),
    ],
)
def test_bad_usage(words: tuple[str, ...], said: str) -> None:
    done = profile(*words)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [(("true",), 0), (("sh", "-c", "exit 7"), 7), (("sh", "-c", "kill -9 $$"), -signal.SIGKILL)],
)
def test_the_exit_code_is_the_programs(words: tuple[str, ...], code: int) -> None:
    assert profile("--by", "looks", "--", *words).returncode in (code, 128 - code)


def test_a_program_that_is_not_there() -> None:
    done = profile("--by", "looks", "--", "/nowhere/program")
    assert done.returncode == 127
    assert "/nowhere/program cannot be executed" in done.stderr


def test_the_programs_streams_are_its_own(tmp_path: Path) -> None:
    done = profile("--by", "looks", "--json", "r.json", "--", "echo", "hello", folder=tmp_path)
    assert done.stdout == "hello\n"
    found = json.loads((tmp_path / "r.json").read_text())
    assert (found["program"], found["by"]) == ("echo", "looks")


APPENDS = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read() + ';')"


@pytest.mark.parametrize("is_file", [True, False])
def test_verifying_runs_read_the_same(tmp_path: Path, is_file: bool) -> None:
    given, out = tmp_path / "in", tmp_path / "out"
    given.write_text("words")
    program = [sys.executable, "-c", APPENDS, str(out)]
    instead = shlex.join(program)
    words = ["profile", "--by", "looks", "--verify", "--instead", instead, "--", *program]
    with subprocess.Popen(["cat", given], stdout=subprocess.PIPE) as piped, given.open() as file:
        subprocess.run(
            [sys.executable, "-m", "overlock_tools", *words],
            stdin=file if is_file else piped.stdout,
            check=True,
            timeout=HANG_S,
        )
    assert out.read_text() == "words;" * (1 + 2 * verify.ROUNDS)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        ([(4.0, 1.0), (3.0, 1.0), (5.0, 1.0)], "Verified: faster in every round. Predicted 2.0×"),
        ([(1.0, 4.0), (1.0, 3.0), (1.0, 5.0)], "Refuted: slower in every round."),
        ([(1.0, 2.0), (1.1, 1.0), (1.0, 1.3)], "Not verified: faster in some rounds"),
        ([(5.0, 5.01), (5.02, 5.0), (5.0, 5.0)], "Not verified: every run lasted 5.0 s."),
    ],
)
def test_verdict_of_a_trial(seconds: list[tuple[float, float]], words: str) -> None:
    """A program that stops by the clock shows no speed."""
    assert verify.Trial(["x"], 2.0, seconds).text().startswith(words)


def test_what_is_verified_is_the_first_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its own prediction, not that of advice in words."""
    monkeypatch.setattr(verify, "_seconds", lambda command, _: 4.0 if len(command) == 1 else 1.0)
    words = {"command": [], "predicted": 8.0}
    found = {
        "advice": [words, {"command": ["overlock", "run", "--spins", "--"], "predicted": None}]
    }
    trial = verify.run(found, ("./server",), None, repeated.Input())
    assert trial
    assert trial.text().startswith("Verified: faster in every round. Measured 4.00×")
    assert trial.text().endswith("by `overlock run --spins -- ./server`.")
    assert verify.run({"advice": [words]}, ("./server",), None, repeated.Input()) is None


def test_what_proc_shows_of_a_futex() -> None:
    waits = "202 0x7f00 0x80 0x2 0x0 0x0 0x0 0x7ffe 0x7f12"
    assert sampler._futex(waits) == (True, (0x7F00, 0x80, 2))
    assert sampler._futex("202 0x7f00 0x81 0x1 0x0 0x0 0x0 0x7ffe 0x7f12") == (True, None)
    assert sampler._futex("0 0x3 0x7f00 0x1 0x0 0x0 0x0 0x7ffe 0x7f12") == (False, None)
    assert sampler._futex("running") == (False, None)


def test_our_own_thread_is_seen() -> None:
    one = sampler.look(f"/proc/{os.getpid()}/task/{os.getpid()}")
    assert one
    assert one.state == "R"
    assert one.ran_ns > 0


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/usr/lib/jvm/java-17/lib/server/libjvm.so", ["Java's monitors and locks"]),
        ("/usr/share/dotnet/shared/libcoreclr.so", [".NET's monitors"]),
        ("/usr/lib/erlang/bin/beam.smp", ["Erlang's processes"]),
        ("/usr/lib/libjvm.so.txt", []),
    ],
)
def test_runtimes_with_locks_of_their_own_are_known_by_their_files(
    path: str, found: list[str]
) -> None:
    maps = f"7f0000000000-7f0000001000 r-xp 00000000 08:01 17 {path}\n"
    assert unwatched(os.getpid(), maps) == found


def test_the_quota_of_a_program_that_has_ended_is_the_last_one_seen() -> None:
    """The kernel says of a zombie that it is in the topmost group, which has none."""
    with subprocess.Popen(["true"]) as program:
        stat = Path(f"/proc/{program.pid}/stat")
        until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "Z")
        context = watching.Context(program.pid, {"quota": 1.5})
        context.look()
        assert context.found["quota"] == 1.5
