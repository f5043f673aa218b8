# SPDX-License-Identifier: MIT
"""Where a runtime is asked: free, with a mask of one CPU, in groups with a quota, in a container's
view of such groups; from its start on, or only after it has counted once.

A container has a cgroup namespace: its group is the root of all that it sees. That takes root.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from overlock_tools.apps.runtimes.asked import Probe
from overlock_tools.bench.conditions import cgroup, proc

PERIOD_US = 100_000  # the kernel's own
# Go looks again every second, if it looks again.
SETTLE_S, BETWEEN_S = 2.5, 0.25

FREE, MASK, NESTED = "free", "mask", "nested"
QUOTA, CONTAINER = "quota", "container"
# 1.25 tells what rounds to the nearest from what rounds up.
CPUS = (0.5, 1.0, 1.25, 1.5, 2.5)
QUOTA_ONE = f"{QUOTA}-1"
MASK_LATER, QUOTA_LATER = "mask-later", "quota-later"


def _family(pid: int) -> Iterator[int]:
    yield pid
    for thread in proc.threads(pid):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/task/{thread}/children") as children:
                found = children.read().split()
            for child in found:
                yield from _family(int(child))


@contextmanager
def _free(_: int) -> Iterator[None]:
    yield


def _mask(pid: int) -> None:
    """All threads, on the first CPU that they may use."""
    cpu = min(os.sched_getaffinity(0))
    for process in list(_family(pid)):
        for thread in proc.threads(process):
            with contextlib.suppress(OSError):  # it has just ended
                os.sched_setaffinity(thread, [cpu])


@contextmanager
def _masked(pid: int) -> Iterator[None]:
    _mask(pid)
    yield


@contextmanager
def _in_group(cpus: float, pid: int) -> Iterator[cgroup.Group]:
    quota_us = round(cpus * PERIOD_US)
    with cgroup.limited(cgroup.ours(), pid, quota_us, PERIOD_US) as group:
        yield group


@contextmanager
def _limited(cpus: float, pid: int) -> Iterator[None]:
    with _in_group(cpus, pid):
        yield


def _unlimited(group: cgroup.Group) -> None:
    if isinstance(group.tree, cgroup.V2):
        cgroup.write(group.path / "cpu.max", "max")
    else:
        cgroup.write(group.path / "cpu.cfs_quota_us", -1)


@contextmanager
def _nested(pid: int) -> Iterator[None]:
    """In a group without a quota, below one that has one: as a container in a pod."""
    with _in_group(1, pid) as outer:
        inner = cgroup.Group(outer.tree, outer.path / "inner", outer.path)
        inner.path.mkdir()
        try:
            cgroup.write(inner.path / "cgroup.procs", pid)
            outer.tree.opened(outer.path)  # so that the inner one has a limit of its own: none
            yield
        finally:
            inner.empty()
            inner.path.rmdir()


@contextmanager
def _grouped(pid: int) -> Iterator[Callable[[], None]]:
    """In a group without a quota, which is given one later."""
    with _in_group(1, pid) as group:
        _unlimited(group)
        yield lambda: group.tree.limit(group.path, PERIOD_US, PERIOD_US)


@contextmanager
def _masked_later(pid: int) -> Iterator[Callable[[], None]]:
    yield lambda: _mask(pid)


@dataclass(frozen=True)
class Situation:
    # Around the probe, which is held meanwhile. What is yielded comes about after it has counted.
    applied: Callable[[int], contextlib.AbstractContextManager[Callable[[], None] | None]]
    later: bool = False
    quota: bool = False
    container: bool = False

    def lacks(self) -> str:
        """Why it cannot be had here; a group of one's own may be refused yet."""
        if self.container and os.geteuid():
            return "a container's view of its group takes root"
        return ""

    def inside(self) -> list[str]:
        """A prefix for the probe's command."""
        return _view(cgroup.ours()) if self.container else []


def _view(tree: cgroup.Hierarchy) -> list[str]:
    """Namespaces in which the mount shows nothing above the group."""
    kind = "-t cgroup2 cgroup2"
    if isinstance(tree, cgroup.V1):
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        names = (line.split(":")[1] for line in lines)
        kind = f"-t cgroup -o {next(name for name in names if 'cpu' in name.split(','))} cgroup"
    mount = f'umount --lazy "$0" && mount {kind} "$0" && exec "$@"'
    return ["unshare", "--mount", "--cgroup", "sh", "-c", mount, str(tree.root)]


def _quotas(kind: str) -> dict[str, Situation]:
    return {
        f"{kind}-{cpus:g}": Situation(
            partial(_limited, cpus), quota=True, container=kind == CONTAINER
        )
        for cpus in CPUS
    }


SITUATIONS = {
    FREE: Situation(_free),
    MASK: Situation(_masked),
    **_quotas(QUOTA),
    **_quotas(CONTAINER),
    NESTED: Situation(_nested, quota=True),
    MASK_LATER: Situation(_masked_later, later=True),
    QUOTA_LATER: Situation(_grouped, later=True, quota=True),
}


def counts(probe: Probe, situation: Situation) -> list[int]:
    """The probe ends in the situation, not after it."""
    with closing(probe), situation.applied(probe.pid) as change, closing(probe):
        probe.begin()
        answer = probe.counts()
        if change:
            change()
            return _settled(probe)
        return answer


def _settled(probe: Probe) -> list[int]:
    """It is asked all the while: a runtime may look again only as it runs."""
    until = time.monotonic() + SETTLE_S
    while time.monotonic() < until:
        probe.counts()
        time.sleep(BETWEEN_S)
    return probe.counts()
