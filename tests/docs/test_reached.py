# SPDX-License-Identifier: MIT
"""What `overlock run` reaches: counts from what perf, the profiler and the interposer say."""

import sys
from pathlib import Path
from typing import Any

import pytest

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tools"))

import reached  # noqa: E402

PERF = """
# Total Lost Samples: 7
    50.00%             20  libc.so.6      [.] __futex_abstimed_wait_common
    20.00%              8  libc.so.6      [.] syscall
    10.00%              4  libgomp.so.1.0.0 [.] 0x000000000001f2c4
     5.00%              2  libomp.so.5    [.] __kmp_suspend_64
    15.00%              6  server         [.] runtime.futex
     2.00%              1  libc.so.6      [.] syscall_cancel_nothing
"""


def test_a_futex_call_is_of_the_object_that_makes_it() -> None:
    found = reached.of_perf(PERF)
    assert found == {"glibc": 20, "syscall()": 9, "OpenMP": 6, "own": 6, "lost": 7}
    assert reached.futex_calls(found) == 41


@pytest.mark.parametrize(
    ("functions", "means"),
    [
        (["futex_wait", "___pthread_mutex_lock", "main"], "pthread"),
        (["__GI___pthread_cond_wait", "std::condition_variable::wait", "work"], "pthread"),
        (["__pthread_cond_wait", "__kmp_suspend_64", "__kmpc_barrier"], "OpenMP"),
        (["gomp_barrier_wait_end", "main"], "OpenMP"),
        (["syscall", "std::sys::sync::mutex::futex::Mutex::lock_contended"], "own futex"),
        (["__new_sem_wait_slow64", "take_gil"], "C library"),
        (["__pthread_clockjoin_ex", "main"], "C library"),
        (["__lll_lock_wait", "___pthread_mutex_lock", "main"], "pthread"),
        (["__lll_lock_wait_private", "malloc"], "C library"),
        (["libc.so.6+0x94db7", "work", "libc.so.6+0x112f97"], "C library"),
        (["libc.so.6+0x94db7", "pthread_cond_timedwait", "take_gil"], "pthread"),
        (["syscall", "work", "libc.so.6+0x94db7"], "own futex"),
        (["0x7f7e2dac7f16", None], "no name"),
        ([None, None], "no name"),
        ([], "no name"),
    ],
)
def test_what_a_stack_waits_by(functions: list[str | None], means: str) -> None:
    assert reached.means_of(functions) == means


def lock(wait_ns: int, **more: Any) -> dict[str, Any]:
    calls = [{"function": more.pop("function", "pthread_mutex_lock")}]
    one = {"wait_ns": wait_ns, "waits": 1, "is_lock": True, "spins": False, "loops": []}
    return one | {"stacks": [{"of": "waiter", "calls": calls}]} | more


def profile(*locks: dict[str, Any], **more: Any) -> dict[str, Any]:
    one = {"locks": list(locks), "wanted_ns": 1000, "lost_ns": 0, "spun_ns": 0, "unsure_ns": 0}
    return one | {"children": 0, "doubts": [], "unwatched": [], "lost": {}, "by": "bpf"} | more


def test_waits_are_summed_over_processes_and_by_means() -> None:
    on_purpose = lock(50, is_lock=False, function="sem_wait")
    child = profile(lock(30, loops=[{}]), lost_ns=30, lost={"stacks": 2})
    report = profile(lock(20), on_purpose, lost_ns=20, children=3, processes=[child])
    found = reached.of_profile(report)
    assert found["locks"] == {"pthread": 20, "spinning": 30}
    assert found["on purpose"] == {"C library": 50}
    assert (found["wanted_ns"], found["lost_ns"]) == (2000, 50)
    assert (found["not_watched"], found["samples_lost"]) == (2, 2)


def test_acquisitions_are_told_apart_by_who_asks() -> None:
    def site(module: str, name: str, acquired: int) -> dict[str, Any]:
        return {"module": module, "lock": name, "events": {"ACQUIRE": acquired, "SLOW_PATH": 1}}

    sites = [site("/usr/lib/libz.so", "tas_yield", 5), site("/home/a/loop", "paced", 7)]
    report = {"sites": {"missed": 2, "sites": sites}, "left": {"rwlock": 3}}
    found = reached.of_counted([report, report])
    assert (found["pthread"], found["OpenMP"], found["missed"]) == (10, 14, 4)
    assert found["left"] == {"rwlock": 6}


def test_what_spins_says() -> None:
    said = "overlock: a, process 1: 12 waiting loops yield; threads waited in 2 of them; 30 yields"
    assert reached.of_spins(f"{said}\n{said}\n") == {"loops": 12, "waited_in": 4, "yields": 60}
    assert reached.of_spins("nothing") == {"loops": 0, "waited_in": 0, "yields": 0}


def counts(*locks: dict[str, Any], yields: int = 0, own: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "profile": reached.of_profile(profile(*locks, **more)),
        "spins": {"loops": 1, "waited_in": 1, "yields": yields},
        "futex": {"glibc": 10, "own": own, "lost": 0},
        "counted": {"pthread": 1000, "missed": 0, "left": {"rwlock": 2}},
        "futex_run": {"glibc": 4, "lost": 0},
    }


SPUN = lock(100, spins=True, loops=[{}])
VERDICTS = {
    "nothing to gain": counts(lock(9), lost_ns=9),
    "`run` reaches it": counts(lock(10), lost_ns=10),
    "cannot tell": counts(lock(9), lost_ns=9, doubts=["its code was not sampled"]),
    "own runtime: not reached": counts(lock(99, function="f"), lost_ns=99, own=11),
    "glibc's own: not reached": counts(lock(99, function="sem_wait"), lost_ns=99),
    "`run`, or `--openmp all` for libgomp's": counts(lock(9, function="omp_set_lock"), lost_ns=90),
    "`--spins`": counts(SPUN, lost_ns=100, spun_ns=10, yields=1),
    "spins, but no loop yields unless it is named": counts(SPUN, lost_ns=100, spun_ns=10),
    "own runtime: refused, statically linked": counts() | {"refused": "statically linked"},
}


def test_waits_by_what_has_no_name_are_not_judged() -> None:
    assert reached.verdict(counts(lock(99, function=None), lost_ns=99)) == "cannot tell"


@pytest.mark.parametrize("words", VERDICTS)
def test_the_verdict(words: str) -> None:
    assert reached.verdict(VERDICTS[words]) == words


def test_a_row_says_what_was_not_seen() -> None:
    found = counts(lock(9), lost_ns=9)
    found["futex"]["lost"] = 5
    found["profile"]["not_watched"] = 2
    row = reached.row(reached.programs()["xz"], "Debian 12", found | {"version": "5"})
    assert row[0] == "xz, 4 threads: 5 (Debian 12)"
    assert row[1:4] == ["1,000, 2 left", "0", "10, 0, 0"]
    assert row[-1] == (
        "nothing to gain (5 futex() calls were not recorded; 2 short processes were not watched)"
    )
    assert len(row) == len(reached.HEADINGS)
    assert reached.row(reached.programs()["xz"], "Debian 12", {"why": "it hung"})[-1].endswith(
        "it hung"
    )


def test_every_program_is_named_once_and_has_what_it_needs() -> None:
    for name, program in reached.programs().items():
        assert program.needs, name
        assert "$WITH" in program.command, name
    assert all(key.split(", ")[0] in reached.programs() for key in reached.load())
