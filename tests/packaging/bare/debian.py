# SPDX-License-Identifier: MIT
"""A Debian as a newcomer has it: apt, make, git, and nothing else.

Each user gets a copy. tests/newest has roots of its own, which it keeps.
"""

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import BUILD, TOP
from tests.processes import HANG_S
from tests.profile.conftest import lacking

RELEASE, PACKAGES = "bookworm", "ca-certificates,git,make"
KEPT = BUILD / "bare"
# The newest release's index is valid for a week, which a mirror may be behind.
OLD = ("--aptopt=Acquire::Check-Valid-Until false",)
# This machine's way to its package mirrors.
SHARED = (
    *("etc/resolv.conf", "etc/hosts", "etc/pip.conf", "etc/apt/apt.conf.d"),
    *("etc/ssl/certs", "usr/local/share/ca-certificates"),
)
WAY = re.compile(r"(PIP|SSL|REQUESTS|CURL)_\w+|(https?|no)_proxy", re.IGNORECASE)
# Within a namespace of mounts, and of processes, so nothing is left behind.
ENTER = """
[ $$ = 1 ] && mount -t proc proc "$1/proc" || mount --rbind /proc "$1/proc"
mount --rbind /dev "$1/dev"
mount --rbind /sys "$1/sys"
root=$1
shift
exec chroot "$root" env -i "$@"
"""
HOME = {
    "HOME": "/root",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
    "DEBIAN_FRONTEND": "noninteractive",
}
UNSHARED = ("unshare", "--mount", "--pid", "--fork", "--kill-child")
AMONG_ALL = ("unshare", "--mount")


@dataclass(frozen=True)
class Debian:
    root: Path

    def run(
        self, script: str, unshared: tuple[str, ...] = UNSHARED, seconds: float = 2 * HANG_S
    ) -> "subprocess.CompletedProcess[str]":
        """bash reads it, and stops at the first command that fails."""
        way = {name: value for name, value in os.environ.items() if WAY.fullmatch(name)}
        env = [f"{name}={value}" for name, value in (HOME | way).items()]
        return subprocess.run(
            [*unshared, "bash", "-euc", ENTER, "enter", self.root, *env, "bash", "-euxc", script],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )

    def says(self, script: str) -> str:
        """What it prints; it must succeed."""
        done = self.run(script)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    def profiles(self, overlock: str) -> None:
        """By BPF, among all processes of the machine: who waits at which lock is named."""
        if why := lacking():
            pytest.skip(why)
        source = TOP / "tests/profile/planted/two_mutexes.c"
        program = self.root / "tmp/two_mutexes"
        subprocess.run(["cc", "-O2", "-pthread", source, "-o", program], check=True)
        done = self.run(f"cd /tmp; {overlock} profile -- ./two_mutexes", AMONG_ALL)
        assert done.returncode == 0, done.stderr
        assert "looking at /proc instead" not in done.stderr
        assert "taken in" in done.stderr, done.stderr

    def take_checkout(self, folder: str) -> None:
        """The tracked files as they are now, in place of earlier ones; what was
        built stays."""
        there = self.root / folder
        for old in there.glob("*") if there.exists() else ():
            if old.name not in ("build", ".venv"):
                subprocess.run(["rm", "-rf", old], check=True)
        there.mkdir(parents=True, exist_ok=True)
        names = ["git", "ls-files", "-z"]
        listed = subprocess.run(names, cwd=TOP, capture_output=True, check=True).stdout
        kept = b"\0".join(n for n in listed.split(b"\0") if n and (TOP / os.fsdecode(n)).exists())
        pack = ["tar", "-C", str(TOP), "-c", "--null", "-T", "-"]
        packed = subprocess.run(pack, input=kept, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-C", there, "-x"], input=packed, check=True)


@cache
def why_not(release: str = RELEASE, folder: Path | None = None) -> str:
    """Why no such root can be made here; empty if it can."""
    kept = folder or KEPT / release
    if os.getuid() != 0:
        return "only root can enter another root file system"
    if not shutil.which("mmdebstrap"):
        return "mmdebstrap is missing; tools/setup bare installs it"
    if subprocess.run([*UNSHARED, "true"], capture_output=True, check=False).returncode:
        return "this machine allows no namespaces"
    with _locked(kept):
        if (kept / "made").exists():
            return ""
        shutil.rmtree(kept / "root", ignore_errors=True)
        command = ["mmdebstrap", "--quiet", "--variant=apt", f"--include={PACKAGES}", *OLD, release]
        done = subprocess.run(
            [*command, kept / "root"], capture_output=True, text=True, check=False
        )
        if done.returncode:
            return f"mmdebstrap failed: {done.stderr.strip().splitlines()[-1:]}"
        _share(kept / "root")
        (kept / "made").touch()
    return ""


@contextmanager
def _locked(kept: Path) -> Iterator[None]:
    """Suites run beside each other."""
    kept.mkdir(parents=True, exist_ok=True)
    with (kept / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _share(root: Path) -> None:
    """Links are followed here, and replaced there: theirs lead out of the root."""
    for name in SHARED:
        ours = Path("/", name)
        for file in [ours] if ours.is_file() else ours.rglob("*"):
            if file.is_file():
                there = root / file.relative_to("/")
                there.parent.mkdir(parents=True, exist_ok=True)
                there.unlink(missing_ok=True)
                shutil.copyfile(file, there)


def copy_to(folder: Path, release: str = RELEASE) -> Debian:
    """One's own; skips the test where there is none."""
    if why := why_not(release):
        pytest.skip(f"no bare Debian {release} here: {why}")
    subprocess.run(["cp", "--archive", KEPT / release / "root", folder / "root"], check=True)
    return Debian(folder / "root")
