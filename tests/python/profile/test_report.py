# SPDX-License-Identifier: MIT
"""What is made of what was seen: kinds, causes, advice, sentences, folded stacks, comparisons."""

import json
from pathlib import Path
from typing import Any

import pytest

from overlock_tools.profile import advice, causes, diff, kinds, naming, report, seen, show
from overlock_tools.profile.seen import Lock, Seen
from overlock_tools.system import reading, symbols
from overlock_tools.system.errors import Fail
from overlock_tools.system.symbols import Call

MS = 1_000_000
ADDRESS = 0x5000


def lock(**more: Any) -> dict[str, Any]:
    """100 ms of waits, in 60 of which the holder was preempted."""
    split = {"holder": {"running": 40 * MS, "preempted": 60 * MS}}
    counts = dict.fromkeys(("gave_up", "wakes", "waiting", "op"), 0)
    return {
        "address": ADDRESS,
        "module": -1,
        "offset": ADDRESS,
        **counts,
        "value": 2,
        "owners": 7,
        "waits": 10,
        "wait_ns": 100 * MS,
        "longest_ns": 20 * MS,
        "waited": split,
        "wall": split,
    } | more


def cause(**more: Any) -> dict[str, Any]:
    return {
        "address": ADDRESS,
        "role": "holder",
        "state": "preempted",
        "ns": 60 * MS,
        "sibling": True,
        "taker": "worker",
        "call": "",
    } | more


def made(**more: Any) -> Seen:
    """100 ms of a program on 2 CPUs: 80 ms of CPU time in all."""
    numbers = {"pid": 1, "ns": 100 * MS, "cpus": 2, "hertz": 499, "sampled_cpus": 2}
    none = dict.fromkeys(("samples", "samples_kernel", "samples_yield"), 0)
    empty: dict[str, list[Any]] = {
        name: [] for name in ("threads", "kernel_locks", "stacks", "code", "modules")
    }
    return seen.read(
        json.dumps(
            {
                **numbers,
                **none,
                "threads_seen": 3,
                "lost": {},
                "others": {},
                "times": {"running": 80 * MS, "lock": 100 * MS, "asleep": 500 * MS},
                "locks": [lock()],
                "causes": [cause()],
                **empty,
            }
            | more
        )
    )


def _make(found: Seen, context: dict[str, Any]) -> dict[str, Any]:
    return report.make(found, naming.of(found), "server", context)


def report_of(**more: Any) -> dict[str, Any]:
    return _make(made(**more), {"quota": None, "openmp": False})


def test_times_add_up() -> None:
    found = report_of()
    assert found["lost_ns"] == 100 * MS
    assert found["wanted_ns"] == 180 * MS
    assert found["locks"][0]["split"] == {"holder_running": 40 * MS, "holder_preempted": 60 * MS}


def test_the_prediction_is_the_models() -> None:
    """60 of 100 ms go; not below 80 ms of CPU time on 2 CPUs."""
    found = report_of()
    assert found["advice"][0]["cause"] == "holder_preempted"
    assert found["advice"][0]["predicted"] == pytest.approx(100 / 40)
    found = report_of(times={"running": 160 * MS})
    assert found["advice"][0]["predicted"] == pytest.approx(100 / 80)


def test_nothing_is_predicted_where_the_cpus_are_used_up() -> None:
    """One thread always waits for a CPU: the program gets no more than it has."""
    found = report_of(times={"running": 80 * MS, "preempted": 100 * MS})
    preempted = [one for one in found["advice"] if one["cause"] == "holder_preempted"]
    assert preempted[0]["predicted"] == pytest.approx(1.0)
    assert "no faster" in show.whole(found)


def test_a_quota_counts_as_cpus() -> None:
    found = _make(made(), {"quota": 1.0})
    assert found["advice"][0]["predicted"] == pytest.approx(100 / 80)
    assert "1 thread, " in found["advice"][0]["do"]


@pytest.mark.parametrize(
    ("state", "more", "words"),
    [
        ("preempted", {"sibling": True}, "run it with 2 threads"),
        ("preempted", {"sibling": False, "taker": "backup"}, "keep `backup` off its CPUs"),
        ("throttled", {}, "raise the CPU quota"),
        ("io", {"call": "fsync", "taker": ""}, "do the fsync() outside of the lock"),
        ("asleep", {"call": "poll", "taker": ""}, "do the poll() outside of the lock"),
        ("lock", {}, "look at the lock that its holder waits for"),
        ("fault", {}, "touch, or lock, the memory"),
        ("running", {}, "shorten the critical section"),
    ],
)
def test_advice_for_each_cause(state: str, more: dict[str, Any], words: str) -> None:
    split = {"holder": {state: 100 * MS}}
    found = report_of(
        locks=[lock(waited=split, wall=split)], causes=[cause(**{"state": state, **more})]
    )
    assert words in found["advice"][0]["do"]


def test_openmp_has_a_command() -> None:
    found = _make(made(), {"openmp": True})
    assert found["advice"][0]["command"] == ["env", "OMP_NUM_THREADS=2"]


def test_the_first_screen() -> None:
    first, second, third = show.sentences(report_of())
    assert first.startswith("56 % of the time in which threads of server had work was lost to")
    assert "60 % of that, because its holder had no CPU, taken by `worker` of the same" in second
    assert third.startswith("Try: run it with 2 threads, as many as it has CPUs (predicted: up to")


def test_no_alarm_for_little() -> None:
    found = report_of(locks=[lock(wait_ns=3 * MS)])
    assert show.sentences(found)[0].startswith("No lock trouble: 4 % of")
    assert not found["advice"]


def test_waits_on_purpose_are_not_lost() -> None:
    """A pool that waits at a condition: neither marked as a lock, nor a mutex with an owner."""
    found = report_of(locks=[lock(owners=0, value=17)])
    assert found["lost_ns"] == 0
    assert show.sentences(found)[0].startswith("No lock trouble")


KINDS = [
    ("pthread_cond_wait", 0, "condition", False),
    ("pthread_cond_wait", 5, "mutex", True),  # it has the mutex back
    ("take_gil", 0, "Python's GIL", True),
    ("pthread_barrier_wait", 0, "barrier", False),
    ("__new_sem_wait", 0, "semaphore", False),
    ("pthread_rwlock_rdlock", 0, "rwlock", True),
    ("std::sys::sync::mutex::futex::Mutex::lock_contended", 0, "mutex", True),
    ("std::sys::sync::condvar::futex::Condvar::wait", 0, "condition", False),
    ("runtime.stopm", 0, "Go's scheduler", False),
    ("gomp_mutex_lock_slow", 0, "OpenMP lock", True),
    ("gomp_team_barrier_wait_end", 0, "barrier", False),
    ("Parker::park", 0, "Java's parker", False),
    ("something", 0, "lock", True),
]


@pytest.mark.parametrize(("function", "owners", "name", "is_lock"), KINDS)
def test_kinds(function: str, owners: int, name: str, is_lock: bool) -> None:
    one = reading.made(Lock, lock(owners=owners), "a lock")
    kind = kinds.of(one, (Call("syscall"), Call(function)))
    assert (kind.name, kind.is_lock) == (name, is_lock)


def test_every_role_and_state_has_one_cause() -> None:
    """As monitor/waits.def lists them."""
    states = (
        "running",
        "preempted",
        "yielding",
        "throttled",
        "waking",
        "lock",
        "io",
        "fault",
        "asleep",
    )
    parts = [part for one in causes.CAUSES for part in one.parts]
    assert sorted(parts) == sorted((r, s) for r in ("holder", "next", "unknown") for s in states)


def frames_of(*addresses: int) -> dict[str, Any]:
    return {
        "of": "waiter",
        "state": "lock",
        "address": ADDRESS,
        "seen": 1,
        "ns": 5,
        "frames": [[-1, one] for one in addresses],
    }


def test_folded_stacks_add_up() -> None:
    found = report_of(stacks=[frames_of(0x10, 0x20), frames_of(0x10, 0x30)])
    lines = show.folded(found).splitlines()
    assert len(lines) == 2
    assert sum(int(line.split()[-1]) for line in lines) == 100 * MS
    assert lines[0].startswith("0x20;0x10;mutex taken in ")


def test_locks_taken_at_one_call_are_one() -> None:
    two = [lock(), lock(address=ADDRESS + 64, wait_ns=50 * MS)]
    stacks = [frames_of(0x10), frames_of(0x10) | {"address": ADDRESS + 64}]
    found = report_of(locks=two, stacks=stacks)
    assert len(found["locks"]) == 1
    assert found["locks"][0]["locks"] == 2
    assert found["locks"][0]["wait_ns"] == 150 * MS
    assert found["locks"][0]["split"]["holder_preempted"] == 120 * MS


def write(folder: Path, name: str, found: dict[str, Any]) -> Path:
    path = folder / name
    path.write_text(json.dumps(found))
    return path


def test_diff(tmp_path: Path) -> None:
    before = write(tmp_path, "a", report_of())
    after = write(tmp_path, "b", report_of(locks=[]))
    text = diff.text(diff.read(before), diff.read(after))
    assert "55.6 % before, 0.0 % after" in text
    assert "55.6 %         -  mutex at 0x5000, holder preempted" in text


@pytest.mark.parametrize("text", ["{", "{}", "[]", '{"format": "other"}'])
def test_diff_refuses_other_files(tmp_path: Path, text: str) -> None:
    (tmp_path / "a").write_text(text)
    with pytest.raises(Fail, match="profile --json"):
        diff.read(tmp_path / "a")


def test_names_of_variables() -> None:
    one = '[{"Address":"0x4088","Data":{"Name":"cache","Size":"0x28","Start":"0x4080"}}]'
    other = '{"Address":"0x10","Data":{"Name":"","Size":"0","Start":"0"}}'
    assert symbols.named_data(f"{one}\n{other}\nno json\n") == {0x4088: "cache+0x8"}


def test_main_lock_is_the_longest_waited_for() -> None:
    found = report_of(
        locks=[lock(), lock(address=0x9000, wait_ns=200 * MS)],
        stacks=[frames_of(0x10), frames_of(0x20) | {"address": 0x9000}],
    )
    main = advice.main_lock(found)
    assert main
    assert main["address"] == 0x9000
