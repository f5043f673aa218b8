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


def mounts(tree: Tree, who: str = "self") -> list[tuple[int, str, str]]:
    """Version, root and mount point of each hierarchy that limits CPU time, as `who` has them."""
    found = []
    for line in tree.read(f"/proc/{who}/mountinfo").splitlines():
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
    below = _below(path, root) if "/.." not in path else None
    if below is None and (other := _from_within(tree, who)):
        return other
    # A group outside of what is mounted here: what is mounted is the nearest that can be seen.
    groups = _folders(version, point, below or [])
    tree.names(groups.folders[-1])
    return groups


def _from_within(tree: Tree, who: str) -> Groups | None:
    """Of a process in another container: by what is mounted there, if one may look."""
    try:
        version, root, point = mounts(tree, who)[0]
        below = _below(_path(tree, who, version), root)
        if below is None:
            return None
        groups = _folders(version, f"/proc/{who}/root{point}", below)
        tree.names(groups.folders[-1])
    except (Unknown, IndexError):
        return None
    return groups


def _below(path: str, root: str) -> list[str] | None:
    """The parts of `path` below `root`; None if it is not there."""
    top = root.rstrip("/")
    if path != root and not path.startswith(top + "/"):
        return None
    return [part for part in path[len(top) :].split("/") if part]


def _folders(version: int, point: str, below: list[str]) -> Groups:
    numbers = range(len(below), -1, -1)
    return Groups(version, ["/".join([point, *below[:n]]) for n in numbers])


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
