# SPDX-License-Identifier: MIT
"""Ordinary locks, as their authors left them: `overlock check FILE` says which functions it took,
finds a planted mistake, and points to its line. Each correct lock holds."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.command import Done, run_forked, schema
from tests.conftest import NATIVE, TOP
from tests.mutant import changed

LOCKS = Path(__file__).parent / "locks"
SCHEMA = schema("check")
CLIENT = {"client.cpp", "client_waits.cpp"}
UNORDERED = "not ordered by happens-before"

# What it says that it takes.
TAKEN = {
    "futex_mutex.c": "struct futex_mutex: futex_mutex_init, futex_mutex_lock, futex_mutex_unlock, "
    "futex_mutex_trylock",
    "ticket.c": "ticket_lock_t: ticket_init, ticket_acquire, ticket_release",
    "flag.h": "spin_t: spin_lock, spin_unlock, spin_trylock",
    "macros.h": "struct bit_lock: BIT_LOCK, BIT_UNLOCK, BIT_TRYLOCK",
    "generated.c": "struct posix_lock: posix_lock_lock, posix_lock_unlock, posix_lock_trylock "
    "(0: acquired)",
    "mcs.c": "struct mcs with struct mcs_node: mcs_lock, mcs_unlock, mcs_trylock",
    "rwlock.c": "struct rwlock: rw_wrlock, rw_wrunlock, rw_rdlock, rw_rdunlock",
    "semaphore.c": "struct sem: sem_init, sem_wait, sem_post",
    "condition.c": "struct cond with struct mutex: mutex_lock, mutex_unlock, cond_wait, "
    "cond_signal, cond_broadcast",
    "spinlock.hpp": "app::detail::SpinLock: lock, unlock, try_lock",
    "template.hpp": "TicketLock<>: lock, unlock",
    "shared.cc": "db::Latch: lock, unlock, lock_shared, unlock_shared",
    "spin.rs": "RawSpin: raw_spin_init, raw_spin_lock, raw_spin_unlock, raw_spin_try_lock",
    "no_std.rs": "Ticket: ticket_lock, ticket_unlock",
}

# File, what is changed in it, the model and what fails, and the text of a line that the trace has.
SEEN = "\tunsigned seen = atomic_load_explicit(&c->signals, memory_order_relaxed);"
Mistake = tuple[str, tuple[str, str], str, str, str]
MISTAKES: list[Mistake] = [
    (
        "futex_mutex.c",
        (
            "CONTENDED, memory_order_acquire) != FREE)\n\t\tsleep_while(&m->state, CONTENDED)",
            "HELD, memory_order_acquire) != FREE)\n\t\tsleep_while(&m->state, HELD)",
        ),
        *("sc", "lost wake-up", "syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE"),
    ),
    (
        "ticket.c",
        ("mine + 1, memory_order_release", "mine + 1, memory_order_relaxed"),
        *("c11", UNORDERED, "mine + 1, memory_order_relaxed"),
    ),
    ("flag.h", ("memory_order_release", "memory_order_relaxed"), "c11", UNORDERED, "flag_clear"),
    ("macros.h", ("__ATOMIC_RELEASE", "__ATOMIC_RELAXED"), "c11", UNORDERED, "BIT_UNLOCK(l)"),
    (
        "generated.c",
        ("memory_order_release", "memory_order_relaxed"),
        *("c11", UNORDERED, "DEFINE_LOCK(posix_lock)"),
    ),
    (
        "mcs.c",
        ("false, memory_order_release", "false, memory_order_relaxed"),
        *("c11", UNORDERED, "&next->waits, false"),
    ),
    (
        "rwlock.c",
        ("readers, 1, memory_order_release", "readers, 1, memory_order_relaxed"),
        *("c11", UNORDERED, "atomic_fetch_sub_explicit"),
    ),
    (
        "semaphore.c",
        ("if (atomic_load(&s->waiters))", "if (atomic_load(&s->waiters) > 1)"),
        *("sc", "lost wake-up", "FUTEX_WAIT_PRIVATE, 0"),
    ),
    (
        "condition.c",
        (
            f"{SEEN}\n\n\tmutex_unlock(m);",
            f"\tmutex_unlock(m);\n\n{SEEN}",
        ),
        *("sc", "lost wake-up", "FUTEX_WAIT_PRIVATE, seen"),
    ),
    (
        "spinlock.hpp",
        ("std::memory_order_release", "std::memory_order_relaxed"),
        *("c11", UNORDERED, "held_.store(false"),
    ),
    (
        "template.hpp",
        ("Word mine = next_++;", "Word mine = next_;\n\t\tnext_ = mine + 1;"),
        *("sc", "deadlock", "Word mine = next_;"),
    ),
    (
        "shared.cc",
        ("(1, std::memory_order_release)", "(1, std::memory_order_relaxed)"),
        *("c11", UNORDERED, "word_.fetch_sub(1,"),
    ),
    ("spin.rs", ("Ordering::Release", "Ordering::Relaxed"), "c11", UNORDERED, "l.held.store"),
    ("no_std.rs", ("Ordering::Release", "Ordering::Relaxed"), "c11", UNORDERED, "serving.store"),
]


def overlock(folder: Path, *words: str | Path, **variables: str) -> Done:
    own = {"OVERLOCK_NATIVE": str(NATIVE), "XDG_CACHE_HOME": str(folder / "cache")}
    return run_forked(list(map(str, words)), folder, {**os.environ, **own, **variables})


def check(folder: Path, *words: str | Path) -> tuple[Done, list[dict[str, Any]]]:
    written = folder / "out.json"
    done = overlock(folder, "check", *words, "--json", written)
    assert done.returncode in (0, 1, 4), done.stdout + done.stderr
    document = json.loads(written.read_text())
    Draft202012Validator(SCHEMA).validate(document)
    return done, document["results"]


def skip_without_rust(file: str) -> None:
    if file.endswith(".rs") and not shutil.which("rustc"):
        pytest.skip("needs rustc")


@pytest.mark.parametrize("file", TAKEN)
def test_correct_lock_holds(tmp_path: Path, file: str) -> None:
    skip_without_rust(file)
    done, results = check(tmp_path, LOCKS / file, "--size", "2x1", "--model", "all")
    assert done.stdout.splitlines()[0] == f"{file}: checks {TAKEN[file]}"
    assert {one["words"] for one in results} == {"exhausted: holds"}


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake[0])
def test_mistake_is_found_at_its_line(tmp_path: Path, mistake: Mistake) -> None:
    file, change, model, fails, line = mistake
    skip_without_rust(file)
    shutil.copytree(LOCKS, tmp_path / "locks")
    copy = tmp_path / "locks" / file
    copy.write_text(changed(copy.read_text(), change))
    done, results = check(tmp_path, copy, "--size", "2x2", "--model", model)
    assert done.returncode == 1, done.stdout
    failed = [one["failure"] for one in results if one["failure"]]
    assert failed[0]["property"] == fails
    events = [event for event in failed[0]["events"] if event["line"]]
    lines = copy.read_text().splitlines()
    own = [lines[event["line"] - 1] for event in events if event["file"] == file]
    assert any(line in text for text in own), own
    assert {event["file"] for event in events} <= {file, *CLIENT}


def test_operations_are_in_the_result(tmp_path: Path) -> None:
    _, results = check(tmp_path, LOCKS / "ticket.c", "--size", "2x1", "--model", "sc")
    assert results[0]["operations"] == {
        "type": "ticket_lock_t",
        "init": "ticket_init",
        "lock": "ticket_acquire",
        "unlock": "ticket_release",
    }


def test_what_can_be_waited_on_is_explored_as_such(tmp_path: Path) -> None:
    """Without being asked: condition variables, semaphores, readers."""
    asked = ("--size", "2x1", "--model", "sc")
    for file, scenarios in (
        ("condition.c", ["lock", "wait"]),
        ("semaphore.c", ["lock", "count"]),
        ("rwlock.c", ["lock", "lock"]),
    ):
        _, results = check(tmp_path, LOCKS / file, *asked)
        assert [one["scenario"] for one in results] == scenarios
    for size, roles in (("2x1", ["", "wr"]), ("3x1", ["", "wwr", "wrr"])):
        _, results = check(tmp_path, LOCKS / "rwlock.c", "--size", size)
        assert [one["roles"] for one in results] == roles


def test_trace_can_be_replayed(tmp_path: Path) -> None:
    """By the command that is printed, which names the type and the options."""
    file = LOCKS / "two_locks.c"
    wrong = tmp_path / "two.c"
    wrong.write_text(file.read_text().replace("__sync_lock_test_and_set(&l->held, 1)", "l->held"))
    options = ("--type", "writer", "--fifo", "--size", "2x1", "--model", "sc")
    done, results = check(tmp_path, wrong, *options)
    command = results[0]["failure"]["command"]
    assert command in done.stdout
    assert "--type writer --fifo" in command
    words = [word.strip("'") for word in command.split()[2:]]
    again = overlock(tmp_path, "check", *words)
    assert again.returncode == 1, again.stderr
    assert f"FAILS: {results[0]['failure']['property']}" in again.stdout


def test_result_is_cached(tmp_path: Path) -> None:
    """Although the table is written anew."""
    for file in ("ticket.c", "spinlock.hpp"):
        said = [
            overlock(tmp_path, "check", LOCKS / file, "--size", "2x1", "--model", "sc").stdout
            for _ in range(2)
        ]
        assert ["(cached)" in text for text in said] == [False, True]


@pytest.mark.parametrize(
    ("name", "text", "options", "said"),
    [
        (
            "two.c",
            (LOCKS / "two_locks.c").read_text(),
            (),
            "two.c has 2 locks, struct reader and struct writer; choose one: --type reader",
        ),
        (
            "two.c",
            (LOCKS / "two_locks.c").read_text(),
            ("--type", "other"),
            "--type other: two.c has no such lock; expected reader or writer",
        ),
        (
            "odd.c",
            "struct odd { int v; };\nvoid grab(struct odd *l) {}\n",
            (),
            "odd.c has neither a table (overlock_checked) nor functions such as mylock_lock(struct "
            "mylock *) and mylock_unlock(); write a table: overlock new --wrap odd.c",
        ),
        (
            "only.h",
            "struct m;\nvoid m_lock(struct m *l);\nvoid m_unlock(struct m *l);\n",
            (),
            "only.h declares m_lock() and does not define it; give the file that does",
        ),
        (
            "typo.c",
            (LOCKS / "ticket.c").read_text().replace("&l->next, 1", "&l->absent, 1"),
            (),
            "typo.c does not compile: typo.c:18: 'ticket_lock_t' has no member named 'absent'; "
            "correct it, or give the compiler's options with --cflags",
        ),
        (
            "lacks.c",
            '#include "config.h"\n' + (LOCKS / "ticket.c").read_text(),
            (),
            "lacks.c does not compile: lacks.c:1: config.h: No such file or directory; give its "
            "folder: --cflags=-IFOLDER",
        ),
        (
            "typo.hpp",
            (LOCKS / "spinlock.hpp").read_text().replace("held_.store", "held_.absent"),
            (),
            "typo.hpp does not compile: typo.hpp:32: 'struct std::atomic<bool>' has no member "
            "named 'absent'; correct it, or give the compiler's options with --cflags",
        ),
        (
            "calls.c",
            "void pause_a_while(void);\n"
            + (LOCKS / "ticket.c").read_text().replace("\t\t;", "\t\tpause_a_while();"),
            (),
            "pause_a_while is not defined; include the source file that defines it",
        ),
        (
            "jumps.c",
            "#include <setjmp.h>\nstatic jmp_buf back;\n"
            + (LOCKS / "ticket.c").read_text().replace("\t\t;", "\t\tlongjmp(back, 1);"),
            (),
            "jumps.c calls longjmp, which the checker cannot follow; leave it out",
        ),
        (
            "local.c",
            '__thread int turns __attribute__((tls_model("initial-exec")));\n'
            + (LOCKS / "ticket.c").read_text().replace("\t\t;", "\t\tturns++;"),
            (),
            "local.c has a thread-local variable turns of a model of which the checker cannot give "
            "each context its own; leave out its tls_model, or -ftls-model",
        ),
        (
            "nothing.cc",
            "int f() { return g(); }\n",
            (),
            "nothing.cc does not compile: nothing.cc:1: 'g' was not declared in this scope; "
            "correct it, or give the compiler's options with --cflags",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and "." in value[:10] else "",
)
def test_what_cannot_be_checked(
    tmp_path: Path, name: str, text: str, options: tuple[str, ...], said: str
) -> None:
    """One line says why, and what to do."""
    (tmp_path / name).write_text(text)
    done = overlock(tmp_path, "check", name, *options, "--size", "2x1")
    assert done.returncode == 2, done.stdout
    assert done.stderr == f"overlock: {said}\n"


@pytest.mark.parametrize(
    ("file", "compiler"), [("ticket.c", "gcc"), ("spinlock.hpp", "g++"), ("spin.rs", "rustc")]
)
def test_compiler_is_missing(tmp_path: Path, file: str, compiler: str) -> None:
    done = overlock(tmp_path, "check", LOCKS / file, PATH=str(tmp_path))
    assert done.returncode == 3
    assert f" file needs {compiler}; install " in done.stderr
    assert done.stderr.count("\n") == 1


def test_file_with_calls_of_the_checker_needs_no_table(tmp_path: Path) -> None:
    text = (LOCKS / "ticket.c").read_text().replace("\t\t;", "\t\tol_checked_spin();")
    (tmp_path / "ticket.c").write_text("#include <overlock/checked.h>\n" + text)
    done, results = check(tmp_path, "ticket.c", "--size", "2x1", "--model", "sc")
    assert done.stdout.splitlines()[0] == f"ticket.c: checks {TAKEN['ticket.c']}"
    assert results[0]["words"] == "exhausted: holds"


def test_rust_error_has_its_line(tmp_path: Path) -> None:
    skip_without_rust("bad.rs")
    text = (LOCKS / "spin.rs").read_text()
    (tmp_path / "bad.rs").write_text(changed(text, ("l.held.store(false,", "l.held.stor(false,")))
    done = overlock(tmp_path, "check", "bad.rs")
    line = 1 + text[: text.index("l.held.store")].count("\n")
    assert done.stderr.startswith(f"overlock: bad.rs does not compile: bad.rs:{line}: ")


def test_fifo_is_declared(tmp_path: Path) -> None:
    """The advice of scenario `waiter` is no longer given, and the order of grants is checked."""
    asked = ("--scenario", "waiter", "--size", "2x2", "--model", "sc")
    plain, _ = check(tmp_path, LOCKS / "ticket.c", *asked)
    told, results = check(tmp_path, LOCKS / "ticket.c", *asked, "--fifo")
    advice = "declare it, --fifo or `.fifo = true` in its table"
    assert [advice in done.stdout for done in (plain, told)] == [True, False]
    assert results[0]["words"] == "exhausted: holds; the other contexts may spin for ever"
    order = ("--size", "3x1", "--model", "sc", "--fifo")
    assert check(tmp_path, LOCKS / "ticket.c", *order)[1][0]["words"] == "exhausted: holds"
    barging = check(tmp_path, LOCKS / "futex_mutex.c", *order)[1][0]
    assert barging["failure"]["property"] == "out of order"


def test_fifo_of_a_header_is_declared_in_its_line(tmp_path: Path) -> None:
    text = (TOP / "include/overlock/lock/ticket.h").read_text()
    line = 'OL_LOCK(mine, waits, OL_FITS4, "here", "a ticket lock")'
    port = "#include <overlock/port.h>"
    text = text.replace(port, f"{port}\n#define OL_LOCK_LINE {line}")
    (tmp_path / "mine.h").write_text(text.replace("ticket", "mine").replace("TICKET", "MINE"))
    done, results = check(tmp_path, "mine.h", "--scenario", "waiter", "--model", "sc")
    assert results[0]["failure"]["property"] == "deadlock"
    assert "declare it, OL_FIFO in the traits of its OL_LOCK_LINE" in done.stdout
    (tmp_path / "mine.h").write_text(
        (tmp_path / "mine.h").read_text().replace("waits, OL_FITS4,", "waits, OL_FITS4 | OL_FIFO,")
    )
    done, results = check(tmp_path, "mine.h", "--scenario", "waiter", "--model", "sc")
    assert results[0]["verdict"] == "holds"
    assert "OL_FIFO" not in done.stdout


@pytest.mark.parametrize(
    ("file", "made"),
    [
        ("ticket.c", "ticket_checked.c"),
        ("macros.h", "macros_checked.c"),
        ("condition.c", "condition_checked.c"),
        ("mcs.c", "mcs_checked.c"),
        ("shared.cc", "shared_checked.cc"),
        ("spinlock.hpp", "spinlock_checked.cc"),
        ("spin.rs", "spin_checked.rs"),
    ],
)
def test_wrapper_is_written(tmp_path: Path, file: str, made: str) -> None:
    """It is checked as the lock is, and another is not written over it."""
    skip_without_rust(file)
    wrapped = overlock(tmp_path, "new", "--wrap", LOCKS / file)
    assert wrapped.returncode == 0, wrapped.stderr
    assert wrapped.stdout.startswith(f"./{made} has the table of the lock of ")
    done, results = check(tmp_path, made, "--size", "2x1", "--model", "c11")
    assert results[0]["words"] == "exhausted: holds", done.stdout
    assert results[0]["operations"] is None
    again = overlock(tmp_path, "new", "--wrap", LOCKS / file)
    assert again.stderr == f"overlock: {made} already exists; remove it or choose another name\n"


def test_template_says_what_to_fill_in(tmp_path: Path) -> None:
    """Of a lock whose functions have other names."""
    odd = (
        "struct odd { int v; };\nvoid grab(struct odd *l) { %s }\nvoid drop(struct odd *l) { %s }\n"
    )
    text = odd % ("while (__sync_lock_test_and_set(&l->v, 1)) ;", "__sync_lock_release(&l->v);")
    (tmp_path / "odd.c").write_text(text)
    assert overlock(tmp_path, "new", "--wrap", "odd.c").returncode == 0
    done = overlock(tmp_path, "check", "odd_checked.c")
    assert "call the function that acquires the lock at o" in done.stderr
    made = tmp_path / "odd_checked.c"
    made.write_text(
        changed(
            made.read_text(),
            ('#error "call the function that acquires the lock at o"', "\tgrab(o);"),
            ('#error "call the function that releases the lock at o"', "\tdrop(o);"),
            ("its_type", "odd"),
        )
    )
    _, results = check(tmp_path, made, "--size", "2x1", "--model", "c11")
    assert results[0]["words"] == "exhausted: holds"


@pytest.mark.parametrize(
    "words",
    [
        ("new",),
        ("new", "name", "--wrap", "x.c"),
        ("new", "name", "--type", "x"),
    ],
)
def test_new_takes_a_name_or_a_file(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = overlock(tmp_path, *words)
    assert done.returncode == 2
    assert "expected either NAME, as in `overlock new mine`, or --wrap FILE" in done.stderr


def test_file_with_a_table_is_not_wrapped(tmp_path: Path) -> None:
    file = TOP / "tests/check/foreign/waiting.c"
    done = overlock(tmp_path, "new", "--wrap", file)
    assert f"{file} already has a table (overlock_checked)" in done.stderr


def test_nodes_of_two_locks_are_apart(tmp_path: Path) -> None:
    """Hand over hand, each context holds two; trylock gives its node back when it fails."""
    asked = ("--scenario", "chain", "--scenario", "try", "--size", "2x1", "--model", "sc")
    _, results = check(tmp_path, LOCKS / "mcs.c", *asked)
    assert [one["words"] for one in results] == ["exhausted: holds"] * 2
