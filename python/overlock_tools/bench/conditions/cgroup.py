# SPDX-License-Identifier: MIT
"""A cgroup of our own with a CPU quota, in whichever of the two interfaces has the controller.

Version 1: a group below ours. Version 2 lets no group have both processes and groups that are
limited below it, so it goes below the nearest one above us that may have them.
"""

import contextlib
import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from overlock_tools.bench.conditions import proc
from overlock_tools.core.system.errors import MISSING, Fail, say

PREFIX = "overlock"
# A process may start children while it is being moved out; each time fewer are left.
LEAVING_S = 5.0


def write(file: Path, text: str | int) -> None:
    """Into a file that is there: the kernel makes them, and one that it lacks is an error."""
    with file.open("r+") as out:
        out.write(str(text))


@dataclass(frozen=True)
class Throttling:
    periods: int
    throttled: int
    throttled_s: float

    def since(self, then: "Throttling") -> "Throttling":
        return Throttling(
            self.periods - then.periods,
            self.throttled - then.throttled,
            self.throttled_s - then.throttled_s,
        )


@dataclass(frozen=True)
class Hierarchy(ABC):
    """Where the cpu controller's groups are, and which of them this process is in."""

    root: Path
    here: Path

    @abstractmethod
    def parents(self) -> list[Path]:
        """Groups that ours may be made below, best first."""

    @abstractmethod
    def opened(self, parent: Path) -> Callable[[], None]:
        """Lets groups below `parent` have quotas; returns what undoes it."""

    @abstractmethod
    def limit(self, group: Path, quota_us: int, period_us: int) -> None: ...

    @abstractmethod
    def limit_of(self, group: Path) -> tuple[int, int]:
        """Quota and period in µs, as the kernel has them."""

    @abstractmethod
    def throttling(self, group: Path) -> Throttling: ...


class V1(Hierarchy):
    def parents(self) -> list[Path]:
        return [self.here]

    def opened(self, parent: Path) -> Callable[[], None]:
        return lambda: None

    def limit(self, group: Path, quota_us: int, period_us: int) -> None:
        write(group / "cpu.cfs_period_us", period_us)
        write(group / "cpu.cfs_quota_us", quota_us)

    def limit_of(self, group: Path) -> tuple[int, int]:
        return int((group / "cpu.cfs_quota_us").read_text()), int(
            (group / "cpu.cfs_period_us").read_text()
        )

    def throttling(self, group: Path) -> Throttling:
        stat = _stat(group)
        return Throttling(stat["nr_periods"], stat["nr_throttled"], stat["throttled_time"] * 1e-9)


class V2(Hierarchy):
    def parents(self) -> list[Path]:
        above = [self.here, *self.here.parents]
        return [
            group
            for group in above[: above.index(self.root) + 1]
            if "cpu" in (group / "cgroup.controllers").read_text().split()
        ]

    def opened(self, parent: Path) -> Callable[[], None]:
        control = parent / "cgroup.subtree_control"
        if "cpu" in control.read_text().split():
            return lambda: None
        write(control, "+cpu")
        return lambda: write(control, "-cpu")

    def limit(self, group: Path, quota_us: int, period_us: int) -> None:
        write(group / "cpu.max", f"{quota_us} {period_us}")

    def limit_of(self, group: Path) -> tuple[int, int]:
        quota, period = (group / "cpu.max").read_text().split()
        return int(quota), int(period)

    def throttling(self, group: Path) -> Throttling:
        stat = _stat(group)
        return Throttling(stat["nr_periods"], stat["nr_throttled"], stat["throttled_usec"] * 1e-6)


def _stat(group: Path) -> dict[str, int]:
    lines = (group / "cpu.stat").read_text().splitlines()
    return {key: int(value) for key, value in (line.split() for line in lines)}


def hierarchy(mountinfo: str, membership: str) -> Hierarchy | None:
    """From /proc/self/mountinfo and /proc/self/cgroup; None if no mount has the cpu controller."""
    groups = {}  # the path of our group, by controller; "" is version 2
    for line in membership.splitlines():
        _, controllers, path = line.split(":", 2)
        groups.update(dict.fromkeys(controllers.split(","), path))
    second: Hierarchy | None = None
    for line in mountinfo.splitlines():
        words = line.split()
        top, mounted, (kind, _, options) = words[3], words[4], words[words.index("-") + 1 :][:3]
        if kind == "cgroup" and "cpu" in options.split(",") and "cpu" in groups:
            return V1(Path(mounted), _below(mounted, top, groups["cpu"]))
        if kind == "cgroup2" and "" in groups:
            second = second or V2(Path(mounted), _below(mounted, top, groups[""]))
    return second


def _below(mounted: str, top: str, path: str) -> Path:
    """A mount shows the tree from its group `top` on; a container's may not show ours."""
    relative = os.path.relpath(path, top)
    return Path(mounted) if relative.startswith("..") else Path(mounted, relative)


def ours() -> Hierarchy:
    found = hierarchy(
        Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text()
    )
    if not found or (isinstance(found, V2) and not found.parents()):
        raise Fail(
            "--quota: no cgroup here has the cpu controller; mount one, or run overlock in a "
            "container with a quota (docker run --cpus 1.5)",
            MISSING,
        )
    return found


def _name(pid: int) -> str:
    return f"{PREFIX}-{pid}-{proc.start_time(pid)}"


def remove_stale(parent: Path) -> None:
    """Groups whose owner was killed before it could: empty, and named by an owner that is gone."""
    for group in parent.glob(f"{PREFIX}-*"):
        named = re.fullmatch(PREFIX + r"-(\d+)-(\d+)", group.name)
        if named and proc.start_time(int(named[1])) != int(named[2]):
            with contextlib.suppress(OSError):  # not empty yet: the next one's turn
                group.rmdir()


@dataclass(frozen=True)
class Group:
    """A group of our own, and where its processes came from."""

    tree: Hierarchy
    path: Path
    origin: Path

    def pids(self) -> list[int]:
        return [int(word) for word in (self.path / "cgroup.procs").read_text().split()]

    def empty(self) -> None:
        """Moves whoever is in it to where they came from."""
        until = time.monotonic() + LEAVING_S
        while (left := self.pids()) and time.monotonic() < until:
            for pid in left:
                with contextlib.suppress(OSError):  # it has just ended
                    write(self.origin / "cgroup.procs", pid)


@contextmanager
def limited(tree: Hierarchy, pid: int, quota_us: int, period_us: int) -> Iterator[Group]:
    """The process, and what it starts, in a group with that quota; in the first place that can."""
    refused: list[str] = []
    for parent in tree.parents():
        with ExitStack() as stack:
            try:
                group = _made(tree, parent, stack)
                tree.limit(group.path, quota_us, period_us)
                write(group.path / "cgroup.procs", pid)
            except OSError as error:
                refused.append(f"{parent}: {error.strerror}")
                continue
            yield group
            return
    raise Fail(_advice(tree, refused), MISSING)


def _made(tree: Hierarchy, parent: Path, stack: ExitStack) -> Group:
    """A new group below `parent`; the stack empties it, removes it, and undoes the rest."""
    remove_stale(parent)
    undo = tree.opened(parent)
    stack.callback(_quietly, undo)
    group = Group(tree, parent / _name(os.getpid()), tree.here)
    group.path.mkdir()
    stack.callback(_remove, group.path)
    stack.callback(group.empty)
    return group


def _quietly(undo: Callable[[], None]) -> None:
    with contextlib.suppress(OSError):  # somebody else has come to need it
        undo()


def _remove(group: Path) -> None:
    try:
        group.rmdir()
    except OSError as error:
        say(f"{group} cannot be removed: {error.strerror}; `rmdir` it once it is empty")


def _advice(tree: Hierarchy, refused: list[str]) -> str:
    session = ", as `systemd-run --user --scope overlock ...`" if isinstance(tree, V2) else ""
    return (
        f"--quota: cannot create a cgroup here ({'; '.join(refused)}); run overlock as root"
        f"{session}, or in a container with a quota (docker run --cpus 1.5)"
    )
