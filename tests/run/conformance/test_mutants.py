# SPDX-License-Identifier: MIT
"""Mutants: the interposer with one thing wrong, and the test that must notice.

Each is built from the sources with one line replaced.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import BUILD, TOP
from tests.mutant import changed
from tests.processes import HANG_S
from tests.run.conformance.asking import OURS, differences, wanted
from tests.run.conformance.generate import Case, load
from tests.run.conftest import Compile, environment, output

INTERPOSER = TOP / "run"
RUNS = 20
UNCHANGED = BUILD / "native/liboverlock-run.so"
REPORTS = ("demand", "report", "report_say", "report_text", "stacks")  # of the counted library
SOURCES = (
    *(
        "api.c",
        "barrier.c",
        "clock.c",
        "cond.c",
        "defer.c",
        "environment.c",
        "filter.c",
        "gate.c",
        "mutex.c",
    ),
    *("note.c", "outside.c", "rwlock.c", "sleep.c", "spin.c", "start.c", "terminal.c"),
    *("diag/choice.c", "diag/symbols.c"),
    *(f"adapters/{adapter.name}" for adapter in INTERPOSER.glob("adapters/*.c")),
)


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    right: str
    wrong: str
    lock: str
    program: tuple[str, ...]
    also: tuple[tuple[str, str, str], ...] = ()  # changes that are harmless alone
    spinlock: str = "tas_yield"
    sites: str = ""  # rules
    source: tuple[str, ...] = ()  # options to compile the program with


GATE = "return ol_run_gate_wait(m, ops, until);"
POLL = """{
		do {
			if (ops->trylock(m->lock))
				return true;
			ol_yield();
		} while (!ol_passed(until));
		return false;
	}"""
DEADLINE = ("deadline.c", "1", "3", "2")
CONFORMANCE = ("conformance.c",)
SHORT = ("short_of_memory.c", "6000", "6")
CASES = "cases of the table"

SLOW_SIGNAL = (
    "cond.c",
    "futex_wake(low_half(&c->turn), all ? INT_MAX : 1);",
    "usleep(150000); futex_wake(low_half(&c->turn), all ? INT_MAX : 1);",
)

LOADED = "loading.so"
LATE_WAITER = "a late waiter keeps the wake-up"

MUTANTS = [
    *(
        Mutant(f"no gate, {lock}", "mutex.c", GATE, POLL, lock, DEADLINE)
        for lock in ("ticket", "mcs", "twa")
    ),
    Mutant(
        "offer lost by who gives up",
        "gate.c",
        "return !give_up_late(a);",
        """{
				while (!(look(a->mutex) & OFFER) && a->ops->is_locked(a->mutex->lock))
					ol_yield();
				leave(a->mutex);
				return false;
			}""",
        "ticket",
        ("giving_up.c",),
    ),
    Mutant(
        "hands over to ghosts",
        "mutex.c",
        "return renounce(m);",
        "return ops->release(m->lock);",
        "ticket",
        ("fork.c", "3"),
    ),
    Mutant(
        "a free mutex is unlocked",
        "mutex.c",
        "return ops->release(m->lock);",
        "{ ops->unlock(m->lock); return 0; }",
        "ticket",
        ("free_unlock.c",),
    ),
    Mutant(
        "queues before the first in this epoch",
        "mutex.c",
        "if (is_of_this_epoch(m) || !acquire_first(m, ops, OL_NEVER))",
        "ol_store_relaxed(&m->epoch, ol_run_process.number);",
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
        "s.seen = note_turn(c); error = ol_run_mutex_unlock(m);",
        "error = ol_run_mutex_unlock(m); ol_yield(); s.seen = note_turn(c);",
        "tas_yield",
        ("conditions.c", "100"),
    ),
    Mutant(
        "a jump leaves the waiter in the list",
        "sleep.c",
        "if (w->mutex && is_listed(w)) get_up(w); if",
        "if",
        "tas_yield",
        ("jumping.c",),
    ),
    Mutant(
        "a jump leaves the wait for an offer",
        "gate.c",
        "if (a->is && !give_up(a->mutex))",
        "if (0)",
        "ticket",
        ("jumping.c", "timed"),
    ),
    Mutant(
        "cancelled without the mutex",
        "cond.c",
        "ol_run_mutex_lock(s->mutex, 0); }",
        "}",
        "tas_yield",
        ("cancel.c",),
    ),
    Mutant(
        "destroy does not wait",
        "cond.c",
        "while ((left = ol_load_acquire(low_half(&c->users))) != COND_DESTROY)",
        "while (0)",
        "tas_yield",
        CONFORMANCE,
        (("cond.c", "leave(c); locked", "usleep(1000); leave(c); locked"),),
    ),
    Mutant(
        LATE_WAITER,
        "cond.c",
        "pass_on(c, s.seen);",
        "(void)pass_on;",
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
        "flags(c) & COND_MONOTONIC ? CLOCK_MONOTONIC : CLOCK_REALTIME",
        "CLOCK_REALTIME",
        "tas_yield",
        CONFORMANCE,
    ),
    Mutant(
        "robust and shared ones taken for ours",
        "interposer.h",
        "KIND_OURS = KIND_TYPE |",
        "KIND_OURS = 0x90 | KIND_TYPE |",
        "tas_yield",
        CONFORMANCE,
    ),
    Mutant(
        "two locks for one mutex",
        "outside.c",
        "if (o && ol_cas_acq_rel(slot, now, lock_in(o)))",
        "usleep(50); ol_store_release(slot, lock_in(o)); if (true)",
        "partitioned_ticket",
        ("reborn.c",),
        (("outside.c", "#include <sys/mman.h>", "#include <sys/mman.h>\n#include <unistd.h>"),),
    ),
    Mutant(
        "a lock left behind for each mutex",
        "outside.c",
        "= find_left(slot, inner);",
        "= 0; (void)find_left;",
        "partitioned_ticket",
        ("reborn.c",),
    ),
    *(
        Mutant(name, "outside.c", right, wrong, "partitioned_ticket", SHORT)
        for name, right, wrong in (
            (
                "ends the program when out of memory",
                "if (!o) return 0;",
                'if (!o) ol_run_refuse("outside", "out of memory");',
            ),
            (
                "a lock outside for a mutex that is held in place",
                "if (now == HERE) return 0;"
                "if (is_lock_of(slot, now)) return now; /* since we looked */"
                "o = find_left(slot, inner);"
                "if (!o) o = insert(slot, inner);",
                "o = find_left(slot, inner);"
                "if (!o) o = insert(slot, inner);"
                "if (o && now == HERE) ol_store_release(slot, lock_in(o));",
            ),
            ("held in place for ever", "ol_store_release(slot, (void *)0);", ";"),
        )
    ),
    Mutant(
        "mixed waits do not look",
        "cond.c",
        "CLOCK_MONOTONIC, &t",
        "CLOCK_MONOTONIC, 0",
        "tas_yield",
        ("mixed.c",),
    ),
    # By the table of conformance cases: those whose names fit.
    Mutant(
        "every thread of the child is the one that forked",
        "start.c",
        '_Thread_local uint32_t my_former_id __attribute__((tls_model("initial-exec")));',
        "uint32_t my_former_id;",
        "tas_yield",
        (CASES, "mutex/recursive/forked-held/consistent"),
    ),
    Mutant("no epoch", "start.c", "ol_run_epoch++;", "", "ticket", ("fork.c", "3")),
    Mutant(
        "destroy when held",
        "mutex.c",
        "return EBUSY; ol_store_relaxed",
        "return 0; ol_store_relaxed",
        "mcs",
        (CASES, "mutex/*/held-by-self/destroy"),
    ),
    Mutant(
        "destroyed is as good as new",
        "mutex.c",
        "ol_store_relaxed(&m->kind, (uint32_t)-1);",
        "m->kind = 0;",
        "mcs",
        (CASES, "mutex/normal/destroyed/*"),
    ),
    Mutant(
        "no time is a time",
        "mutex.c",
        "if (!ol_run_time_is_valid(until)) return EINVAL;",
        "",
        "ticket",
        (CASES, "mutex/normal/held-by-other/*-no-time"),
    ),
    Mutant(
        "every clock is known",
        "clock.c",
        "return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;",
        "return clock >= 0;",
        "ticket",
        (CASES, "mutex/normal/free/*unknown-clock"),
    ),
    Mutant(
        "wrong clock for a mutex",
        "mutex.c",
        "uint64_t left = ol_run_ns_left(clock, until);",
        "uint64_t left = ol_run_ns_left(CLOCK_REALTIME, until);",
        "tas_yield",
        (CASES, "mutex/normal/held-by-other/clocklock-monotonic-late"),
    ),
    Mutant(
        "recursion is not counted",
        "mutex.c",
        "m->depth++;",
        "",
        "tas_yield",
        (CASES, "mutex/recursive/held-twice/unlock"),
    ),
    Mutant(
        "a checked mutex waits for itself",
        "mutex.c",
        "return is_recursive(m) ? acquire_again(m) : EDEADLK; } else if (IS_CHECKED",
        "return acquire_again(m); } else if (IS_CHECKED",
        "tas_yield",
        (CASES, "mutex/errorcheck/held-by-self/lock"),
    ),
    Mutant(
        "lost signal",
        "cond.c",
        "if (w < ONE_WAITER) return 0; next",
        "if (w < 2 * ONE_WAITER) return 0; next",
        "tas_yield",
        (CASES, "cond/static/normal/wait-signal*"),
    ),
    Mutant(
        "no cancellation",
        "cond.c",
        "pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &s->type);",
        "pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &s->type);",
        "tas_yield",
        (CASES, "cond/static/normal/wait-cancelled"),
    ),
    Mutant(
        "a wait keeps the mutex",
        "cond.c",
        "error = ol_run_mutex_unlock(m); if (error) {",
        "error = mutex_is_glibc(m) ? ol_run_mutex_unlock(m) : 0; if (error) {",
        "tas_yield",
        (CASES, "cond/static/normal/wait-broadcast"),
    ),
    Mutant(
        "C11 has no recursive mutexes",
        "api.c",
        "(type | mtx_timed) == (mtx_recursive | mtx_timed)",
        "type == (mtx_recursive | mtx_timed)",
        "tas_yield",
        (CASES, "c11/recursive/held-by-self/trylock"),
    ),
    Mutant(
        "C11 calls every failure an error",
        "api.c",
        "case ETIMEDOUT: return thrd_timedout;",
        "",
        "tas_yield",
        (CASES, "c11/timed/held-by-other/timedlock-soon"),
    ),
    Mutant(
        "a reader does not pass a waiting writer",
        "rwlock.c",
        ": OL_QRW_HELD;",
        ": OL_QRW_HELD | OL_QRW_WAITING;",
        "tas_yield",
        (CASES, "rwlock/static/read-by-self-writer-waits/rdlock"),
    ),
    Mutant(
        "every reader passes a waiting writer",
        "rwlock.c",
        "? OL_QRW_HELD | OL_QRW_WAITING",
        "? OL_QRW_HELD",
        "tas_yield",
        (CASES, "rwlock/nonrecursive/read-by-other-writer-waits/tryrdlock"),
    ),
    Mutant(
        "a writer waits for itself",
        "rwlock.c",
        "return is_mine(r) ? EDEADLK : wait(r, wait_to_write, clock, until);",
        "return wait(r, wait_to_write, clock, until);",
        "tas_yield",
        (CASES, "rwlock/static/written-by-self/wrlock"),
    ),
    Mutant(
        "a writer is forgotten by its child",
        "rwlock.c",
        "ol_load_relaxed(&r->owner_epoch) == ol_run_epoch ? ",
        "1 ? ",
        "tas_yield",
        (CASES, "rwlock/static/forked-written/timedrdlock-soon"),
    ),
    Mutant(
        "ghosts stay in the line",
        "rwlock.c",
        "renew(r);",
        "(void)renew;",
        "tas_yield",
        (CASES, "rwlock/static/forked-read-writer-waits/unlock"),
    ),
    Mutant(
        "who steals takes the announcement too",
        "rwlock.c",
        "w | OL_QRW_HELD))",
        "OL_QRW_HELD))",
        "tas_yield",
        ("rwlock.c", "2000", "0"),
    ),
    Mutant(
        "a reader enters beside a writer",
        "rwlock.c",
        "if (w & bars)",
        "if (w & bars & OL_QRW_WAITING)",
        "tas_yield",
        (CASES, "rwlock/static/written-by-other/tryrdlock"),
    ),
    Mutant(
        "a late reader has the time",
        "rwlock.c",
        "if (until && !ol_run_ns_left(clock, until))",
        "if (until && !ol_run_ns_left(CLOCK_REALTIME, until))",
        "tas_yield",
        (CASES, "rwlock/static/written-by-other/clockrdlock-monotonic-late"),
    ),
    Mutant(
        "nonsense is looked at late",
        "rwlock.c",
        "return until && (",
        "return !until && (",
        "tas_yield",
        (CASES, "rwlock/static/free/timedrdlock-no-time"),
    ),
    Mutant(
        "a spinlock is not made",
        "spin.c",
        "memset(word_of(l), 0, sizeof(*l));",
        "",
        "tas_yield",
        (CASES, "spin/private/free/trylock"),
    ),
    Mutant(
        "a held spinlock is said to be taken",
        "spin.c",
        "0 : EBUSY",
        "0 : EAGAIN",
        "tas_yield",
        (CASES, "spin/*/held-by-other/trylock"),
    ),
    Mutant(
        "a spinlock with a line",
        "defaults.h",
        "OL_FIFO | OL_LATE_FIFO |",
        "0u |",
        "tas_yield",
        ("spinlock.c", "10", "10"),
        spinlock="ticket",
    ),
    Mutant(
        "handlers of an allocator come before ours",
        "start.c",
        "ol_run_real.register_atfork(0, 0, child, 0); ol_watch_forks();",
        "",
        "ticket",
        ("fork_allocator.c",),
        (
            (
                "start.c",
                "ol_run_sleepers_start();",
                "ol_run_real.register_atfork(0, 0, child, 0); ol_run_sleepers_start();",
            ),
            # As before Linux 4.14: else a child knows itself, whichever handler comes first.
            (
                "start.c",
                "!madvise(&ol_run_process, sizeof(ol_run_process), MADV_WIPEONFORK)",
                "false",
            ),
        ),
    ),
    Mutant(
        "a copy has the lock of its original",
        "outside.c",
        "return word && word != HERE && outside_of(word)->mutex == mutex;",
        "(void)mutex; return word && word != HERE && outside_of(word)->mutex;",
        "partitioned_ticket",
        ("copied.c",),
    ),
    Mutant(
        "a lock that another thread has attached is replaced",
        "outside.c",
        "if (is_lock_of(slot, now)) return now; /* since we looked */",
        "usleep(50); now = ol_load_acquire(slot);",
        "partitioned_ticket",
        ("reborn.c",),
        (("outside.c", "#include <sys/mman.h>", "#include <sys/mman.h>\n#include <unistd.h>"),),
    ),
    Mutant(
        "a copy without memory waits for its original's lock to go",
        "outside.c",
        "if (now != HERE && !is_lock_of(slot, now) && ol_cas_acquire(slot, now, HERE))",
        "if (!now && ol_cas_acquire(slot, now, HERE))",
        "partitioned_ticket",
        SHORT,
    ),
    Mutant(
        "a wait changes errno",
        "cond.c",
        "errno = saved; return error;",
        "return error;",
        "tas_yield",
        (CASES, "cond/static/normal/timedwait-soon"),
        (("cond.c", "FUTEX_PRIVATE_FLAG, saved = errno, error;", "FUTEX_PRIVATE_FLAG, error;"),),
    ),
    Mutant(
        "memory that is not there changes errno",
        "outside.c",
        "errno = saved;",
        "(void)saved;",
        "partitioned_ticket",
        SHORT,
    ),
    Mutant(
        "whoever decides last prevails",
        "choice.c",
        "if (ol_cas_relaxed(&m->kind, kind, kind | choice << KIND_CHOICE_SHIFT))",
        "usleep(50);"  # at one of 2000 first uses, both threads are here
        "ol_store_relaxed(&m->kind, kind | choice << KIND_CHOICE_SHIFT); if (1)",
        "tas_yield",
        ("sites.cpp",),
        (("choice.c", "#include <stdio.h>", "#include <stdio.h>\n#include <unistd.h>"),),
        sites="mcs *meet<1>\nticket *meet<2>",
    ),
    Mutant(
        "deciding asks the loader",
        "choice.c",
        "if (!k) return best;",
        "Dl_info info; dladdr(address, &info); if (!k) return best;",
        "tas_yield",
        ("loading.c", LOADED),
        (("choice.c", "#include <stdio.h>", "#include <dlfcn.h>\n#include <stdio.h>"),),
        sites="mcs *any*",
        source=("-rdynamic",),
    ),
    Mutant(
        "deciding allocates",
        "choice.c",
        "uintptr_t reach = 0;",
        "char *volatile p = malloc(100); uintptr_t reach = 0; free(p);",
        "tas_yield",
        ("allocator.c",),
        sites="mcs allocate",
        source=("-fno-builtin",),
    ),
]


def build(folder: Path, mutant: Mutant, flavour: str = "") -> Path:
    """Plain, "counted" or "checked"."""
    for source in filter(Path.is_file, INTERPOSER.rglob("*")):
        text = source.read_text()
        changes = ((mutant.file, mutant.right, mutant.wrong), *mutant.also)
        text = changed(text, *((old, new) for file, old, new in changes if source.match(file)))
        copy = folder / source.relative_to(INTERPOSER)
        copy.parent.mkdir(exist_ok=True)
        copy.write_text(text)
    out = folder / "liboverlock-run.so"
    command: list[str | Path] = [
        "gcc",
        "-std=gnu11",
        "-O2",
        "-g",
        "-fPIC",
        "-shared",
        "-D_GNU_SOURCE",
        "-pthread",
    ]
    command += ["-include", folder / "weak.h"]
    folders = [f"-I{f}" for f in (folder, TOP / "include", BUILD / "include", TOP / "lib")]
    library = BUILD / "lib/liboverlock.a"
    files = [*(folder / name for name in SOURCES), TOP / "lib/lock_unit.c"]
    command += ["-DOL_THIS_spin_yield=OL_YES", f'-DOL_HEADER="{folder}/spin_yield.h"']
    if flavour:
        library = BUILD / "lib/liboverlock_counted.a"
        command.append("-DOL_COUNTED")
        files += [folder / f"diag/{name}.c" for name in REPORTS]
    if flavour == "checked":
        command.append("-DOL_CHECKED")
        files.append(folder / "diag/misuse.c")
    subprocess.run(
        [
            *command,
            *folders,
            *files,
            library,
            "-Wl,--exclude-libs,ALL",
            "-ldl",
            "-l:libstdc++.a",
            "-o",
            out,
        ],
        check=True,
    )
    return out


def served(library: Path, mutant: Mutant) -> dict[str, str]:
    more = {"OVERLOCK_RWLOCK": "qrw", "OVERLOCK_SPINLOCK": mutant.spinlock}
    return environment(mutant.lock, library, OVERLOCK_SITES=mutant.sites, **more)


def healthy(command: list[str | Path], env: dict[str, str], expected: str) -> bool:
    done = subprocess.run(
        [*map(str, command)],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert "preload" not in done.stderr, done.stderr
    return done.returncode == 0 and done.stdout == expected


@cache
def natively(*command: str | Path) -> str:
    return output([*command], environment(None))


def cases_of(patterns: tuple[str, ...]) -> dict[str, tuple[Case, str]]:
    every = wanted(load(), {*OURS, "rwlock", "spin"})
    return {n: c for n, c in every.items() if any(fnmatchcase(n, p) for p in patterns)}


def case_differs(program: Path, library: Path, mutant: Mutant) -> bool:
    chosen = cases_of(mutant.program[1:])
    assert chosen, f"{mutant.name}: no case is called {mutant.program[1:]}"
    for seconds in (3, 30, 300):  # the first within which nothing hangs without the mutant
        if not differences(program, chosen, env=served(UNCHANGED, mutant), seconds=seconds):
            env = served(library, mutant)
            return bool(differences(program, chosen, env=env, seconds=seconds))
    pytest.fail(f"{mutant.name}: its cases fail without it")


def to_run(program: Compile, mutant: Mutant) -> list[str | Path]:
    source, *args = mutant.program
    made = program(source, *mutant.source)
    return [made, *(made.parent / arg if arg == LOADED else arg for arg in args)]


def fails(program: Compile, asked: Path, library: Path, mutant: Mutant) -> bool:
    if mutant.program[0] == CASES:
        return case_differs(asked, library, mutant)
    command = to_run(program, mutant)
    with subprocess.Popen(
        list(map(str, command)),
        env=served(library, mutant),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as child:
        if hangs(child, command, mutant):
            os.killpg(child.pid, signal.SIGKILL)
            return True
        assert child.stdout
        return child.stdout.read() != natively(*command) or child.wait() != 0


def hangs(child: "subprocess.Popen[str]", command: list[str | Path], mutant: Mutant) -> bool:
    """For five seconds and, on a slow machine, for three runs without the mutant beside it."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(5)
        return False
    unchanged = replace(mutant, spinlock=Mutant.spinlock)  # it refuses what a mutant may not
    for _ in range(3):
        assert healthy(command, served(UNCHANGED, unchanged), natively(*command))
    return child.poll() is None


def is_caught(program: Compile, asked: Path, folder: Path, mutant: Mutant) -> bool:
    """A few need others to come at the right time: if half of the runs miss that, RUNS in a row do
    once in 10^6."""
    folder.mkdir()
    library = build(folder, mutant)
    return any(fails(program, asked, library, mutant) for _ in range(RUNS))


@pytest.fixture(scope="session")
def caught(program: Compile, cases: Path, folder: Path) -> dict[str, Future[bool]]:
    """Several at a time: most of them hang when they are caught."""
    program("loading.c", "-DLIBRARY", "-shared", "-fPIC", name=LOADED)
    for mutant in MUTANTS:
        if mutant.program[0] != CASES:
            natively(*to_run(program, mutant))
    with ThreadPoolExecutor(4) as pool:
        return {
            m.name: pool.submit(is_caught, program, cases, folder / f"mutant-{i}", m)
            for i, m in enumerate(MUTANTS)
        }


def test_every_case_is_well_without_a_mutant(cases: Path) -> None:
    """That which the mutants are judged by fails for them alone."""
    for mutant in MUTANTS:
        if mutant.program[0] == CASES:
            env = served(UNCHANGED, mutant)
            assert not differences(cases, cases_of(mutant.program[1:]), env=env)


def needs_real_time(stolen: Path) -> None:
    if "may not" in natively(stolen):
        pytest.skip("this user may not start real-time threads")


def test_a_late_waiter_passes_the_wake_up_on(program: Compile, folder: Path) -> None:
    needs_real_time(program("stolen.c"))
    (folder / "slow").mkdir()
    mutant = Mutant("slow signal", *SLOW_SIGNAL, "tas_yield", ("stolen.c",))
    slow = build(folder / "slow", mutant)
    stolen = program("stolen.c")
    assert healthy([stolen], served(slow, mutant), natively(stolen))


def test_an_offered_mutex_is_looked_at_no_more(program: Compile, folder: Path) -> None:
    """Its next holder may have freed it."""
    published = "if (!(next & OFFER))\n\t\treturn false;"
    slow = ("gate.c", published, f"{published}\n\tusleep(150000);")
    include = ("gate.c", '#include "interposer.h"', '#include "interposer.h"\n#include <unistd.h>')
    late = (
        "gate.c",
        "ol_run_count_release(lock, ops);",
        "ol_run_count_release(ol_run_outside_at(m, ops), ops);",
    )
    freed = program("freed_on_offer.c")
    for name, also, survives in (("offer", (include,), True), ("late", (include, late), False)):
        (folder / name).mkdir()
        mutant = Mutant(name, *slow, "partitioned_ticket", ("freed_on_offer.c",), also)
        library = build(folder / name, mutant, "counted")
        assert healthy([freed], served(library, mutant), "fine\n") == survives


def test_attributes_in_a_fixed_word_are_caught(
    attributes_in: Callable[[int, Path], str], folder: Path
) -> None:
    (folder / "fixed").mkdir()
    fixed = ("cond.c", "c->glibcs[flags_at]", "c->glibcs[5]")
    mutant = build(folder / "fixed", Mutant("fixed word", *fixed, "tas_yield", ()))
    assert attributes_in(9, mutant) == "monotonic: waited\nprocess-shared: left to glibc\n"
    assert attributes_in(7, mutant) == "monotonic: early\n"


@pytest.mark.parametrize("name", [mutant.name for mutant in MUTANTS])
def test_mutant_is_caught(program: Compile, caught: dict[str, Future[bool]], name: str) -> None:
    if name == LATE_WAITER:
        needs_real_time(program("stolen.c"))
    assert caught[name].result()
