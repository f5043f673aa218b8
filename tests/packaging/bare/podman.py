# SPDX-License-Identifier: MIT
"""podman, with a storage of its own: images made of this machine's files, and pods of manifests."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.processes import HANG_S

CONFIG = """[containers]
netns = "none"
pids_limit = 0
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
"""
HEAD = "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\n"
RESTART = "  restartPolicy: Never\n"


def manifest(page: str, number: int, name: str) -> str:
    """One of the specifications of a page, word for word, but for the registry."""
    found: list[str] = re.findall(r"```yaml\n(spec:\n.*?)```", page, re.DOTALL)
    return (HEAD.format(name=name) + found[number] + RESTART).replace("REGISTRY/", "localhost/")


class Podman:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "containers.conf").write_text(CONFIG)

    def __call__(self, *words: str, given: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
        own = ["--root", str(self.folder / "root"), "--runroot", str(self.folder / "run")]
        return subprocess.run(
            ["podman", *own, "--storage-driver", "vfs", *words],
            env={**os.environ, "CONTAINERS_CONF": str(self.folder / "containers.conf")},
            input=given,
            capture_output=True,
            timeout=HANG_S,
            check=False,
        )

    def says(self, *words: str) -> str:
        """What it prints; it must succeed."""
        done = self(*words)
        assert done.returncode == 0, (words, done.stderr.decode())
        return done.stdout.decode()

    def tells(self, *words: str) -> str:
        """As `says`, with standard error, where reports go."""
        done = self(*words)
        assert done.returncode == 0, (words, done.stderr.decode())
        return (done.stdout + done.stderr).decode()

    def make_image(self, name: str, start: list[str], *programs: Path) -> None:
        """Of programs, each in /usr/bin, with what they load."""
        tree = self.folder / name
        (tree / "usr/bin").mkdir(parents=True)
        for program in programs:
            shutil.copy(program, tree / "usr/bin")
            listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True)
            for file in re.findall(r"/\S+", listed.stdout):
                subprocess.run(["cp", "--dereference", "--parents", file, tree], check=True)
        packed = subprocess.run(["tar", "-C", tree, "-c", "."], capture_output=True, check=True)
        words = ", ".join(f'"{word}"' for word in start)
        change = ["-c", "ENV PATH=/usr/bin:/bin", "-c", f"CMD [{words}]"]
        done = self("import", "-q", *change, "-", f"localhost/{name}:latest", given=packed.stdout)
        assert done.returncode == 0, done.stderr

    @contextmanager
    def pod(self, text: str) -> Iterator[None]:
        """Runs meanwhile."""
        file = self.folder / "pod.yaml"
        file.write_text(text)
        try:
            self.says("kube", "play", "--network", "none", str(file))
            for pid in self.says("ps", "--format", "{{.Pid}}").split():
                favour(pid)
            yield
        finally:
            self("pod", "rm", "--all", "--force", "--time", "0")


def favour(pid: str) -> None:
    """Beside busy neighbours a container would get less than its quota, and never be stopped."""
    with suppress(OSError):  # it may be over
        for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
            number, controllers, path = line.split(":", 2)
            if "cpu" in controllers.split(","):
                base, file, most = Path("/sys/fs/cgroup/cpu"), "cpu.shares", "262144"
            elif number == "0":
                base, file, most = Path("/sys/fs/cgroup"), "cpu.weight", "10000"
            else:
                continue
            for part in [Path(path), *Path(path).parents][:-1]:
                weight = base / str(part).lstrip("/") / file
                if weight.exists():
                    weight.write_text(most)


def why_not() -> str:
    missing = [name for name in ("podman", "runc", "catatonit") if not shutil.which(name)]
    if missing or os.getuid() != 0:
        return f"podman kube play needs root, and {', '.join(missing) or 'more rights'}"
    return ""


def skip_where_none_runs(podman: Podman, image: str, *works: str) -> None:
    done = podman("run", "--rm", "--network", "none", f"localhost/{image}", *works)
    if done.returncode:
        why = done.stderr.decode().strip().splitlines()[-1:]
        pytest.skip(f"podman runs no container here: {why}")
