# SPDX-License-Identifier: MIT
"""The control groups a process is in, as far up as they can be seen: their CPU quotas."""

from dataclasses import dataclass

from overlock_tools.core.system.kernel_files import Tree, Unknown, fields


@dataclass(frozen=True)
class Groups:
    """Folders of a process's group and of those above it, nearest first."""

    version: int  # of the hierarchy that limits CPU time
    folders: list[str]


@dataclass(frozen=True)
class Quota:
    cpus: float
    folder: str


@dataclass(frozen=True)
class Throttling:
    """Since the group began: its periods, those in which it was stopped, and for how long."""

    periods: int
    throttled: int
    seconds: float


def mounts(tree: Tree) -> list[tuple[int, str, str]]:
    """Version, root and mount point of each hierarchy that limits CPU time."""
    found = []
    for line in tree.read("/proc/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        root, point = before.split()[3:5]
        kind, *_, options = after.split()
        if kind == "cgroup" and "cpu" in options.split(","):
            found.append((1, root, point))
        elif kind == "cgroup2":
            found.append((2, root, point))
    # With both mounted, as systemd's hybrid layout has it, the CPU controller is in the older.
    return sorted(found, key=lambda mount: mount[0])


def _path(tree: Tree, who: str, version: int) -> str:
    for line in tree.read(f"/proc/{who}/cgroup").splitlines():
        number, controllers, path = line.split(":", 2)
        if (version == 2 and number == "0") or (version == 1 and "cpu" in controllers.split(",")):
            return path
    raise Unknown(f"/proc/{who}/cgroup names no group of a hierarchy that limits CPU time")


def of(tree: Tree, who: str) -> Groups:
    """`who` is a process id or `self`."""
    try:
        return _of(tree, who)
    except (ValueError, IndexError) as error:
        raise Unknown(f"/proc/{who}/cgroup or mountinfo is malformed: {error}") from error


def _of(tree: Tree, who: str) -> Groups:
    mounted = mounts(tree)
    if not mounted:
        raise Unknown("no cgroup file system that limits CPU time is mounted here")
    version, root, point = mounted[0]
    path = _path(tree, who, version)
    inside = path == root or path.startswith(root.rstrip("/") + "/")
    # A group outside of what is mounted here: what is mounted is the nearest that can be seen.
    below = path[len(root.rstrip("/")) :] if inside and "/.." not in path else ""
    parts = [part for part in below.split("/") if part]
    folders = ["/".join([point, *parts[:n]]) for n in range(len(parts), -1, -1)]
    tree.names(folders[-1])
    return Groups(version, folders)


def _quota(tree: Tree, folder: str) -> float | None:
    words = tree.read_or(f"{folder}/cpu.max").split() or [
        tree.read_or(f"{folder}/cpu.cfs_quota_us", "max"),
        tree.read_or(f"{folder}/cpu.cfs_period_us", "100000"),
    ]
    return None if words[0] in ("max", "-1") else int(words[0]) / int(words[1])


def quota(tree: Tree, groups: Groups) -> Quota | None:
    """The least quota of the group and those above."""
    found = [(cpus, folder) for folder in groups.folders if (cpus := _quota(tree, folder))]
    return Quota(*min(found)) if found else None


def throttling(text: str) -> Throttling:
    """From a cpu.stat, of either version."""
    try:
        counts = {name: int(value) for name, value in fields(text).items()}
    except ValueError as error:
        raise Unknown(f"cpu.stat is malformed: {error}") from error
    if "nr_throttled" not in counts:
        raise Unknown("cpu.stat has no nr_throttled")
    ns = counts.get("throttled_time", 1000 * counts.get("throttled_usec", 0))
    return Throttling(counts.get("nr_periods", 0), counts["nr_throttled"], ns / 1e9)
