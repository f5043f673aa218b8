# SPDX-License-Identifier: MIT
"""`overlock run --defer`: holders ask not to be preempted, each once, and take it back."""

from pathlib import Path

import pytest

from tests.run.conformance.test_mutants import Mutant, build
from tests.run.conftest import Compile, environment, run

# A kernel that has the extension, there before anything of ours asks. The library looks for a
# thread's area twice in each section: to make a request, and to take it back.
WATCHED = """
#include "rseq.h"
#include <stdio.h>
#include <unistd.h>
static _Atomic long begun, ended;
static bool has_it(void)
{
	return true;
}
static void yields(void)
{
}
static struct ol_rseq_area *area(void)
{
	static _Thread_local struct ol_rseq_area mine;

	if (mine.request)
		ended++;
	else
		begun++;
	return &mine;
}
static void replace(void)
{
	ol_rseq_kernel = (struct ol_rseq_kernel){ has_it, has_it, yields, area };
}
static void (*const first)(void) __attribute__((used, section(".init_array.00001"))) = replace;
__attribute__((destructor)) static void say(void)
{
	dprintf(2, "%ld %ld %d\\n", begun, ended, ol_rseq_start());
}
static const struct ol_lock_ops *inner;
"""
LOCKS = ("tas_yield", "mcs")  # in the mutex, and outside


def watched(folder: Path, *also: tuple[str, str, str]) -> Path:
    inner = "static const struct ol_lock_ops *inner;"
    return build(folder, Mutant("watched", "defer.c", inner, WATCHED, "tas_yield", (), also))


def requests(program: Compile, library: Path, lock: str) -> tuple[int, int, int]:
    """How often the program had a mutex, a request was made, and one was taken back."""
    done = run([program("acquires.c")], environment(lock, library, OVERLOCK_DEFER="1"))
    begun, ended, can_ask = map(int, done.stderr.split())
    if not can_ask:
        pytest.skip("no rseq here")
    return int(done.stdout), begun, ended


def test_each_holder_asks_once_and_takes_it_back(program: Compile, tmp_path: Path) -> None:
    library = watched(tmp_path)
    for lock in LOCKS:
        had, begun, ended = requests(program, library, lock)
        assert had == 6, lock
        assert (begun, ended) == (had, had), lock


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("return began(inner->trylock(l));", "return inner->trylock(l);"),
        ("began(!busy);", ""),
        ("began(!busy);", "began(true);"),
        ("inner->unlock(l);\n\tol_defer_end();", "inner->unlock(l);"),
        ("inner->lock(l);\n\tol_defer_begin();", "inner->lock(l);"),
        ("inner->release(l);\n\n\tol_defer_end();", "inner->release(l);"),
        # Before the library knows what the kernel offers.
        ("!ops || !is_asked_for()", '!ops || !is_asked_for() || !ol_source_of("defer")'),
    ],
    ids=["trylock", "take", "taken_in_vain", "unlock", "lock", "release", "chosen_too_early"],
)
def test_a_request_that_is_left_out_is_noticed(
    program: Compile, tmp_path: Path, right: str, wrong: str
) -> None:
    library = watched(tmp_path, ("defer.c", right, wrong))
    found = [requests(program, library, lock) for lock in LOCKS]
    assert any(had != begun or had != ended for had, begun, ended in found)


@pytest.mark.parametrize(
    ("lock", "why"),
    [("tas_yield", "nothing here puts"), ("pthread_adaptive", "glibc's mutexes do not ask")],
)
def test_where_nothing_can_be_asked_one_line_says_so(program: Compile, lock: str, why: str) -> None:
    env = environment(lock, OVERLOCK_DEFER="1", OVERLOCK_KNOWLEDGE="none")
    done = run([program("acquires.c")], env)
    assert done.stdout == "6\n"
    assert done.stderr.startswith(f"overlock: OVERLOCK_DEFER=1 ignored: {why}")
    assert done.stderr.count("\n") == 1
