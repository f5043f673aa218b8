# SPDX-License-Identifier: MIT
"""Programs that use pthreads in every way, natively and under every lock."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from overlock_tools.core.model import defs
from overlock_tools.core.system import native
from tests.processes import HANG_S
from tests.run.conformance.test_mutants import Mutant, build
from tests.run.conftest import (
    LOCKS,
    SPINLOCKS,
    X86_64,
    Compile,
    collapses,
    environment,
    output,
    run,
)

EACH_LOCK = pytest.mark.parametrize("lock", LOCKS)
AttributesIn = Callable[[int, Path], str]
CANNOT_GIVE_UP = [lock for lock in LOCKS if defs.load().lock(lock).gives_up == "waits"]


@pytest.fixture(scope="session")
def expected(program: Compile) -> str:
    lines = output([program("conformance.c")], environment(None))
    assert len(lines.splitlines()) > 500
    return lines


@EACH_LOCK
def test_every_call_answers_as_glibc(program: Compile, expected: str, lock: str) -> None:
    assert output([program("conformance.c")], environment(lock)) == expected


def test_disabled_everything_is_glibc(program: Compile, expected: str) -> None:
    env = environment("ticket", OVERLOCK_DISABLE="1")
    assert output([program("conformance.c")], env) == expected


def test_counted_answers_the_same(program: Compile, expected: str, tmp_path: Path) -> None:
    library = native.file("liboverlock-run-counted.so")
    env = environment("mcs", library, OVERLOCK_OUTPUT=str(tmp_path / "report"))
    assert output([program("conformance.c")], env) == expected


@EACH_LOCK
def test_conditions_lose_no_wakeup(program: Compile, lock: str) -> None:
    items = "15" if collapses(lock) else "3000"
    assert output([program("conditions.c"), items], environment(lock)) == "fine\n"


@EACH_LOCK
def test_cancellation(program: Compile, lock: str) -> None:
    expected = output([program("cancel.c")], environment(None))
    assert "8 cancelled, 8 cleaned up, 8 with the mutex" in expected
    assert output([program("cancel.c")], environment(lock)) == expected


@EACH_LOCK
def test_fork_leaves_the_ghosts_behind(program: Compile, lock: str) -> None:
    uses = "3" if collapses(lock) else "100"
    said = output([program("fork.c"), uses, "destroy"], environment(lock))
    assert said.splitlines() == [
        "children that returned: 60 of 60",
        "holding: 5 of 5",
        "spawned: 0",
        "after vfork: 3",
    ]


# A word of `rota` that is free: claimed; with two sleepers; with both, a leaver and a call.
GHOSTS = ("0x2", "0x20", "0x2e")
FORGOTTEN = "acquired, 0 waiters\n" * 3


@pytest.mark.parametrize("word", GHOSTS)
def test_a_child_forgets_who_waited_in_the_parent(program: Compile, word: str) -> None:
    assert output([program("ghosts.c"), word], environment("rota")) == FORGOTTEN


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("ol_cas_relaxed(&m->lock[0], word, (uint64_t)0);", "(void)0;"),
        ("for (;;) { forget_waiters(m, ops); FOR_CALLER();", "for (;;) { FOR_CALLER();"),
        ("\tif (!is_of_this_epoch(m))\n\t\tforget_waiters(m, ops);\n", ""),
    ],
)
def test_mutant_that_remembers_them_is_caught(
    program: Compile, tmp_path: Path, right: str, wrong: str
) -> None:
    mutant = build(tmp_path, Mutant("remembers", "mutex.c", right, wrong, "rota", ()))
    done = run([program("ghosts.c"), "0x20"], environment("rota", mutant))
    assert done.stdout != FORGOTTEN


@EACH_LOCK
def test_forks_with_an_allocators_handlers(program: Compile, lock: str) -> None:
    said = output([program("fork_allocator.c")], environment(lock))
    assert said == "children that returned: 40 of 40\n"


@EACH_LOCK
def test_a_copy_is_a_mutex_of_its_own(program: Compile, lock: str) -> None:
    expected = output([program("copied.c")], environment(None))
    assert output([program("copied.c")], environment(lock)) == expected


@EACH_LOCK
def test_memory_becomes_a_mutex_again(program: Compile, lock: str) -> None:
    said = output([program("reborn.c")], environment(lock))
    assert said == "2000 of 2000 visits, 1 at a time\nmemory for later lives: none\n"


@EACH_LOCK
def test_without_memory_a_mutex_still_excludes(program: Compile, lock: str) -> None:
    said = output([program("short_of_memory.c"), "6000", "6"], environment(lock))
    assert said == "begin\nheld twice 0\nlost 0\n"


@EACH_LOCK
def test_a_timed_caller_acquires_under_contention(program: Compile, lock: str) -> None:
    """The mutex is handed from waiter to waiter; the deadline is far."""
    callers = 1 if defs.load().lock(lock).gives_up == "timed" else 2
    done = run([program("deadline.c"), str(callers), "2", "60"], environment(lock))
    assert (done.returncode, done.stdout) == (0, f"{2 * callers} of {2 * callers}\n")


@pytest.mark.parametrize("lock", [*CANNOT_GIVE_UP, "tas_yield"])
def test_no_lock_is_lost_by_giving_up(program: Compile, lock: str) -> None:
    assert output([program("giving_up.c")], environment(lock)) == "fine\n"


def test_shared_condition_with_a_private_mutex(program: Compile) -> None:
    expected = output([program("mixed.c")], environment(None))
    assert output([program("mixed.c")], environment("tas_yield")) == expected


# Of Debian 12's glibc, of Debian 13's, and of none yet; the first four words are ours.
@pytest.mark.parametrize("word", [9, 7, 4, 11])
def test_attributes_of_conditions_are_found(attributes_in: AttributesIn, word: int) -> None:
    said = attributes_in(word, native.file("liboverlock-run.so"))
    assert said == "monotonic: waited\nprocess-shared: left to glibc\n"


def test_attributes_in_our_words_are_refused(attributes_in: AttributesIn) -> None:
    said = attributes_in(3, native.file("liboverlock-run.so"))
    assert said.startswith("overlock: pthread_cond_init: ")
    assert said.endswith("run without overlock\n")


# Where glibc keeps a mutex's kind and an rwlock's mark, and elsewhere.
@pytest.mark.parametrize(
    ("mutex", "rwlock", "refused"),
    [(4, 7, ""), (5, 7, "pthread_mutex_init"), (4, 6, "pthread_rwlock_init")],
)
def test_kinds_elsewhere_are_refused(
    program: Compile, folder: Path, mutex: int, rwlock: int, refused: str
) -> None:
    version = "GLIBC_2.2.5" if X86_64 else "GLIBC_2.17"
    script = folder / "kind_layout.map"
    script.write_text(version + " { global: pthread_mutex_init; pthread_rwlock_init; };\n")
    words = (f"-DMUTEX_WORD={mutex}", f"-DRWLOCK_WORD={rwlock}")
    options = ("-shared", "-fPIC", *words, f"-Wl,--version-script={script}")
    front = program("kind_layout.c", *options, name=f"kind_layout_{mutex}_{rwlock}.so")
    ours = native.file("liboverlock-run.so")
    done = run(["true"], environment("tas_yield", None, LD_PRELOAD=f"{ours}:{front}", **QRW))
    assert done.returncode == (125 if refused else 0)
    assert done.stderr.startswith(f"overlock: {refused}: this glibc keeps" if refused else "")
    assert done.stderr.count("\n") == bool(refused)


@EACH_LOCK
def test_standard_cpp(program: Compile, lock: str) -> None:
    items = "50" if collapses(lock) else "2000"
    assert output([program("standard.cpp"), items], environment(lock)) == "111\n"


QRW = {"OVERLOCK_RWLOCK": "qrw"}


def test_rwlocks_exclude_and_survive_forks(program: Compile) -> None:
    """Few uses: its queue is FIFO, and beside eight busy threads takes twenty times as long."""
    said = output([program("rwlock.c"), "100", "10"], environment("tas_yield", None, **QRW))
    assert said == "written: all\nchildren that returned: 10 of 10\n"


def test_rwlocks_are_glibcs_unless_asked_for(program: Compile) -> None:
    """Its lock word, all zero in one of ours that is free, remembers who came last."""
    source = "rwlock_word.c"
    assert output([program(source)], environment("tas_yield")) == "glibc\n"
    assert output([program(source)], environment("tas_yield", None, **QRW)) == "qrw\n"


def test_shared_mutexes_of_cpp(program: Compile) -> None:
    for more in (QRW, {}):
        assert (
            output([program("shared.cpp"), "400"], environment("tas_yield", None, **more)) == "11\n"
        )


@pytest.mark.parametrize("lock", SPINLOCKS)
def test_spinlocks_of_threads_processes_and_forks(program: Compile, lock: str) -> None:
    uses = "300" if collapses(lock) else "20000"
    env = environment("tas_yield", OVERLOCK_SPINLOCK=lock)
    said = output([program("spinlock.c"), uses, "10"], env)
    assert said == "threads: 1\nprocesses: 1\nchildren that returned: 10 of 10\n"


def added_together(program: Path, file: Path, *environments: dict[str, str]) -> list[str]:
    """What processes say that share a spinlock in a file, one in each environment."""
    command = [str(program), str(file), str(len(environments)), "100000"]
    started = [
        subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
        for env in environments
    ]
    return [child.communicate(timeout=HANG_S)[0] for child in started]


def test_a_spinlock_shared_with_glibcs_process(program: Compile, tmp_path: Path) -> None:
    natively, ours = environment(None), environment("tas_yield")
    said = added_together(program("spin_between.c"), tmp_path / "f", natively, ours, natively, ours)
    assert said == ["400000\n"] * 4


def test_mutant_of_the_shared_spinlock_is_caught(program: Compile, tmp_path: Path) -> None:
    """A held one that looks free."""
    free = "enum { OL_SPIN_YIELD_FREE = 1, OL_SPIN_YIELD_HELD = "
    if not X86_64:
        free = "enum { OL_SPIN_YIELD_FREE = 0, OL_SPIN_YIELD_HELD = "
    held, wrong = (free + number for number in (("0", "1") if X86_64 else ("1", "0")))
    (tmp_path / "mutant").mkdir()
    mutant = build(
        tmp_path / "mutant", Mutant("free", "spin_yield.h", held, wrong, "tas_yield", ())
    )
    natively, ours = environment(None), environment("tas_yield", mutant)
    said = added_together(program("spin_between.c"), tmp_path / "f", natively, ours, natively, ours)
    assert said != ["400000\n"] * 4


@EACH_LOCK
def test_exit_while_holding(program: Compile, lock: str) -> None:
    done = run([program("leave.c")], environment(lock))
    assert (done.returncode, done.stdout, done.stderr) == (7, "1 1 1\nat exit\n", "")


@EACH_LOCK
def test_before_main_and_after(program: Compile, folder: Path, lock: str) -> None:
    library = program("early.c", "-shared", "-fPIC", name="libearly.so")
    again = program("early.c", "-shared", "-fPIC", name="again.so")
    main = program("early.c", "-DMAIN", str(library), f"-Wl,-rpath,{folder}", name="early")
    said = output([main, again], environment(lock))
    assert said == "early: 1\nforked: 0\nloaded: 1\n"


@pytest.mark.parametrize("lock", ["tas_yield", "ticket", "mcs", "twa", "pv_ticket"])
def test_many_threads_and_mutexes(program: Compile, lock: str) -> None:
    assert output([program("many.c"), "1000", "100000", "3000"], environment(lock)) == "0\n"


@pytest.mark.skipif(not X86_64, reason="only x86-64 has had these versions")
def test_every_symbol_version_is_served(program: Compile) -> None:
    said = output([program("versions.c")], environment("tas")).splitlines()
    assert said[-2:] == ["oldest wait: ETIMEDOUT", "oldest signal: 0"]
    served = dict(line.split() for line in said[:-2])
    assert len(served) > 30
    assert set(served.values()) == {"liboverlock-run.so"}


PYTHON = """
import queue, threading
numbers, total = queue.Queue(), 0
def work():
    global total
    while (n := numbers.get(timeout=300)) is not None:
        total += n
threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads: t.start()
for n in range(300): numbers.put(n)
for t in threads: numbers.put(None)
for t in threads: t.join()
print(total)
"""


@EACH_LOCK
def test_python_threads(lock: str) -> None:
    """Its global lock is a mutex and a condition variable with deadlines."""
    assert output([sys.executable, "-c", PYTHON], environment(lock)) == "44850\n"


@pytest.fixture(scope="session")
def packed(folder: Path) -> Path:
    text = folder / "text"
    text.write_bytes(b"".join(b"%d squared is %d\n" % (n, n * n) for n in range(110_000)))
    subprocess.run(["pbzip2", "-kqb1", text], check=True, env=environment(None))
    return folder / "text.bz2"


@EACH_LOCK
def test_pbzip2_packs_and_unpacks(packed: Path, tmp_path: Path, lock: str) -> None:
    env = environment(lock)
    for direction, source in (("-z", packed.with_suffix("")), ("-d", packed)):
        command = ["pbzip2", direction, "-kqcb1", "-p4", str(source)]
        with (tmp_path / "out").open("wb") as out:
            done = subprocess.run(command, env=env, stdout=out, timeout=HANG_S, check=False)
        assert done.returncode == 0
        wanted = packed if direction == "-z" else packed.with_suffix("")
        assert (tmp_path / "out").read_bytes() == wanted.read_bytes()


def test_inside_a_preloaded_allocator(program: Compile, folder: Path) -> None:
    """An allocator that takes a mutex in malloc(), which our start may call."""
    source = folder / "allocator.c"
    source.write_text(ALLOCATOR)
    library = folder / "liballocator.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", source, "-o", library], check=True)
    for order in ("{ours}:{theirs}", "{theirs}:{ours}"):
        env = environment("ticket")
        env["LD_PRELOAD"] = order.format(ours=env["LD_PRELOAD"], theirs=library)
        assert output([program("standard.cpp"), "30"], env) == "111\n"


ALLOCATOR = """
#include <pthread.h>
#include <stddef.h>
#include <string.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static char heap[64 << 20] __attribute__((aligned(16)));
static size_t used;
void *malloc(size_t size)
{
	char *p;
	pthread_mutex_lock(&m);
	p = heap + used;
	used += (size + 31) & ~(size_t)15;
	pthread_mutex_unlock(&m);
	*(size_t *)p = size;
	return p + 16;
}
void free(void *p) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); (void)p; }
void *calloc(size_t n, size_t size) { return memset(malloc(n * size), 0, n * size); }
void *realloc(void *p, size_t size)
{
	void *q = malloc(size);
	size_t old = p ? ((size_t *)p)[-2] : 0;
	memcpy(q, p ? p : q, old < size ? old : size);
	return q;
}
"""
