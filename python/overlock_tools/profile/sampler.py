# SPDX-License-Identifier: MIT
"""What overlock-profiler sees, as far as everybody may: where BPF is refused.

Up to fifty times a second each thread is looked at, in /proc. One that sleeps in futex() shows the
address and the value that it waits with; there, in the program's memory, a glibc mutex names its
owner; and what the owner does is in its own files. Of one that is able to run the registers are
read (places.py). So shares are right on average, after hundreds of looks.
"""

import contextlib
import os
import struct
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from overlock_tools.core.system import reading
from overlock_tools.core.system.errors import MISSING, Fail
from overlock_tools.profile.kinds import CONTENDED
from overlock_tools.profile.places import Places, read_memory
from overlock_tools.profile.seen import HOLDER, NEXT, UNKNOWN, Seen

STEP_S = 0.02
PART = 20  # of the time, one in so many is spent on looks, but for the first ones
CREDIT_S = 0.2  # which short programs need
CHILDREN_S = 0.2
FUTEX, COMMAND, PRIVATE, WAIT, WAIT_BITSET = 202, 0x7F, 0x80, 0, 9
# Since glibc 2.43 a thread that joins waits with this value until the kernel clears the word. It is
# some way behind the number of the thread that is joined, in what glibc keeps of that.
JOINED, BEFORE = 2, 1024
MUTEX = struct.Struct("=IIIII")  # word, count, owner, users, kind: glibc's, of 64 bits
MOST_KIND = 0x3FF
WORD = 4
USER, PROCESSOR = 11, 36  # of /proc/PID/stat, behind the name


@dataclass(frozen=True)
class Look:
    """A thread at one time."""

    name: str
    state: str
    ran_ns: int
    user_ticks: int
    system_ticks: int
    delayed_ns: int
    waits_at: tuple[int, int, int] | None  # address, operation with PRIVATE, value
    in_futex: bool
    cpu: int  # its last one
    since: float  # when the kernel last looked at its CPU time, in ms; of one that is able to run


@dataclass
class _LockSum:
    op: int
    value: int
    owners: int = 0
    waited: dict[str, dict[str, float]] = field(default_factory=lambda: defaultdict(_floats))
    wall: dict[str, dict[str, float]] = field(default_factory=lambda: defaultdict(_floats))
    at_once: set[int] = field(default_factory=set)
    waits: int = 0


def _floats() -> dict[str, float]:
    return defaultdict(float)


def _futex(text: str) -> tuple[bool, tuple[int, int, int] | None]:
    """From /proc/PID/task/TID/syscall: the call's number, six arguments, sp, pc; or `running`."""
    words = text.split()
    if not words or words[0] != str(FUTEX) or len(words) < 4:
        return False, None
    address, op, value = (int(word, 16) for word in words[1:4])
    waits = op & COMMAND in (WAIT, WAIT_BITSET)
    return True, (address, op & (COMMAND | PRIVATE), value & 0xFFFFFFFF) if waits else None


def _read(name: str) -> str:
    """Of a short file, which is read for each thread at each look."""
    file = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(file, 4096).decode(errors="replace")
    finally:
        os.close(file)


def look(folder: str) -> Look | None:
    """None if it has ended meanwhile. PermissionError: we may not see it."""
    try:
        before, _, after = _read(f"{folder}/stat").rpartition(")")
        ran, delayed, _ = map(int, _read(f"{folder}/schedstat").split())
        in_futex, waits = _futex(_read(f"{folder}/syscall"))
        words = after.split()
        state, cpu = words[0], int(words[PROCESSOR])
        user, system = int(words[USER]), int(words[USER + 1])
        since = _since(folder) if state == "R" else 0.0
    except (FileNotFoundError, ProcessLookupError, ValueError):
        return None
    name = before.partition("(")[2]
    return Look(name, state, ran, user, system, delayed, waits, in_futex, cpu, since)


def _since(folder: str) -> float:
    """0 where the kernel does not tell: without CONFIG_SCHED_DEBUG."""
    with contextlib.suppress(OSError):
        _, found, after = _read(f"{folder}/sched").partition("\nse.exec_start")
        return float(after.partition("\n")[0].rpartition(":")[2]) if found else 0.0
    return 0.0


def on_cpus(looks: dict[int, Look]) -> set[int]:
    """Of each CPU, the thread that runs there: whose CPU time was looked at last."""
    able = {tid: one for tid, one in looks.items() if one.state == "R"}
    last: dict[int, float] = {}
    for one in able.values():
        last[one.cpu] = max(one.since, last.get(one.cpu, 0.0))
    return {tid for tid, one in able.items() if one.since == last[one.cpu]}


def children(thread: str) -> set[int]:
    """That it started and that live; none where the kernel does not list them."""
    with contextlib.suppress(OSError):
        return set(map(int, _read(f"{thread}/children").split()))
    return set()


class Sampler:
    """Of a process; `step` as long as it lives."""

    def __init__(self, pid: int, why: str) -> None:
        self.pid, self.why = pid, why
        self.children: set[int] = set()
        self.steps = 0
        self.began = self.last = time.monotonic()
        self.pause_s, self.spent, self.looked_for_children = STEP_S, 0.0, 0.0
        self.looks: dict[int, Look] = {}
        self.locks: dict[int, _LockSum] = {}
        self.times: dict[int, dict[str, float]] = defaultdict(_floats)
        self.names: dict[int, str] = {}
        self.places = Places(pid)
        try:
            Path(f"/proc/{pid}/syscall").read_text()
        except PermissionError as error:
            raise Fail(
                f"process {pid} belongs to somebody else; be its user, or root", MISSING
            ) from error
        except OSError:
            pass

    def step(self) -> bool:
        """False: it has ended. Then whoever calls it pauses."""
        before = time.thread_time()
        goes_on = self._step()
        self.spent += time.thread_time() - before
        earned = self.began + PART * (self.spent - CREDIT_S)
        self.pause_s = max(STEP_S, earned - time.monotonic())
        return goes_on

    def _step(self) -> bool:
        now = time.monotonic()
        ns, self.last = (now - self.last) * 1e9, now
        try:
            found = os.listdir(f"/proc/{self.pid}/task")
        except OSError:
            return False
        self.steps += 1
        tasks = f"/proc/{self.pid}/task"
        looks = {int(name): one for name in found if (one := look(f"{tasks}/{name}"))}
        if all(one.state in "ZX" for one in looks.values()):
            return False
        self._look_for_children(looks)
        for tid, one in looks.items():
            self.names[tid] = one.name
            for state, part in self._states(tid, one, ns).items():
                self.times[tid][state] += part
        self._waits(looks, ns)
        self._places(looks, ns)
        self.looks = looks
        return True

    def _look_for_children(self, looks: dict[int, Look]) -> None:
        if self.last - self.looked_for_children < CHILDREN_S:
            return
        self.looked_for_children = self.last
        for tid in looks:
            self.children |= children(f"/proc/{self.pid}/task/{tid}")

    def _places(self, looks: dict[int, Look], ns: float) -> None:
        without = {
            tid: self._states(tid, one, ns).get("preempted", 0) / ns for tid, one in looks.items()
        }
        before = {tid: (self.looks.get(tid, one), one) for tid, one in looks.items()}
        user = sum(max(0, now.user_ticks - then.user_ticks) for then, now in before.values())
        system = sum(max(0, now.system_ticks - then.system_ticks) for then, now in before.values())
        self.places.look(on_cpus(looks), user, system, without)

    def close(self) -> None:
        self.places.close()

    def _states(self, tid: int, now: Look, ns: float) -> dict[str, int]:
        """What it did since the last look; that it slept is taken from now."""
        before = self.looks.get(tid)
        ran = min(ns, now.ran_ns - before.ran_ns) if before else 0
        ready = min(ns - ran, now.delayed_ns - before.delayed_ns) if before else 0
        rest = ns - ran - ready
        kind = "asleep"
        if now.state == "R":  # a delay is counted when it has ended
            kind = "preempted"
        elif now.state == "D":
            kind = "io"
        elif now.in_futex:
            kind = "lock"
        sums: dict[str, float] = defaultdict(float, running=ran, preempted=ready)
        sums[kind] += rest
        return {state: int(part) for state, part in sums.items() if part >= 1}

    def _waits(self, looks: dict[int, Look], ns: float) -> None:
        waiting: dict[int, list[int]] = defaultdict(list)
        for tid, one in looks.items():
            if one.waits_at and not self._joins(*one.waits_at, looks):
                address, op, value = one.waits_at
                waiting[address].append(tid)
                self.locks.setdefault(address, _LockSum(op & COMMAND, value))
        for address, tids in waiting.items():
            lock = self.locks[address]
            role, parts = self._subject(lock, address, looks, ns)
            for state, part in parts.items():
                lock.waited[role][state] += part * len(tids)
                lock.wall[role][state] += part
            lock.waits += len(set(tids) - lock.at_once)
        for address, lock in self.locks.items():
            lock.at_once = set(waiting.get(address, ()))

    def _joins(self, address: int, op: int, value: int, looks: dict[int, Look]) -> bool:
        """Or waits for another thread's end; before glibc 2.43 with that thread's number."""
        if value in self.names:
            return True
        if (op, value) != (WAIT_BITSET, JOINED) or self._owner(address, looks):
            return False
        raw = self._memory(address - BEFORE, BEFORE, looks)
        whole = raw[: len(raw) // WORD * WORD]
        return any(word in self.names for (word,) in struct.iter_unpack("=I", whole))

    def _owner(self, address: int, looks: dict[int, Look]) -> int:
        """Of a mutex with waiters. 0: it is free, or none."""
        raw = self._memory(address, MUTEX.size, looks)
        if len(raw) < MUTEX.size:
            return 0
        word, _, owner, users, kind = MUTEX.unpack(raw)
        return owner if word and owner in looks and users and kind <= MOST_KIND else 0

    def _subject(
        self, lock: _LockSum, address: int, looks: dict[int, Look], ns: float
    ) -> tuple[str, dict[str, int]]:
        """Who has to do something next, and what that thread did."""
        if lock.value != CONTENDED:
            return UNKNOWN, {"running": int(ns)}
        if owner := self._owner(address, looks):
            lock.owners += 1
            return HOLDER, self._states(owner, looks[owner], ns)
        if self._memory(address, WORD, looks) == bytes(WORD):
            return NEXT, {"waking": int(ns)}
        return UNKNOWN, {"running": int(ns)}

    def _memory(self, address: int, size: int, looks: dict[int, Look]) -> bytes:
        """By a thread that lives: the first one may have ended before the others."""
        living = next(tid for tid, one in looks.items() if one.state not in "ZX")
        return read_memory(self.pid, living, address, size)

    def seen(self) -> Seen:
        """In the agent's form; what it has no knowledge of is 0 or empty."""
        times: dict[str, int] = defaultdict(int)
        for one in self.times.values():
            for state, ns in one.items():
                times[state] += int(ns)
        empty = ("causes", "kernel_locks")
        found = {
            "pid": self.pid,
            "ns": int((self.last - self.began) * 1e9),
            "cpus": len(os.sched_getaffinity(0)),
            **self.places.seen(),
            "looks": self.steps,
            "threads_seen": len(self.times),
            "lost": {},
            "others": {},
            "threads": [
                {"thread": tid, "name": self.names[tid], "times": _whole(ns)}
                for tid, ns in self.times.items()
            ],
            "times": dict(times),
            "locks": [_lock(address, lock) for address, lock in self.locks.items()],
            **{name: [] for name in empty},
            "by": "looks",
            "why": ", and ".join(filter(None, (self.why, self.places.why_not))),
            "children": len(self.children),
        }
        return reading.made(Seen, found, "what was seen")


def _whole(sums: dict[str, float]) -> dict[str, int]:
    return {name: int(ns) for name, ns in sums.items()}


def _lock(address: int, lock: _LockSum) -> dict[str, Any]:
    waited = {role: _whole(states) for role, states in lock.waited.items()}
    none = ("gave_up", "wakes", "waiting", "longest_ns")
    use = ("woken", "woke", "by_waiters", "own", "came_back")
    return {
        "address": address,
        "module": -1,
        "offset": address,
        "op": lock.op,
        "value": lock.value,
        "owners": lock.owners,
        "waits": lock.waits,
        **dict.fromkeys(none + use, 0),
        "shared": False,
        "behaves": False,
        "wait_ns": sum(sum(states.values()) for states in waited.values()),
        "waited": waited,
        "wall": {role: _whole(states) for role, states in lock.wall.items()},
    }
