# SPDX-License-Identifier: MIT
"""At single instructions of a call a signal comes, the process forks, the thread is cancelled.

Or a handler jumps out of a wait, or another thread ends the process. A few instructions
here, the same each time; a hundred of each call, others each time, in the suite run-long.
"""

import json
import random
from pathlib import Path

import pytest

from overlock_tools.core.system import native
from tests.run.conformance.test_mutants import Mutant, build
from tests.run.conftest import X86_64, Compile, environment, on_terminal, output, run
from tests.run.stepping import PAIRS, steps, under

pytestmark = pytest.mark.skipif(not X86_64, reason="the trap flag is x86's")

SAMPLES = 2
ENDED, NOT_REACHED = 7, 8
FLAVOURS = ("", "-counted", "-checked")
WORDS = "a signal handler has jumped out of a wait for a mutex"


def drawn(call: str, event: str, most: int = 1 << 30) -> int:
    """The same each time, so that nothing passes or fails by chance."""
    return random.Random(f"{call} {event} {most}").randrange(1, most)  # noqa: S311


def library(flavour: str) -> Path:
    return native.file(f"liboverlock-run{flavour}.so")


@pytest.mark.parametrize(("call", "event"), PAIRS)
def test_natively(program: Compile, call: str, event: str) -> None:
    """What is asked of a lock below, glibc's own gives."""
    draw = drawn(call, event)
    assert "instructions" in steps(program, (call, event), SAMPLES, environment(None), draw)


@pytest.mark.parametrize(("call", "event"), PAIRS)
def test_at_some_instructions(program: Compile, call: str, event: str) -> None:
    env = under("tas_yield")
    steps(program, (call, event), SAMPLES, env, drawn(call, event))


def test_it_notices_a_handler_that_jumps_while_its_thread_has_the_list(
    program: Compile, tmp_path: Path
) -> None:
    """A mutant."""
    mutant = Mutant(
        "signals come in lists",
        "sleep.c",
        "uint64_t signals = ol_run_block_signals();\n\n\tol_store_relaxed(&any_was_used",
        "uint64_t signals = 0;\n\n\tol_store_relaxed(&any_was_used",
        "tas_yield",
        (),
    )
    env = under("tas_yield", build(tmp_path, mutant), STEPPED_HANG_S="5")
    stepped = program("stepped.c", "-Wl,-z,now")
    done = run([stepped, "contended", "jump", "100", "0"], env)
    assert "no end: jump at instruction" in done.stderr, done


@pytest.mark.parametrize("event", ["exit", "_exit"])
@pytest.mark.parametrize("call", ["contended", "wait", "unlock", "exit"])
def test_another_thread_ends_the_process(
    program: Compile, tmp_path: Path, call: str, event: str
) -> None:
    """With its status, and a whole report or none: another instruction each time, up to 100,000."""
    if (call, event) == ("exit", "exit"):
        event = "signal"  # two threads in exit() are undefined
    stepped, report = program("stepped.c", "-Wl,-z,now"), tmp_path / "report.json"
    env = under("mcs", library("-counted"), OVERLOCK_OUTPUT=str(report))
    for digits in range(1, 6 if call == "exit" else 4):
        draw = drawn(call, event, 10**digits)
        for old in tmp_path.iterdir():
            old.unlink()
        for way in (environment(None), env):
            done = run([stepped, call, event, "1", str(draw)], way)
            assert done.returncode in {ENDED, NOT_REACHED}, (draw, done)
        if report.exists():
            assert "sites" in json.loads(report.read_text()), draw
        # What was being written is beside it, as after SIGKILL.
        assert all(file.name.startswith(report.name) for file in tmp_path.iterdir())


def test_the_report_is_written_where_nothing_disturbs_it(program: Compile, tmp_path: Path) -> None:
    """And can be absent above."""
    stepped, report = program("stepped.c", "-Wl,-z,now"), tmp_path / "report.json"
    env = under("mcs", library("-counted"), OVERLOCK_OUTPUT=str(report))
    assert run([stepped, "contended", "exit", "1", "20"], env).returncode == ENDED
    assert "sites" in json.loads(report.read_text())


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("lock", ["tas_yield", "paced", "rota"])
def test_a_handler_jumps_out_of_a_wait(program: Compile, lock: str, flavour: str) -> None:
    env = environment(lock, library(flavour), OVERLOCK_LONGEST_SPIN_NS="100000", OVERLOCK_QUIET="1")
    assert output([program("jumping.c")], env) == "fine\n"


def test_natively_a_jump_leaves_a_mutex_wait_and_has_the_mutex_of_a_condition(
    program: Compile,
) -> None:
    assert output([program("jumping.c")], environment(None)) == "fine\n"


@pytest.mark.parametrize("lock", ["ticket", "mcs", "qspin"])
def test_a_handler_jumps_out_of_any_wait_with_a_deadline(program: Compile, lock: str) -> None:
    assert (
        output([program("jumping.c"), "timed"], environment(lock, OVERLOCK_QUIET="1")) == "fine\n"
    )


@pytest.mark.parametrize("lock", ["tas_yield", "ticket", "mcs", "qspin"])
def test_a_jump_that_a_lock_cannot_survive_is_told(program: Compile, lock: str) -> None:
    said = on_terminal([str(program("jumping.c")), "2"], environment(lock))
    assert (WORDS in said) == (lock != "tas_yield"), said
