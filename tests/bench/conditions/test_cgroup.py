# SPDX-License-Identifier: MIT
"""Finding the cpu controller, and the protocol of version 2, on a kernel made of files.

It has the rules that decide where a group may be made; what a quota does is not in it.
"""

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from overlock_tools.bench.conditions import cgroup
from overlock_tools.core.system.errors import Fail

V1 = "30 24 0:26 {top} /sys/fs/cgroup/{name} rw,nosuid - cgroup cgroup rw,{controllers}"
V2 = "31 24 0:27 {top} {mounted} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate"
OTHER = "24 1 8:1 / / rw,relatime shared:1 master:2 - ext4 /dev/sda1 rw"


def v1(top: str = "/", name: str = "cpu,cpuacct", controllers: str = "cpu,cpuacct") -> str:
    return V1.format(top=top, name=name, controllers=controllers)


def v2(top: str = "/", mounted: str = "/sys/fs/cgroup") -> str:
    return V2.format(top=top, mounted=mounted)


CPU = "4:cpu,cpuacct:/user.slice\n"
FOUND = [
    ("version 1", [OTHER, v1()], CPU, "V1 /sys/fs/cgroup/cpu,cpuacct/user.slice"),
    ("version 2", [OTHER, v2()], "0::/a/b\n", "V2 /sys/fs/cgroup/a/b"),
    (
        "both, the controller in version 1",
        [v2(mounted="/sys/fs/cgroup/unified"), v1()],
        CPU + "0::/user.slice\n",
        "V1 /sys/fs/cgroup/cpu,cpuacct/user.slice",
    ),
    (
        "version 1 without the controller",
        [v1(name="pids", controllers="pids"), v1(name="cpuset", controllers="cpuset"), v2()],
        "3:pids:/\n2:cpuset:/\n0::/x\n",
        "V2 /sys/fs/cgroup/x",
    ),
    (
        "another controller whose name begins so",
        [v1(name="cpuset", controllers="cpuset"), v1(name="cpu", controllers="cpu")],
        "3:cpuset:/\n2:cpu:/a\n",
        "V1 /sys/fs/cgroup/cpu/a",
    ),
    (
        "a container that sees its own group as the top",
        [v1(top="/docker/1f")],
        "4:cpu,cpuacct:/docker/1f\n",
        "V1 /sys/fs/cgroup/cpu,cpuacct",
    ),
    (
        "a container that does not see its group",
        [v2(top="/docker/1f")],
        "0::/../2e\n",
        "V2 /sys/fs/cgroup",
    ),
    ("none", [OTHER], "0::/\n", "None"),
]


@pytest.mark.parametrize(
    ("mounts", "membership", "found"), [case[1:] for case in FOUND], ids=[case[0] for case in FOUND]
)
def test_where_the_controller_is(mounts: list[str], membership: str, found: str) -> None:
    tree = cgroup.hierarchy("\n".join(mounts), membership)
    assert (f"{type(tree).__name__} {tree.here}" if tree else "None") == found


class Kernel:
    """Version 2, as files: a group gets the files of those controllers that its parent gives it."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.forbidden: set[Path] = set()
        self.group("", "cpu memory")
        # A bound method would not be bound to the path.
        patch.setattr(Path, "mkdir", lambda path: self.mkdir(path))  # noqa: PLW0108
        patch.setattr(Path, "rmdir", lambda path: self.rmdir(path))  # noqa: PLW0108
        patch.setattr(cgroup, "write", self.write)

    def group(self, name: str, given: str = "", procs: str = "") -> Path:
        """One that is there already, with what it gives those below it."""
        path = self.root / name
        os.makedirs(path, exist_ok=True)
        self.fill(path)
        (path / "cgroup.subtree_control").write_text(given)
        (path / "cgroup.procs").write_text(procs)
        return path

    def fill(self, path: Path) -> None:
        top = path == self.root
        has = "cpu memory" if top else (path.parent / "cgroup.subtree_control").read_text()
        (path / "cgroup.controllers").write_text(has)
        (path / "cgroup.subtree_control").write_text("")
        (path / "cgroup.procs").write_text("")
        if "cpu" in has.split() and not top:
            (path / "cpu.max").write_text("max 100000\n")
            (path / "cpu.stat").write_text("nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n")

    def write(self, file: Path, text: str | int) -> None:
        if file.parent in self.forbidden:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if not file.exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        if file.name == "cgroup.procs":
            self.move(str(text), file)
        elif file.name == "cgroup.subtree_control":
            self.give(str(text), file)
        else:
            file.write_text(f"{text}\n")

    def move(self, pid: str, to: Path) -> None:
        if (to.parent / "cgroup.subtree_control").read_text().split() and to.parent != self.root:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        for procs in self.root.rglob("cgroup.procs"):
            procs.write_text("".join(f"{p}\n" for p in procs.read_text().split() if p != pid))
        to.write_text(to.read_text() + f"{pid}\n")

    def give(self, change: str, file: Path) -> None:
        if file.parent != self.root and (file.parent / "cgroup.procs").read_text().split():
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        had = set(file.read_text().split())
        file.write_text(" ".join(had | {change[1:]} if change[0] == "+" else had - {change[1:]}))

    def mkdir(self, path: Path) -> None:
        if path.parent in self.forbidden:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        os.mkdir(path)
        self.fill(path)

    def rmdir(self, path: Path) -> None:
        if (path / "cgroup.procs").read_text().split():
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        shutil.rmtree(path)

    def state(self) -> dict[str, set[str]]:
        return {
            str(file.relative_to(self.root)): set(file.read_text().split())
            for file in self.root.rglob("*")
            if file.is_file()
        }


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    with pytest.MonkeyPatch.context() as patch:
        yield Kernel(tmp_path, patch)


def test_group_goes_beside_ours_where_processes_may_be(kernel: Kernel) -> None:
    """A login's session: processes in its scope, whose slice hands the controller on."""
    kernel.group("", "cpu")
    kernel.group("user", "cpu")
    here = kernel.group("user/session", procs="7\n8\n")
    before = kernel.state()
    with cgroup.limited(cgroup.V2(kernel.root, here), 8, 50_000, 100_000) as group:
        assert group.path.parent == kernel.root / "user"
        assert (group.path / "cpu.max").read_text() == "50000 100000\n"
        assert (group.path / "cgroup.procs").read_text() == "8\n"
        assert group.tree.limit_of(group.path) == (50_000, 100_000)
        (group.path / "cpu.stat").write_text(
            "usage_usec 5\nnr_periods 9\nnr_throttled 4\nthrottled_usec 2500000\n"
        )
        assert group.tree.throttling(group.path) == cgroup.Throttling(9, 4, 2.5)
    assert kernel.state() == before


def test_controller_is_handed_on_for_as_long_as_it_is_needed(kernel: Kernel) -> None:
    """A scope of `systemd-run --user --scope`, in a slice that does not yet hand it on."""
    kernel.group("", "cpu")
    app = kernel.group("app")
    here = kernel.group("app/run-1.scope", procs="8\n")
    before = kernel.state()
    with cgroup.limited(cgroup.V2(kernel.root, here), 8, 50_000, 100_000) as group:
        assert group.path.parent == app
        assert (app / "cgroup.subtree_control").read_text() == "cpu"
    assert kernel.state() == before


def test_top_of_a_container_cannot_have_both(kernel: Kernel) -> None:
    """Its processes are in the only group there is: refused, and told what to do."""
    kernel.group("", "cpu")
    top = kernel.group("docker", procs="1\n8\n")
    before = kernel.state()
    with (
        pytest.raises(Fail, match=r"docker: Device or resource busy.*docker run --cpus"),
        cgroup.limited(cgroup.V2(top, top), 8, 50_000, 100_000),
    ):
        pass
    assert kernel.state() == before


def test_not_permitted(kernel: Kernel) -> None:
    """A user's session: the groups above it are root's."""
    user = kernel.group("user", "cpu")
    here = kernel.group("user/session", procs="8\n")
    kernel.forbidden |= {kernel.root, user, here}
    before = kernel.state()
    with (
        pytest.raises(Fail, match=r"Permission denied.*systemd-run --user --scope overlock"),
        cgroup.limited(cgroup.V2(kernel.root, here), 8, 50_000, 100_000),
    ):
        pass
    assert kernel.state() == before


def test_children_that_were_begun_inside_leave_too(kernel: Kernel) -> None:
    here = kernel.group("user", procs="8\n")
    with cgroup.limited(cgroup.V2(kernel.root, here), 8, 50_000, 100_000) as group:
        assert group.path.parent == kernel.root
        (group.path / "cgroup.procs").write_text("8\n9\n")
    assert set((here / "cgroup.procs").read_text().split()) == {"8", "9"}
    assert not group.path.exists()
