# SPDX-License-Identifier: MIT
"""What overlock-profiler prints, read: profile/profiler.c. Times are in ns."""

from dataclasses import dataclass, field, replace
from typing import Any

from overlock_tools.core.system import reading
from overlock_tools.core.system.reading import Count

HOLDER, NEXT, UNKNOWN = "holder", "next", "unknown"  # the roles of profile/waits.def

NONE = Count(0)

# Registers, as DWARF numbers them, and so profile/waits.h.
DWARF = (
    *("rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp"),
    *(f"r{n}" for n in range(8, 16)),
)

Times = dict[str, Count]  # by the states of profile/waits.def
Roles = dict[str, Times]


@dataclass(frozen=True)
class Thread:
    thread: Count
    name: str
    times: Times


@dataclass(frozen=True)
class Lock:
    address: Count
    module: int
    offset: Count
    op: Count
    value: Count
    owners: Count  # waits whose holder the mutex named
    waits: Count
    gave_up: Count
    wakes: Count
    waiting: Count  # at the end
    wait_ns: Count
    longest_ns: Count
    waited: Roles  # the time of all waiters
    wall: Roles  # the time in which somebody waited
    # How it is used: profile/account.h.
    woken: Count
    woke: Count
    by_waiters: Count
    own: Count
    came_back: Count
    shared: bool  # more than one thread waited
    behaves: bool  # as a lock


@dataclass(frozen=True)
class Cause:
    """What kept the thread that all wait for: who had its CPU, or the call that it slept in."""

    address: Count
    at: Count  # the futex that it waited at; 0: at none
    role: str
    state: str
    ns: Count
    sibling: bool
    taker: str
    call: str


@dataclass(frozen=True)
class Onward:
    """Of waits at `address`, what their threads would else have waited at `to`, where they went.

    Of address 0: what they gave away by yields right before they waited at `to`.
    """

    address: Count
    to: Count
    ns: Count


@dataclass(frozen=True)
class KernelLock:
    flags: Count
    waits: Count
    ns: Count
    longest_ns: Count
    frames: list[Count]


@dataclass(frozen=True)
class Stack:
    of: str
    state: str
    address: Count
    seen: Count
    ns: Count
    frames: list[list[int]]  # object, offset
    scanned: bool = False  # after the first, pairs: a function called, who called; some are over


@dataclass(frozen=True)
class Suspect:
    """A thread that is able to run and has no CPU, elsewhere in the code."""

    thread: Count
    ip: Count
    state: str


@dataclass(frozen=True)
class Sample:
    thread: Count
    registers: list[Count]
    away: Count  # threads able to run, without a CPU
    suspects: list[Suspect]  # some of them
    stack: list[list[int]] = field(default_factory=list)  # words that may be addresses of code

    @property
    def by_name(self) -> dict[str, int]:
        """Its registers."""
        return dict(zip(DWARF, self.registers, strict=True))


@dataclass(frozen=True)
class Code:
    """An instruction that threads were seen at."""

    ip: Count
    frame: list[int]
    seen: Count
    kept: list[Sample]


@dataclass(frozen=True)
class Seen:
    pid: Count
    ns: Count
    cpus: Count
    hertz: Count
    sampled_cpus: Count
    samples: Count
    samples_kernel: Count
    samples_yield: Count  # of these, in sched_yield()
    threads_seen: Count
    lost: Times
    others: Times  # waits of locks beyond those that are kept
    threads: list[Thread]
    times: Times
    locks: list[Lock]
    causes: list[Cause]
    kernel_locks: list[KernelLock]
    stacks: list[Stack]
    code: list[Code]
    modules: list[str]
    by: str = "bpf"  # or `looks`: profile/sampler.py
    identities: list[str] = field(default_factory=list)  # of modules: profile/unwind.h
    why: str = ""  # by looks
    looks: Count = NONE  # by looks
    onwards: list[Onward] = field(default_factory=list)
    children: Count = NONE  # processes that it started, which nobody watched
    changes: list[Any] = field(default_factory=list)  # for profile/timeline.py, as they came


def read(text: str) -> Seen:
    """A ValueError says what is wrong."""
    raw = reading.parsed(text)
    changes = raw.pop("changes", [])  # they are many
    return replace(reading.made(Seen, raw, "overlock-profiler's answer"), changes=changes)
