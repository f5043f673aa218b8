# SPDX-License-Identifier: MIT
"""Packages that are in another suite of Debian's than this system's: fetched, nothing installed.

The suites are on the mirror that apt takes this system's packages from. They are listed in a folder
of ours, so what apt knows and prefers stays as it is.
"""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from overlock_tools.core.system.errors import MISSING, Fail
from overlock_tools.guest import debsource, packages
from overlock_tools.guest.packages import Tell

RING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
TARGETS = ("apt-get", "indextargets", "--format", "$(SITE) $(RELEASE)", debsource.ONLY)


class Suites:
    """What apt knows of the suites that were added, in a folder that is gone with it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for part in ("lists/partial", "cache/archives/partial"):
            (folder / part).mkdir(parents=True)
        listed, _ = debsource.said(TARGETS, folder)
        found = re.findall(r"^(\S+debian) ([a-z]+)$", listed, re.MULTILINE)
        if not found:
            raise Fail("apt has no package source of Debian's to look for other suites", MISSING)
        self._site, self.own = found[0]

    def add(self, suite: str) -> str:
        """Why it cannot be read, or nothing."""
        ring = f"[signed-by={RING}] " if RING.exists() else ""
        with (self._folder / "sources.list").open("a") as file:
            file.write(f"deb {ring}{self._site} {suite} main\n")
        return debsource.said(self._apt("apt-get", "update"), self._folder)[1]

    def release(self, suite: str) -> str:
        """The name of the release that such a suite, which was added, is now."""
        words = ("--format", "$(CODENAME)", debsource.ONLY, f"Release: {suite}")
        listed, _ = debsource.said(self._apt("apt-get", "indextargets", *words), self._folder)
        return (listed.split() or [suite])[0]

    def named(self, prefix: str) -> list[str]:
        return debsource.said(self._apt("apt-cache", "pkgnames", prefix), self._folder)[0].split()

    def fetched(self, package: str) -> tuple[Path | None, str]:
        """The package's file; or why there is none."""
        _, why = debsource.said(self._apt("apt-get", "download", package), self._folder)
        return next(self._folder.glob(f"{package}_*.deb"), None), why

    def _apt(self, program: str, *words: str) -> list[str]:
        ours = {
            "Dir::Cache": self._folder / "cache",
            "Dir::Etc::Preferences": "/dev/null",
            "Dir::Etc::PreferencesParts": "/dev/null",
            "APT::Default-Release": "",
            "APT::Sandbox::User": "root",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
            "Acquire::Languages": "none",
        }
        return debsource.apt(self._folder, ours, program, *words)


def _others(suites: Suites) -> Iterator[str]:
    """What was built for this system comes first, what may be broken last."""
    yield f"{suites.own}-backports"
    yield "stable"
    yield f"{suites.release('stable')}-backports"
    yield from ("unstable", "experimental")


def fetch(package: str, family: str, target: Path, tell: Tell) -> None:
    """Its files below target, from the first suite that has it. If none has: which of the family
    there are."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".suites-") as name:
        suites, read, why = Suites(Path(name)), [], ""
        for suite in _others(suites):
            tell(f"looking for {package} in Debian's {suite}")
            if unread := suites.add(suite):
                why = unread  # a mirror need not have all
                continue
            read.append(suite)
            file, why = suites.fetched(package)
            if file:
                packages.unpack(["dpkg-deb", "-x", str(file), str(target)])
                return
        if not read:
            raise Fail(f"cannot fetch {package}: {why}; {packages.advice(package)}", MISSING)
        there = sorted(n.removeprefix(family) for n in suites.named(family))
        raise Fail(
            f"none of Debian's {', '.join(read)} has {package}; "
            f"they have {', '.join(sorted(there, key=debsource.order)) or 'no other'}",
            MISSING,
        )
