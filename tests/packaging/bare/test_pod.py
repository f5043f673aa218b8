# SPDX-License-Identifier: MIT
"""The manifest of docs/containers.md, word for word, run by podman, and rolled back."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import NATIVE, TOP
from tests.processes import HANG_S

PAGE = (TOP / "docs/containers.md").read_text()
HEAD = "apiVersion: v1\nkind: Pod\nmetadata: {name: tried}\n"
ASKED = ["grep", "-c", "liboverlock-run", "/proc/self/maps"]
CONFIG = """[containers]
netns = "none"
pids_limit = 0
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
"""


def manifest() -> str:
    found = re.search(r"```yaml\n(spec:\n.*?)```", PAGE, re.DOTALL)
    assert found
    return HEAD + found[1] + "  restartPolicy: Never\n"


class Podman:
    """With a storage of its own, and images made of this machine's files."""

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

    def make_image(self, name: str, extra: Path) -> None:
        tree = self.folder / name
        for program in map(shutil.which, ("cp", "grep")):
            assert program
            listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True)
            for file in [program, *re.findall(r"/\S+", listed.stdout)]:
                command = ["cp", "--dereference", "--parents", file, tree]
                tree.mkdir(exist_ok=True)
                subprocess.run(command, check=True)
        shutil.copytree(extra, tree, dirs_exist_ok=True)
        packed = subprocess.run(["tar", "-C", tree, "-c", "."], capture_output=True, check=True)
        words = " ".join(f'"{word}",' for word in ASKED).rstrip(",")
        change = ["-c", "ENV PATH=/usr/bin:/bin", "-c", f"CMD [{words}]"]
        done = self("import", "-q", *change, "-", f"localhost/{name}:latest", given=packed.stdout)
        assert done.returncode == 0, done.stderr

    def says(self, text: str) -> str:
        """What the pod's container prints before it ends."""
        file = self.folder / "pod.yaml"
        file.write_text(text)
        try:
            played = self("kube", "play", "--network", "none", str(file))
            assert played.returncode == 0, played.stderr
            self("wait", "tried-server")
            said = self("logs", "tried-server")
        finally:
            self("pod", "rm", "--all", "--force")
        return (said.stdout + said.stderr).decode().strip()


@pytest.fixture(scope="module")
def podman(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Podman]:
    missing = [name for name in ("podman", "runc", "catatonit") if not shutil.which(name)]
    if missing or os.getuid() != 0:
        pytest.skip(f"podman kube play needs root, and {', '.join(missing) or 'more rights'}")
    folder = tmp_path_factory.mktemp("podman")
    tried = Podman(folder)
    library = folder / "extra/usr/lib/overlock"
    library.mkdir(parents=True)
    (folder / "nothing").mkdir()
    shutil.copy(NATIVE / "liboverlock-run.so", library)
    tried.make_image("overlock-library", folder / "extra")
    tried.make_image("server", folder / "nothing")
    works = ("grep", "-q", "", "/proc/version")
    probe = tried("run", "--rm", "--network", "none", "localhost/server", *works)
    if probe.returncode:
        why = probe.stderr.decode().strip().splitlines()[-1:]
        pytest.skip(f"podman runs no container here: {why}")
    yield tried
    tried("pod", "rm", "--all", "--force")
    tried("rm", "--all", "--force")


def test_the_init_container_brings_the_library(podman: Podman) -> None:
    assert int(podman.says(manifest())) > 0


def test_without_the_library_the_program_starts_natively(podman: Podman) -> None:
    other = manifest().replace("[cp, /usr/lib/overlock/liboverlock-run.so,", "[cp, /proc/version,")
    told = podman.says(other)
    assert "0" in told.splitlines()
    assert "cannot be preloaded" in told


def test_it_is_rolled_back(podman: Podman, tmp_path: Path) -> None:
    """`kubectl set env` on the file: there is no cluster here."""
    if not shutil.which("kubectl"):
        pytest.skip("there is no kubectl")
    (line,) = re.findall(r"^    kubectl set env deployment/server (.*)$", PAGE, re.MULTILINE)
    file = tmp_path / "pod.yaml"
    file.write_text(manifest())
    command = ["kubectl", "set", "env", "--local", "-f", file, "-o", "yaml", *line.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "LD_PRELOAD" not in done.stdout
    assert podman.says(done.stdout) == "0"
