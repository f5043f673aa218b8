# SPDX-License-Identifier: MIT
"""What is made of what was seen: kinds, causes, advice, sentences, folded stacks, comparisons."""

import json
from pathlib import Path
from typing import Any

import pytest

from overlock_tools.core.system import symbols
from overlock_tools.core.system.errors import Fail
from overlock_tools.core.system.symbols import Call
from overlock_tools.profile import advice, causes, diff, kinds, naming, placing, report, seen, show
from overlock_tools.profile.seen import Seen

MS = 1_000_000
ADDRESS = 0x5000


def lock(**more: Any) -> dict[str, Any]:
    """100 ms of waits, in 60 of which the holder was preempted."""
    split = {"holder": {"running": 40 * MS, "preempted": 60 * MS}}
    counts = dict.fromkeys(("gave_up", "wakes", "waiting", "op"), 0)
    use = dict.fromkeys(("woken", "woke", "by_waiters", "own", "came_back"), 0)
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
        **use,
        "shared": True,
        "behaves": False,
    } | more


def cause(**more: Any) -> dict[str, Any]:
    return {
        "address": ADDRESS,
        "at": 0,
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


def test_a_lock_that_costs_no_throughput_is_no_alarm() -> None:
    split = {"holder": {"preempted": 100 * MS}}
    seen_there = {"locks": [lock(waited=split, wall=split)]}
    all_used = {"running": 80 * MS, "preempted": 100 * MS}
    said = show.sentences(report_of(times=all_used, **seen_there))[0]
    assert said.startswith("No throughput is lost to locks, by the model")
    assert "server spent 36 % of its active time waiting for locks" in said
    assert show.sentences(report_of(**seen_there))[0].startswith("server spent 56 % of")


@pytest.mark.parametrize(
    ("function", "is_lost"), [("pthread_cond_wait", False), ("pthread_barrier_wait", True)]
)
def test_a_wait_for_a_lock_before_another_wait(function: str, is_lost: bool) -> None:
    """Is no loss if the other one is for work: 70 of 100 ms, of all causes alike."""
    found = report.make(
        made(
            locks=[lock(), lock(address=0x9000, owners=0, value=0, wait_ns=500 * MS)],
            onwards=[{"address": ADDRESS, "to": 0x9000, "ns": 70 * MS}],
            stacks=[frames_of(0x10, at=0x9000)],
        ),
        calls_at(0x10, function),
        "server",
        {},
    )
    rows = [one for one in found["locks"] if one["address"] == ADDRESS]
    assert sum(one["wait_ns"] for one in rows if one["is_lock"]) == (100 if is_lost else 30) * MS
    assert sum(one["wait_ns"] for one in rows) == 100 * MS
    for row in rows:
        assert row["split"]["holder_preempted"] == row["wait_ns"] * 6 // 10


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


def test_advice_for_a_lesser_cause_says_how_much_of_the_waits_it_is() -> None:
    split = {"holder": {"running": 20 * MS, "preempted": 78 * MS}}
    found = report_of(
        locks=[lock(waited=split, wall=split)], times={"running": 80 * MS, "preempted": 100 * MS}
    )
    (said,) = (one["do"] for one in found["advice"] if one["cause"] == "holder_running")
    assert said.endswith("its holder works during 20 % of the waits")


def test_openmp_has_a_command() -> None:
    found = _make(made(), {"openmp": True})
    assert found["advice"][0]["command"] == ["env", "OMP_NUM_THREADS=2"]


def test_the_first_screen() -> None:
    first, second, third = show.sentences(report_of())
    assert first.startswith("server spent 56 % of its active time waiting for")
    assert "In 60 % of that time its holder had no CPU, taken by `worker` of the same" in second
    assert third.startswith("Try: run it with 2 threads, as many as it has CPUs (predicted: up to")


def test_no_alarm_for_little() -> None:
    found = report_of(locks=[lock(wait_ns=3 * MS)])
    assert show.sentences(found)[0].startswith("No lock trouble found: server spent 4 % of")
    assert not found["advice"]


def test_a_lock_beside_waits_of_unknown_kind() -> None:
    other = lock(address=0x9000, owners=0, value=17, wait_ns=50 * MS)
    said = show.sentences(report_of(locks=[lock(), other]))
    assert said[0].startswith("server spent 56 % of its active time")
    assert said[-1].startswith("Not judged: 0.5 threads, on average, wait at futexes of unknown")


def test_what_is_not_watched_is_said_first() -> None:
    found = _make(made(locks=[]), {"unwatched": ["Java's monitors and locks"]})
    said = show.sentences(found)
    assert said[0] == "Not watched: Java's monitors and locks."
    assert "No lock trouble" not in " ".join(said)


def test_a_holder_that_waits_on_purpose_loses_nobody_time() -> None:
    """Workers take turns at a queue behind a mutex, and the one whose turn it is waits for work."""
    split = {"holder": {"lock": 90 * MS, "running": 10 * MS}}
    queue = lock(address=0x9000, owners=0, op=9, value=0)
    mutex = lock(waited=split, wall=split)
    why = cause(state="lock", at=0x9000, ns=90 * MS, taker="", sibling=False)
    found = report.make(
        made(locks=[mutex, queue], causes=[why], stacks=[frames_of(0x10, at=0x9000)]),
        calls_at(0x10, "pthread_cond_wait"),
        "server",
        {},
    )
    assert found["lost_ns"] == 0
    assert show.sentences(found)[0].startswith("No lock trouble")


def test_unknown_waits_are_no_all_clear() -> None:
    """They may be for a lock, or for work."""
    found = report_of(locks=[lock(owners=0, value=17)])
    assert (found["lost_ns"], found["unsure_ns"]) == (0, 100 * MS)
    assert show.sentences(found)[0].startswith(
        "Cannot tell whether server has lock trouble: 1.0 threads, on average, wait at futexes of "
        "unknown kind"
    )
    assert not found["advice"]


def test_unknown_yields_are_no_futexes() -> None:
    found = report_of(locks=[], times={"running": 10 * MS, "yielding": 50 * MS})
    first = show.sentences(found)[0]
    assert "0.5 threads, on average, call sched_yield() for unknown reasons" in first
    assert "futex" not in first


@pytest.mark.parametrize(("ns", "unclear"), [(80 * MS, 0), (60 * MS, 40 * MS)])
def test_yields_before_a_wait_on_purpose_are_for_it(ns: int, unclear: int) -> None:
    """As of C++'s atomics: the rest found what they wait for before they slept, if it is little."""
    found = report.make(
        made(
            locks=[lock(address=0x9000, owners=0, value=0)],
            times={"running": 10 * MS, "yielding": 100 * MS, "lock": 100 * MS},
            onwards=[{"address": 0, "to": 0x9000, "ns": ns}],
            stacks=[frames_of(0x10, at=0x9000)],
        ),
        calls_at(0x10, "pthread_cond_wait"),
        "server",
        {},
    )
    assert found["unsure_ns"] == unclear
    assert show.sentences(found)[0].startswith("Cannot tell" if unclear else "No lock trouble")


@pytest.mark.parametrize(
    ("more", "is_join"),
    [
        ({"waits": 1}, True),
        ({"waits": 1, "waiting": 1}, True),  # the word is the number of a thread that runs
        ({"waits": 1, "waiting": 1, "value": 4}, False),
        ({"waits": 1, "wakes": 1}, False),
        ({"waits": 2}, False),
    ],
)
def test_a_wait_that_the_kernel_ends_is_a_join(more: dict[str, int], is_join: bool) -> None:
    """As of a main thread, whose only wait begins before any stack is looked at."""
    found = report_of(
        locks=[lock(**{"owners": 0, "value": 17, **more})], threads=[busy(17, asleep=1)]
    )
    assert (found["locks"][0]["kind"] == "join") == is_join
    assert bool(found["doubts"]) != is_join


def busy(thread: int, **times: int) -> dict[str, Any]:
    return {"thread": thread, "name": "worker", "times": times}


LOOKS = {
    "by": "looks",
    "looks": 500,
    "why": "overlock-profiler is not built",
    "sampled_cpus": 0,
    "locks": [],
}


def test_looks_do_not_tell_work_from_spinning() -> None:
    """Threads of a ticket lock never sleep, nor do threads that work."""
    threads = [busy(n, running=100 * MS, preempted=300 * MS) for n in range(7)]
    threads += [busy(7, asleep=400 * MS)]
    found = report_of(threads=threads, threads_seen=8, **LOOKS)
    first = show.sentences(found)[0]
    assert first.startswith("Cannot tell whether server has lock trouble: 7 of 8 threads never")
    assert "overlock-profiler is not built" in show.whole(found)
    assert "refused" not in show.whole(found)


def test_sleepers_are_an_all_clear_for_looks() -> None:
    found = report_of(threads=[busy(1, asleep=400 * MS)], threads_seen=1, **LOOKS)
    assert show.sentences(found)[0].startswith("No lock trouble found")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"times": {}}, "it ended before it was watched"),
        ({"sampled_cpus": 0}, "its code was not sampled, so it may spin"),
        ({"lost": {"threads": 2}}, "some threads were not watched"),
        ({"samples": 100, "lost": {"records": 50}}, "50 samples and stacks were lost"),
        (
            {
                "samples": 100,
                "code": [{"ip": 64, "frame": [-1, 64], "seen": 90, "kept": []}],
            },
            "90 % of the code that ran is in no file, as code is that is made at run time",
        ),
    ],
)
def test_what_was_not_seen_is_no_all_clear(more: dict[str, Any], words: str) -> None:
    found = report_of(**{"locks": [], **more})
    assert show.sentences(found)[0].startswith("Cannot tell whether server has lock trouble")
    assert words in show.sentences(found)[0]


def test_without_a_finder_of_loops_it_may_spin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("overlock_tools.core.system.native.has", lambda _: False)
    assert "overlock-loops is not built" in show.sentences(report_of(locks=[], samples=100))[0]


def test_in_functions_that_cannot_be_told_apart_it_may_spin(tmp_path: Path) -> None:
    """As in a program of Go, which has no table of them for C's tools."""
    (tmp_path / "go").write_text("no table")
    code = [{"ip": 64, "frame": [0, 64], "seen": 90, "kept": []}]
    found = report_of(locks=[], samples=100, modules=[str(tmp_path / "go")], code=code)
    assert "90 % of the code that ran is in functions that cannot be" in show.sentences(found)[0]


def test_processes_that_nobody_watched_are_the_first_words() -> None:
    first, second = show.sentences(report_of(locks=[], children=2))
    assert first.startswith("Not watched: 2 processes that server started")
    assert "server itself" in second
    assert show.sentences(report_of(children=1))[0].startswith("Not watched: a process that")


def test_what_was_not_judged_stands_beside_a_found_lock() -> None:
    found = report_of(lost={"threads": 2})
    assert show.sentences(found)[-1].startswith("Not judged: some threads were not watched")


def spins_at_a_lock(running: int) -> dict[str, Any]:
    """What a report has of a ticket lock's waiters, of which most have no CPU at a time."""
    found = report_of(times={"running": running, "preempted": 900 * MS}, locks=[])
    lock = report._spinning(Call("take"), kinds.SPINLOCK) | {
        "wait_ns": 30 * MS, "ran_ns": 30 * MS, "split": {"unknown": 30 * MS}
    }  # fmt: skip
    return found | {"locks": [lock], "lost_ns": 30 * MS, "spun_ns": 30 * MS, "burnt_ns": 30 * MS}


def test_spinning_is_trouble_by_its_share_of_the_cpu_time() -> None:
    """Who spins and has no CPU counts as one that has work, which hides the loss."""
    said = show.sentences(spins_at_a_lock(40 * MS))[0]
    assert "75 % of the CPU time that it got went into spinning" in said
    assert show.sentences(spins_at_a_lock(900 * MS))[0].startswith("No lock trouble found")


def loop(begin: int = 0x1750, *, is_patched: bool = True, is_fixed: bool = False) -> dict[str, Any]:
    return {
        "name": f"server+{begin:#x}",
        "kind": "wait",
        "is_patched": is_patched,
        "is_fixed": is_fixed,
    }


def advised_for(loops: list[dict[str, Any]], **times: int) -> list[list[str]]:
    """Commands."""
    found = spins_at_a_lock(40 * MS)
    lock = found["locks"][0] | {"loops": loops}
    found |= {"locks": [lock], "times": {"running": 40 * MS, "preempted": 0} | times}
    return [one["command"] for one in advice.of(found)]


def test_waiters_that_spin_may_yield_by_a_command() -> None:
    """If it can change the loop, and somebody waits for a CPU meanwhile."""
    command = ["overlock", "run", "--spins", "--"]
    naming = ["overlock", "run", "--spins=auto,server+0x1750", "--"]
    assert command in advised_for([loop()], preempted=900 * MS)
    assert command in advised_for([loop()], throttled=900 * MS)
    assert naming in advised_for([loop(), loop(is_patched=False)], preempted=900 * MS)
    fixed = advised_for([loop(is_patched=False, is_fixed=True)], preempted=900 * MS)
    for commands in (fixed, advised_for([], preempted=900 * MS), advised_for([loop()])):
        assert command not in commands
        assert naming not in commands


def test_nothing_is_advised_where_spinning_costs_little() -> None:
    found = spins_at_a_lock(900 * MS)
    found["locks"][0]["loops"] = [loop()]
    assert not advice.of(found)


def spins_at_a_barrier(object_name: str, burnt: int, kept: int = 0) -> dict[str, Any]:
    """Of 100 ms of CPU time; `kept`: while nobody lacked a CPU."""
    found = report_of(times={"running": 100 * MS, "preempted": 900 * MS}, locks=[])
    split = {"others_preempted": burnt, "others_running": kept}
    lock = report._spinning(Call("meet"), kinds.SPIN_BARRIER) | {
        "wait_ns": burnt + kept,
        "ran_ns": burnt + kept,
        "split": {name: ns for name, ns in split.items() if ns},
        "kind_by": "its function's name",
        "loops": [loop() | {"name": f"{object_name}+0x1"}],
    }
    return found | {
        "locks": [lock],
        "lost_ns": burnt,
        "spun_ns": burnt + kept,
        "burnt_ns": burnt,
    }


def test_spinning_on_no_lock_is_no_loss_while_all_have_cpus() -> None:
    harmless = spins_at_a_barrier("server", 0, 60 * MS)
    assert advice.lost(harmless["locks"][0]) == 0
    assert advice.lost(spins_at_a_barrier("server", 20 * MS, 60 * MS)["locks"][0]) == 20 * MS
    first, second = show.sentences(harmless)
    assert first.startswith("No lock trouble found")
    assert second.startswith(
        "60 % of its CPU time went into spinning, most at `spin barrier in meet`"
    )
    assert advice.of(harmless) == []
    harmful = show.sentences(spins_at_a_barrier("server", 60 * MS))
    assert harmful[0] == (
        "60 % of the CPU time that server got went into spinning, all of it at `spin barrier in "
        "meet`, as told by its function's name."
    )
    assert harmful[1].startswith("In 100 % of that time other threads of the program had no CPU")


def test_cpus_that_were_taken_away_are_told() -> None:
    found = spins_at_a_barrier("libgomp.so.1", 60 * MS) | {"allowed_first": 4, "allowed": 2}
    assert any(
        "had 4 CPUs at first, and its threads have 2 now" in one for one in show.sentences(found)
    )
    found |= {"allowed_first": 2}
    assert not any("at first" in one for one in show.sentences(found))


@pytest.mark.parametrize(
    ("object_name", "commands"),
    [
        ("libgomp.so.1", ["OMP_WAIT_POLICY=passive", "overlock", "OMP_NUM_THREADS=2"]),
        ("libomp.so.5", ["overlock", "OMP_NUM_THREADS=2"]),
        ("libblis.so.4", ["overlock", "BLIS_NUM_THREADS=2"]),
        (
            "libscipy_openblas64_.so",
            ["OPENBLAS_THREAD_TIMEOUT=4", "overlock", "OPENBLAS_NUM_THREADS=2"],
        ),
        ("server", ["overlock", ""]),
    ],
)  # fmt: skip
def test_the_runtimes_own_remedy_comes_first(object_name: str, commands: list[str]) -> None:
    """Then what changes nothing, then fewer threads."""
    found = advice.of(spins_at_a_barrier(object_name, 60 * MS))
    words = [one["command"] for one in found]
    assert [
        (word[1] if word[0] == "env" else word[0]) if word else "" for word in words
    ] == commands


def step(function: str, path: str = "/bin/server") -> kinds.Step:
    return kinds.Step(Call(function), path, placing.is_library(path))


@pytest.mark.parametrize(
    ("function", "manner", "kind"),
    [
        ("gomp_team_barrier_wait_end", {}, "spin barrier"),
        ("__kmp_acquire_queuing_lock", {}, "spinlock"),
        ("ggml_barrier", {"takes": True}, "spin barrier"),
        ("ggml_barrier", {"in_turns": True}, "spin barrier"),
        ("ggml_barrier", {}, "spin barrier"),
        ("take_lock", {"in_turns": True}, "FIFO spinlock"),
        ("take_lock", {}, "spinlock"),
        ("lock_free_pop", {}, "poll"),
        ("clock_tick", {"alone": True}, "poll"),
        ("block", {"everybody": True}, "spin barrier"),
        ("f", {"takes": True}, "spinlock"),
        ("f", {"in_turns": True}, "FIFO spinlock"),
        ("f", {"queues": True, "alone": True}, "FIFO spinlock"),
        ("f", {"alone": True}, "poll"),
        ("f", {"everybody": True}, "spin barrier"),
        ("f", {"arrives": True}, "spin barrier"),
        ("f", {}, "pool that spins"),
        ("worker_loop", {"alone": True}, "pool that spins"),
    ],
)
def test_what_is_spun_at(function: str, manner: dict[str, bool], kind: str) -> None:
    """By the function, by what it is called, by how threads spin there."""
    assert kinds.of_spin([step(function)], kinds.Manner(**manner))[0].name == kind


def test_loops_are_in_the_table() -> None:
    found = spins_at_a_lock(40 * MS)
    found["locks"][0]["loops"] = [loop(), loop(0x1800)]
    assert [line.strip() for line in show.table(found).splitlines()[-2:]] == [
        "loop server+0x1750, wait",
        "loop server+0x1800, wait",
    ]


def test_locks_taken_at_one_call_have_all_loops() -> None:
    one = report._spinning(Call("take"), kinds.SPINLOCK) | {"loops": [loop()]}
    (sums,) = report._alike([one, one | {"loops": [loop(0x1800), loop()]}])
    assert sums["loops"] == [loop(), loop(0x1800)]


def test_every_role_and_state_has_one_cause() -> None:
    """As profile/waits.def lists them."""
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


def frames_of(*addresses: int, at: int = ADDRESS) -> dict[str, Any]:
    return {
        "of": "waiter",
        "state": "lock",
        "address": at,
        "seen": 1,
        "ns": 5,
        "scanned": False,
        "frames": [[-1, one] for one in addresses],
    }


class calls_at(naming.Names):  # noqa: N801 - it reads as a value
    """Names of one address alone."""

    def __init__(self, address: int, function: str) -> None:
        super().__init__([], {}, {})
        self.address, self.function = address, function

    def calls(self, frame: naming.Frame) -> tuple[Call, ...]:
        return (Call(self.function),) if frame[1] == self.address else super().calls(frame)


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
    heap = '{"Address":"0x5c84","Data":{"Name":"_end","Size":"0x0","Start":"0x5000"}}'
    assert symbols.named_data(f"{one}\n{other}\n{heap}\nno json\n") == {0x4088: "cache+0x8"}


def test_main_lock_is_the_longest_waited_for() -> None:
    found = report_of(
        locks=[lock(), lock(address=0x9000, wait_ns=200 * MS)],
        stacks=[frames_of(0x10), frames_of(0x20) | {"address": 0x9000}],
    )
    main = advice.main_lock(found)
    assert main
    assert main["address"] == 0x9000


def stopped_by_quota(quota: float | None = 1.0, **times: int) -> dict[str, Any]:
    """100 ms on 2 CPUs."""
    ran = {"running": 100 * MS, "throttled": 90 * MS} | {name: n * MS for name, n in times.items()}
    return _make(made(locks=[], causes=[], times=ran), {"quota": quota, "allowed": 2})


def test_a_quota_that_stops_its_threads_is_told() -> None:
    found = stopped_by_quota()
    said = " ".join(show.sentences(found))
    assert "Its CPU quota of 1 CPU stopped its threads for 47 % of its active time" in said
    assert "0.90 were stopped by the CPU quota" in show.times(found)
    assert "quota" not in " ".join(show.sentences(stopped_by_quota(throttled=5)))


@pytest.mark.parametrize(
    ("quota", "times", "advised"),
    [
        (1.0, {}, True),
        (1.0, {"running": 50, "preempted": 150, "throttled": 0}, True),
        (2.0, {}, False),  # it pays for all
        (None, {}, False),
        (1.0, {"preempted": 200}, False),  # four threads: nobody counted two CPUs
        (1.0, {"running": 200, "throttled": 0}, False),  # nobody lacks one
    ],
)
def test_who_counted_cpus_beyond_its_quota_is_told_of_fit(
    quota: float | None, times: dict[str, int], advised: bool
) -> None:
    commands = [one["command"] for one in stopped_by_quota(quota, **times)["advice"]]
    assert (["overlock", "run", "--fit", "--"] in commands) == advised
