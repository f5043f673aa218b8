# SPDX-License-Identifier: MIT
"""Sources of Debian's packages: fetched by apt from where the packages come, nothing installed.

Few systems list the sources, so they are listed for this once, in a folder of ours.
"""

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from overlock_tools.core.system.errors import MISSING, Fail, last_line
from overlock_tools.guest.packages import Tell

TARGETS = ("apt-get", "indextargets", "--format", "$(SITE) $(RELEASE) $(COMPONENT)")
ONLY = "Created-By: Packages"


def apt(folder: Path, more: Mapping[str, object], program: str, *words: str) -> list[str]:
    """With what apt knows kept in that folder, and sources from its sources.list alone."""
    places = {
        "Dir::Etc::SourceList": folder / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::lists": folder / "lists",
        **more,
    }
    options = [word for name, value in places.items() for word in ("-o", f"{name}={value}")]
    return [program, "-q", *options, *words]


def said(command: Sequence[str], folder: Path) -> tuple[str, str]:
    """What it printed; and why it failed, or nothing."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise Fail("this system has no apt-get to fetch packages", MISSING) from error
    return done.stdout, last_line(done.stderr) if done.returncode else ""


class Lists:
    """What apt knows of sources, in a folder that is gone with it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "lists/partial").mkdir(parents=True)
        found, why = said([*TARGETS, ONLY], folder)
        if why or not found:
            raise Fail(f"apt reports no package sources: {why or 'none'}", MISSING)
        lines = dict.fromkeys(found.splitlines())
        (folder / "sources.list").write_text("".join(f"deb-src {line}\n" for line in lines))
        # Where one of several places has no sources, the others are heard all the same.
        said(self._apt("apt-get", "update"), folder)

    def _apt(self, program: str, *words: str) -> list[str]:
        no_cache = {"Dir::Cache::srcpkgcache": "", "Dir::Cache::pkgcache": ""}
        return apt(self._folder, no_cache, program, *words)

    def versions(self, package: str) -> list[str]:
        """The newest first."""
        found, _ = said(self._apt("apt-cache", "showsrc", package), self._folder)
        lines = (line.partition(": ") for line in found.splitlines())
        listed = {value for name, _, value in lines if name == "Version"}
        return sorted(listed, key=order, reverse=True)

    def unpacked(self, package: str, version: str, into: Path) -> str:
        """The source with Debian's own changes, in a folder below `into`; else why not."""
        words = ("source", "--only-source", f"{package}={version}")
        return said(self._apt("apt-get", *words), into)[1]


def order(version: str) -> list[tuple[int, str]]:
    """As good as dpkg's for versions of one package, which differ in their numbers."""
    parts = "".join(c if c.isdigit() else " " for c in version).split()
    return [(int(part), part) for part in parts]


def fetched(package: str, target: Path, tell: Tell) -> str:
    """The newest source that is to be had, as `target`; gives its version."""
    tell(f"fetching the source of Debian's {package}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".source-") as name:
        lists, why = Lists(Path(name) / "apt"), "apt lists none"
        for version in lists.versions(package):
            into = Path(name) / "unpacked"
            into.mkdir(exist_ok=True)
            why = lists.unpacked(package, version, into)
            trees = [path for path in into.iterdir() if path.is_dir()]
            if not why and trees:
                trees[0].rename(target)
                return version
            tell(f"{package} {version}: {why or 'empty'}")
        raise Fail(f"cannot fetch the source of {package}: {why}", MISSING)
