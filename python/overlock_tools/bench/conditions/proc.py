# SPDX-License-Identifier: MIT
"""What /proc says of processes: how a scenario is seen from outside."""

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# A look takes about 0.1 ms of a CPU that is being measured.
BETWEEN_LOOKS_S = 0.02


@dataclass(frozen=True)
class Ran:
    """A thread's time on CPUs, its time waiting for one, and its turns on one, since it began."""

    on_cpu_s: float
    waited_s: float
    turns: int

    @classmethod
    def of(cls, pid: int) -> "Ran | None":
        """None if it has ended, or the kernel does not count (CONFIG_SCHED_INFO)."""
        try:
            words = Path(f"/proc/{pid}/schedstat").read_text().split()
        except OSError:
            return None
        return cls(int(words[0]) * 1e-9, int(words[1]) * 1e-9, int(words[2]))

    def since(self, then: "Ran") -> "Ran":
        return Ran(
            self.on_cpu_s - then.on_cpu_s, self.waited_s - then.waited_s, self.turns - then.turns
        )


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the third on: the second may have spaces in it."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def cpu_seconds(pid: int) -> float:
    """Of the process and of those children that it has waited for."""
    return sum(map(int, _stat(pid)[11:15])) / os.sysconf("SC_CLK_TCK")


def start_time(pid: int) -> int | None:
    """In ticks since boot: with the id, it names a process for good. None if there is none."""
    try:
        return int(_stat(pid)[19])
    except OSError:
        return None


def threads(pid: int) -> set[int]:
    try:
        return {int(name) for name in os.listdir(f"/proc/{pid}/task")}
    except OSError:
        return set()


def children(pid: int) -> list[int]:
    """Of the thread that began the process: overlock-bench forks from no other."""
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def slice_us(tid: int) -> int | None:
    """The time slice that the kernel reports for a thread; None if it reports none."""
    try:
        text = Path(f"/proc/{tid}/task/{tid}/sched").read_text()
    except OSError:
        return None
    found = re.search(r"^se\.slice\s*:\s*(\d+)", text, re.MULTILINE)
    return int(found[1]) // 1000 if found else None


@contextmanager
def looking(look: Callable[[], bool]) -> Iterator[None]:
    """Calls look() now and then, from a thread of its own, until it has seen enough.

    Then the measurement is left in peace.
    """
    leave = threading.Event()

    def watch() -> None:
        while not look() and not leave.wait(BETWEEN_LOOKS_S):
            pass

    thread = threading.Thread(target=watch, name="scenario's witness", daemon=True)
    thread.start()
    try:
        yield
    finally:
        leave.set()
        thread.join()
