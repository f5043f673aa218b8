# SPDX-License-Identifier: MIT
"""Broken twins: the interposer with one thing wrong, and the test that must notice.

Each is built from the sources with one line replaced.
"""

import subprocess
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from conftest import BUILD, TOP, Compile, environment, output

PRELOAD = TOP / "preload"
SOURCES = ("api.c", "clock.c", "cond.c", "gate.c", "mutex.c", "outside.c", "start.c")


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    right: str
    wrong: str
    lock: str
    program: tuple[str, ...]
    also: tuple[tuple[str, str, str], ...] = ()  # changes that are harmless alone


GATE = (
    "return ops->timedlock && !(ops->traits & OL_POLLS) ? ops->timedlock(m->lock, until)\n"
    "\t\t\t\t\t\t\t   : gate_wait(m, ops, until);"
)
POLL = """do {
		if (ops->trylock(m->lock))
			return true;
		ol_yield();
	} while (!ol_passed(until));
	return false;"""
DEADLINE = ("deadline.c", "1", "3", "2")
CONFORMANCE = ("conformance.c",)
RENOUNCE = "\t\trenounce(m);\n\t\treturn;\n"

SLOW_SIGNAL = (
    "cond.c",
    "\tfutex_wake(low_half(&c->turn), all ? INT_MAX : 1);",
    "\tusleep(150000);\n\tfutex_wake(low_half(&c->turn), all ? INT_MAX : 1);",
)

LATE_WAITER = "a late waiter keeps the wake-up"

MUTANTS = [
    *(
        Mutant(f"no gate, {lock}", "mutex.c", GATE, POLL, lock, DEADLINE)
        for lock in ("ticket", "mcs", "twa")
    ),
    Mutant(
        "offer lost by who gives up",
        "gate.c",
        "return !give_up(m);",
        """{
				while (!(look(m) & OFFER) && ops->is_locked(m->lock))
					ol_yield();
				leave(m);
				return false;
			}""",
        "ticket",
        ("giving_up.c",),
    ),
    Mutant(
        "hands over to ghosts",
        "mutex.c",
        RENOUNCE,
        "\t\tops->unlock(m->lock);\n\t\treturn;\n",
        "ticket",
        ("fork.c", "3"),
    ),
    Mutant(
        "queues before the first in this epoch",
        "mutex.c",
        "if (OL_UNLIKELY(!is_of_this_epoch(m)) && acquire_first(m, ops, OL_NEVER))\n\t\treturn;",
        "ol_store_relaxed(&m->epoch, epoch);",
        "ticket",
        ("fork.c", "3"),
    ),
    Mutant(
        "broadcast wakes one",
        "cond.c",
        "all ? INT_MAX : 1",
        "1",
        "tas_yield",
        ("conditions.c", "100"),
    ),
    Mutant(
        "the turn is noted too late",
        "cond.c",
        "s.seen = note_turn(c);\n\terror = mutex_unlock(m);",
        "error = mutex_unlock(m);\n\tol_yield();\n\ts.seen = note_turn(c);",
        "tas_yield",
        ("conditions.c", "100"),
    ),
    Mutant(
        "cancelled without the mutex",
        "cond.c",
        "\tmutex_lock(s->mutex);\n}",
        "}",
        "tas_yield",
        ("cancel.c",),
    ),
    Mutant(
        "destroy does not wait",
        "cond.c",
        "while ((left = ol_load_acquire(low_half(&c->users))) != COND_DESTROY)\n",
        "while (0)\n",
        "tas_yield",
        CONFORMANCE,
        (("cond.c", "\tleave(c);\n\tlocked", "\tusleep(1000);\n\tleave(c);\n\tlocked"),),
    ),
    Mutant(
        LATE_WAITER,
        "cond.c",
        "\t\tpass_on(c, s.seen);\n",
        "\t\t(void)pass_on;\n",
        "tas_yield",
        ("stolen.c",),
        (SLOW_SIGNAL,),
    ),
    Mutant("wrong errno", "mutex.c", "return EPERM;", "return EINVAL;", "tas_yield", CONFORMANCE),
    Mutant(
        "any owner will do",
        "mutex.c",
        "return owner && owner == id_in(m);",
        "return owner && id_in(m);",
        "tas_yield",
        CONFORMANCE,
    ),
    Mutant(
        "wrong clock",
        "cond.c",
        "c->flags & COND_MONOTONIC ? CLOCK_MONOTONIC : CLOCK_REALTIME",
        "CLOCK_REALTIME",
        "tas_yield",
        CONFORMANCE,
    ),
    Mutant(
        "robust and shared ones taken for ours",
        "preload.h",
        "KIND_OURS = KIND_TYPE |",
        "KIND_OURS = 0x90 | KIND_TYPE |",
        "tas_yield",
        CONFORMANCE,
    ),
    Mutant(
        "two locks for one mutex",
        "outside.c",
        "if (ol_cas_release(place, (void *)0, lock_in(o)))",
        "usleep(50);\n\tol_store_release(place, lock_in(o));\n\tif (true)",
        "partitioned_ticket",
        ("reborn.c",),
        (("outside.c", "#include <sys/mman.h>", "#include <sys/mman.h>\n#include <unistd.h>"),),
    ),
    Mutant(
        "a lock left behind for each mutex",
        "outside.c",
        "= find_left(place);",
        "= 0;\n\n\t(void)find_left;",
        "partitioned_ticket",
        ("reborn.c",),
    ),
    Mutant(
        "mixed waits do not look",
        "cond.c",
        "CLOCK_MONOTONIC, &t };",
        "CLOCK_MONOTONIC, 0 };",
        "tas_yield",
        ("mixed.c",),
    ),
]


def build(folder: Path, mutant: Mutant) -> Path:
    for source in PRELOAD.iterdir():
        text = source.read_text()
        for file, right, wrong in ((mutant.file, mutant.right, mutant.wrong), *mutant.also):
            if source.name == file:
                assert text.count(right) == 1, f"{mutant.name}: {source.name} has changed"
                text = text.replace(right, wrong)
        (folder / source.name).write_text(text)
    out = folder / "liboverlock-run.so"
    command = ["gcc", "-std=gnu11", "-O2", "-g", "-fPIC", "-shared", "-D_GNU_SOURCE", "-pthread"]
    folders = [f"-I{f}" for f in (folder, TOP / "include", BUILD / "include", TOP / "lib")]
    library = BUILD / "lib/liboverlock.a"
    script = f"-Wl,--version-script={folder}/exports.map"
    files = [folder / name for name in SOURCES]
    subprocess.run([*command, *folders, *files, library, script, "-ldl", "-o", out], check=True)
    return out


def healthy(command: list[str | Path], library: Path, lock: str, expected: str) -> bool:
    done = subprocess.run(
        [*map(str, command)],
        env=environment(lock, library),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert "preload" not in done.stderr, done.stderr
    return done.returncode == 0 and done.stdout == expected


@cache
def natively(program: Path, *args: str) -> str:
    return output([program, *args], environment(None))


def is_caught(program: Compile, folder: Path, mutant: Mutant) -> bool:
    source, *args = mutant.program
    folder.mkdir()
    command: list[str | Path] = ["timeout", "-s", "KILL", "5", program(source), *args]
    expected = natively(program(source), *args)
    return not healthy(command, build(folder, mutant), mutant.lock, expected)


@pytest.fixture(scope="session")
def caught(program: Compile, folder: Path) -> dict[str, Future[bool]]:
    """Several at a time: most of them hang when they are caught."""
    for mutant in MUTANTS:
        natively(program(mutant.program[0]), *mutant.program[1:])
    with ThreadPoolExecutor(4) as pool:
        return {
            m.name: pool.submit(is_caught, program, folder / f"twin-{i}", m)
            for i, m in enumerate(MUTANTS)
        }


def needs_real_time(stolen: Path) -> None:
    if "may not" in natively(stolen):
        pytest.skip("this user may not start real-time threads")


def test_a_late_waiter_passes_the_wake_up_on(program: Compile, folder: Path) -> None:
    needs_real_time(program("stolen.c"))
    (folder / "slow").mkdir()
    slow = build(folder / "slow", Mutant("slow signal", *SLOW_SIGNAL, "tas_yield", ("stolen.c",)))
    stolen = program("stolen.c")
    assert healthy([stolen], slow, "tas_yield", natively(stolen))


@pytest.mark.parametrize("name", [mutant.name for mutant in MUTANTS])
def test_mutant_is_caught(program: Compile, caught: dict[str, Future[bool]], name: str) -> None:
    if name == LATE_WAITER:
        needs_real_time(program("stolen.c"))
    assert caught[name].result()
