# SPDX-License-Identifier: MIT
"""The kernel's source: Debian's package, with what guest/series brings into it."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from overlock_tools.core.system.errors import FAILED, Fail, last_line
from overlock_tools.guest import packages, paths, suites
from overlock_tools.guest.packages import Tell
from overlock_tools.guest.paths import Home

FAMILY = "linux-source-"


def package(version: str) -> str:
    return f"{FAMILY}{version}"


def tarball(home: Home, tell: Tell) -> Path:
    """Installed with Debian's package, or fetched from it without being installed."""
    name = f"{package(home.version)}.tar.xz"
    for folder in (Path("/usr/src"), home.folder / "package/usr/src"):
        if (folder / name).exists():
            return folder / name
    tell(f"fetching Debian's {package(home.version)}")
    _fetch(package(home.version), home.folder / "package", tell)
    found = home.folder / "package/usr/src" / name
    if not found.exists():
        raise Fail(f"{package(home.version)} has no {name}; install another version", FAILED)
    return found


def _fetch(wanted: str, into: Path, tell: Tell) -> None:
    """From this system's release, else from a newer one; nothing is installed."""
    try:
        packages.fetch(wanted, into)
    except Fail:
        if not shutil.which("apt-get"):
            raise
        suites.fetch(wanted, FAMILY, into, tell)


def _unpacked(home: Home, tell: Tell) -> None:
    if not home.source.exists():
        unpacked(home, tarball(home, tell), tell)


def unpacked(home: Home, archive: Path, tell: Tell) -> None:
    """The pristine source; whole, or not there."""
    tell(f"unpacking {archive.name}")
    with tempfile.TemporaryDirectory(dir=home.folder, prefix=".unpack-") as name:
        packages.unpack(["tar", "-xf", str(archive), "-C", name])
        next(Path(name).iterdir()).rename(home.source)


def _brought_in(home: Home) -> str:
    """Changes only files that differ, so that little is compiled anew; empty, or why it cannot."""
    command = [str(paths.sources() / "series"), "--into", str(home.source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return last_line(done.stderr) if done.returncode else ""


def patched(home: Home, tell: Tell) -> None:
    """The source with the locks of this checkout in it, whichever it had before."""
    _unpacked(home, tell)
    tell("adding the locks to the source")
    if not _brought_in(home):
        return
    # It had other changes to the kernel's own files. Unpacked files are as old as their package, so
    # that `make` would not see what has changed back: the build goes, too.
    shutil.rmtree(home.build, ignore_errors=True)
    shutil.rmtree(home.source)
    _unpacked(home, tell)
    if why := _brought_in(home):
        raise Fail(f"Linux {home.version}: {why}", FAILED)
