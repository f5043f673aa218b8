# SPDX-License-Identifier: MIT
"""pthread barriers under `overlock run --barrier`: as glibc's, down to their destruction."""

import json
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from overlock_tools.core.system import native
from tests.processes import HANG_S
from tests.run.conformance.test_mutants import Mutant, build
from tests.run.conftest import Compile, environment, output, run

OURS = {"OVERLOCK_BARRIER": "barrier"}
AT_ONCE = {"OVERLOCK_SPIN_NS": "0", "OVERLOCK_LEASE_NS": "1000"}  # waiters sleep
NEVER = {  # waiters yield only, and who is taken for one that polls naps at once
    "OVERLOCK_LEASE_NS": "1000000000",
    "OVERLOCK_LONGEST_SPIN_NS": "0",
}
FLAVOURS = ("", "-counted", "-checked")
SECONDS = 10  # far more than the rounds take


def said(rounds: int) -> str:
    return (
        f"serial threads: {rounds} of {rounds}, early: 0\n"
        "init of none: EINVAL, of too many: EINVAL\n"
        "child: 7\n"
        "signals: seen, and waited on\n"
    )


def under(library: Path | None = None) -> dict[str, str]:
    return environment("tas_yield", library, **OURS)


def test_the_program_is_right_about_glibcs(program: Compile) -> None:
    assert output([program("barriers.c"), "4", "100"], environment(None)) == said(100)
    assert output([program("barriers.c"), "4", "100"], environment("tas_yield")) == said(100)


@pytest.mark.parametrize("threads", ["1", "2", "8", "32"])
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_barriers_do_as_glibcs(program: Compile, flavour: str, threads: str) -> None:
    library = native.file(f"liboverlock-run{flavour}.so")
    assert output([program("barriers.c"), threads, "300"], under(library)) == said(300)


def test_they_sleep_at_once_where_they_are_told(program: Compile) -> None:
    """So that destruction meets waiters that are just woken."""
    assert output([program("barriers.c"), "8", "300"], under() | AT_ONCE) == said(300)


MUTANTS = [
    ("opens_before_it_counts", "ol_add_relaxed(&b->inside, b->threads - 1);", ";"),
    ("nobody_takes_itself_off", "leave(b);\n\t\treturn 0;", "return 0;"),
    (
        "all_are_the_last",
        "leave(b);\n\t\treturn 0;",
        "leave(b);\n\t\treturn PTHREAD_BARRIER_SERIAL_THREAD;",
    ),
    ("destroy_does_not_wait", "ol_wait_until(&b->inside, ol_equals, 0, OL_NEVER);", ";"),
    ("who_leaves_wakes_nobody", "ol_wake_all(&b->inside);", ";"),
    ("takes_none", "if (!n || n > INT32_MAX)", "if (n > INT32_MAX)"),
    ("takes_shared_ones", "shared != PTHREAD_PROCESS_PRIVATE);", "0);"),
]


@pytest.mark.parametrize(
    ("name", "right", "wrong"), MUTANTS, ids=lambda m: m if m.isidentifier() else ""
)
def test_mutants_are_caught(
    program: Compile, tmp_path: Path, name: str, right: str, wrong: str
) -> None:
    mutant = build(tmp_path, Mutant(name, "barrier.c", right, wrong, "tas_yield", ()))
    command: list[str | Path] = [program("barriers.c"), "8", "3000"]
    for more in ({}, AT_ONCE):
        with suppress(subprocess.TimeoutExpired):
            done = run(command, under(mutant) | more, timeout=SECONDS)
            if (done.returncode, done.stdout) == (0, said(3000)):
                continue
        return
    pytest.fail("not caught")


def sleeps(program: Compile, library: Path | None = None) -> int:
    return int(output([program("meets.c"), "100000"], under(library) | NEVER))


FEW = 20  # page faults, a file that is read


def test_many_short_waits_are_not_taken_for_a_long_one(program: Compile) -> None:
    """Else the interposer would make the waiters nap, at a thirtieth of the rate."""
    assert sleeps(program) < FEW


@pytest.mark.parametrize(
    ("right", "wrong", "also"),
    [
        (
            "ol_run_wait_begin(&w, 0, &sleeps_in_time, OL_NEVER);",
            "(void)w, (void)sleeps_in_time;",
            (("barrier.c", "ol_run_wait_end(&w);", ""),),
        ),
        (".traits = OL_BY_CLOCK", ".traits = 0", ()),
    ],
    ids=["unannounced", "announced_as_a_spin"],
)
def test_a_barrier_whose_waiters_nap_is_caught(
    program: Compile, tmp_path: Path, right: str, wrong: str, also: tuple[tuple[str, str, str], ...]
) -> None:
    waits = Mutant("naps", "barrier.c", right, wrong, "tas_yield", (), also)
    assert sleeps(program, build(tmp_path, waits)) >= FEW


def test_what_is_left_to_glibc_is_counted(program: Compile, tmp_path: Path) -> None:
    counted = native.file("liboverlock-run-counted.so")
    for more, left in (({}, "barrier"), (OURS, "shared_barrier")):
        report = tmp_path / left
        env = environment("tas_yield", counted, OVERLOCK_OUTPUT=str(report), **more)
        assert run([program("barriers.c"), "2", "10"], env, timeout=HANG_S).returncode == 0
        found = json.loads(report.read_text())["left"]
        assert found[left] > 0
        assert found["barrier" if left == "shared_barrier" else "shared_barrier"] == 0
