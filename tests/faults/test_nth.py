# SPDX-License-Identifier: MIT
"""One call of the interposer's fails, or is late: the first, the second, and so on to the last.

In the suite `faults`, the first of each call fails. The suite run-long takes all of them, and
delays them as well.
"""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from overlock_tools.core.system import native
from tests.faults.conftest import Denial, Deny, Ended
from tests.faults.test_run import aborts_in_glibc

ALL = "OVERLOCK_EVERY_CALL" in os.environ
FEWER = 78
MANY = 300
RIGHT = "begin\nlost 0\n"

# After the interposer's constructor has begun. The program makes some of them, too.
FAILS = {
    "openat": ("EMFILE", "EACCES"),
    "mmap": ("ENOMEM",),
    "munmap": ("ENOMEM",),
    "mprotect": ("ENOMEM",),
    "madvise": ("EINVAL",),
    "fallocate": ("ENOSYS", "ENOSPC"),
    "ftruncate": ("EIO",),
    "newfstatat": ("EACCES",),
    "read": ("EIO",),
    "write": ("ENOSPC",),
    "rename": ("EACCES",),
    "unlink": ("EACCES",),
    "fcntl": ("EMFILE",),
    "socket": ("EMFILE",),
    "setsockopt": ("EINVAL",),
    "connect": ("EAGAIN",),
    "recvmsg": ("EAGAIN",),
    "prctl": ("EPERM",),
    "prlimit64": ("EPERM",),
    "getrusage": ("EINVAL",),
    "membarrier": ("EPERM",),
    "rt_sigaction": ("EINVAL",),
    "rt_sigprocmask": (),  # it never fails; glibc's setcontext() would end the process
    "rt_sigtimedwait": ("EAGAIN",),
    "sched_getaffinity": ("EPERM",),
    "sched_getattr": ("EPERM",),
    "sched_yield": ("EPERM",),
    "futex": ("EAGAIN",),
}
MOST = {"futex": 20, "sched_yield": 20}  # waiters make them at will
KINDS: dict[str, tuple[str, dict[str, str]]] = {
    "run": ("run", {"OVERLOCK_LOCK": "mcs"}),
    "outside": ("run", {"OVERLOCK_LOCK": "partitioned_ticket"}),
    "counters": ("run-counted", {"OVERLOCK_LOCK": "mcs", "OVERLOCK_OUTPUT": "@/report"}),
    "live": ("run-counted", {"OVERLOCK_LOCK": "mcs", "OVERLOCK_LIVE": "@"}),
    "check": (
        "run-checked",
        {"OVERLOCK_LOCK": "mcs", "OVERLOCK_CHECK": "1", "OVERLOCK_OUTPUT": "@/report"},
    ),
    "record": ("record", {"OVERLOCK_RECORD": "@", "OVERLOCK_RECORD_EVENTS": "9999"}),
    "chaos": ("chaos", {"OVERLOCK_CHAOS_SEED": "1", "OVERLOCK_CHAOS_RECORDS": "@"}),
}


def ways(call: str) -> tuple[str, ...]:
    return (*FAILS[call], "DELAY") if ALL else FAILS[call][:1]


def each_nth(call: str, end: Callable[[Denial], Ended]) -> Iterator[tuple[Denial, Ended]]:
    """How the program ends with that call failing: the first, or each up to the last."""
    for way in ways(call):
        for n in range(1, MOST.get(call, MANY) + 1 if ALL else 2):
            denial = Denial((call, way, "--after-start", "--nth", str(n)))
            ended = end(denial)
            if ended.code == FEWER:
                break
            yield denial, ended
        else:
            assert not ALL or call in MOST, "there are more"


def but_for_words(ended: Ended) -> Ended:
    """Without our lines that say what there will not be."""
    return replace(ended, err=re.sub(r"overlock: [^\n]*\n", "", ended.err))


def is_right(call: str, ended: Ended) -> bool:
    """Or the program's own call has failed, and it says so; or its output is lost by that."""
    return (
        (ended.code, ended.out, but_for_words(ended).err) == (0, RIGHT, "")
        or ended.refused_in_words()
        or (ended.code == 3 and "no thread: " in ended.out)
        or (call == "write" and ended.code == 0 and RIGHT.startswith(ended.out))
        or (call == "futex" and aborts_in_glibc(ended))
    )


@pytest.mark.parametrize("call", FAILS)
@pytest.mark.parametrize("kind", KINDS)
def test_nth(deny: Deny, work: Path, tmp_path: Path, kind: str, call: str) -> None:
    name, variables = KINDS[kind]
    library = native.file(f"liboverlock-{name}.so")
    told = {key: value.replace("@", str(tmp_path)) for key, value in variables.items()}
    words: list[str | Path] = [work, "mutexes", "2", "200", "3"]
    for denial, ended in each_nth(call, lambda denial: deny(denial, words, library, **told)):
        assert is_right(call, ended), (denial, ended)
