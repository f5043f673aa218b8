# SPDX-License-Identifier: MIT
"""Debian's packages, fetched and unpacked without being installed."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from overlock_tools.core.system.errors import FAILED, MISSING, Fail, last_line

Tell = Callable[[str], None]


def advice(package: str) -> str:
    return f"install {package} (apt-get update && apt-get install {package}), then try again"


def unpack(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise Fail(f"{command[0]} is missing; install it, or run `make guest`", MISSING) from error
    if done.returncode:
        raise Fail(f"{command[0]} failed: {last_line(done.stderr)}", FAILED)


def patch(tree: Path, path: Path, of: str) -> None:
    """A patch of ours to a source; it fits exactly, or not at all."""
    command = ["patch", "-d", str(tree), "-p1", "-f", "-s", "-F0", "-i", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Fail(f"{path.name} does not apply to {of}: {last_line(done.stdout)}", FAILED)


def fetch(package: str, target: Path) -> None:
    """What the package would install, below `target`; or a line that says why not."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as name:
        folder = Path(name)
        command = ["apt-get", "-q", "download", package]
        try:
            fetch = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        except FileNotFoundError as error:
            raise Fail(f"this system has no apt-get; {advice(package)}", MISSING) from error
        packages = list(folder.glob("*.deb"))
        if fetch.returncode or not packages:
            why = last_line(fetch.stderr)
            raise Fail(f"cannot fetch {package}: {why}; {advice(package)}", MISSING)
        unpack(["dpkg-deb", "-x", str(packages[0]), str(target)])


class Packages:
    """Files of packages: the installed ones, else fetched once and kept below a folder."""

    def __init__(self, folder: Path, tell: Tell) -> None:
        self.folder, self.tell = folder, tell

    def fetched(self, package: str) -> Path:
        """The root of what it has."""
        target = self.folder / package
        if not target.exists():
            self.tell(f"fetching Debian's {package}")
            fresh = self.folder / f".{package}-new"
            shutil.rmtree(fresh, ignore_errors=True)
            fetch(package, fresh)
            fresh.rename(target)
        return target

    def file(self, package: str, name: str) -> Path:
        """`name` is as installed: usr/bin/tcc."""
        installed = Path("/") / name
        if installed.exists():
            return installed
        found = self.fetched(package) / name
        if not found.exists():
            raise Fail(f"Debian's {package} has no {name}; install another version", MISSING)
        return found
