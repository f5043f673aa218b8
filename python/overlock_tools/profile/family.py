# SPDX-License-Identifier: MIT
"""The processes that a program starts, and those that they start: each is watched by itself.

They are found while they run, from some CPU time on: short helpers are counted, not watched. Each
watcher costs every switch of a thread some time, so only the busiest are watched at once.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from overlock_tools.core.system.errors import Fail
from overlock_tools.core.system.text import printable
from overlock_tools.profile import agent, sampler
from overlock_tools.profile.seen import Seen

WORTH_S = 0.05  # of CPU time
APART_S = 0.2  # between two looks for new ones
MOST = 4  # watched at once
TICKS = os.sysconf("SC_CLK_TCK")


class Context(Protocol):
    def look(self) -> None: ...


AContext = TypeVar("AContext", bound=Context)


@dataclass
class Member(Generic[AContext]):
    pid: int
    name: str
    context: AContext
    watching: agent.Watching | None = None
    seen: Seen | None = None
    is_over: bool = False

    def watch(self, sizes: dict[str, int], by: str) -> None:
        with contextlib.suppress(Fail, OSError):  # it may have ended meanwhile
            self.watching = agent.watch(self.pid, None, sizes, by)
            self.seen = self.watching.answer(self.context.look)
        self.is_over = True


def _descendants(pid: int) -> list[int]:
    """One that has ended may be found, and one whose parent has ended may not."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            for child in sampler.children(f"/proc/{pid}/task/{thread}"):
                found += [child, *_descendants(child)]
    return found


def _cpu_s(pid: int) -> float:
    with contextlib.suppress(OSError, IndexError, ValueError):
        words = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / TICKS
    return 0.0


def name_of(pid: int) -> str:
    """OSError: there is no such process."""
    return printable(Path(f"/proc/{pid}/comm").read_text(errors="replace").strip())


class Family(Generic[AContext]):
    def __init__(
        self, pid: int, sizes: dict[str, int], by: str, context: Callable[[int], AContext]
    ) -> None:
        self.pid, self.sizes, self.by, self.context = pid, sizes, by, context
        self.members: dict[int, Member[AContext]] = {}
        self.left: dict[int, float] = {}  # CPU seconds, when last seen, of those not watched
        self.threads: list[threading.Thread] = []
        self.looked = 0.0

    def look(self) -> None:
        now = time.monotonic()
        if now - self.looked < APART_S:
            return
        self.looked = now
        others = [pid for pid in _descendants(self.pid) if pid not in self.members]
        self.left |= {pid: cpu_s for pid in others if (cpu_s := _cpu_s(pid)) >= WORTH_S}
        room = MOST - sum(not member.is_over for member in self.members.values())
        busiest = sorted(self.left.keys() & set(others), key=lambda pid: -self.left[pid])
        for pid in busiest[:room]:
            with contextlib.suppress(OSError):
                self._begin(Member(pid, name_of(pid), self.context(pid)))

    def _begin(self, member: Member[AContext]) -> None:
        self.members[member.pid] = member
        self.left.pop(member.pid, None)
        thread = threading.Thread(target=member.watch, args=(self.sizes, self.by))
        thread.start()
        self.threads.append(thread)

    def end(self) -> list[Member[AContext]]:
        """Those of which something was seen; who ran the most first."""
        while any(thread.is_alive() for thread in self.threads):
            for member in self.members.values():
                if member.watching:
                    member.watching.stop()
            for thread in self.threads:
                thread.join(APART_S)
        found = [member for member in self.members.values() if member.seen]
        return sorted(found, key=lambda one: -(one.seen.times.get("running", 0) if one.seen else 0))
