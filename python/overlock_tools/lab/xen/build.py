# SPDX-License-Identifier: MIT
"""Xen itself: Debian's source with the patches of lab/xen, or as Debian built it."""

import gzip
import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from overlock_tools.core.system import files
from overlock_tools.core.system.errors import MISSING, Fail
from overlock_tools.guest import build as building
from overlock_tools.guest import debsource, packages, paths
from overlock_tools.guest.build import Progress, Terms

SERIES = "4.17"
PACKAGE = f"xen-hypervisor-{SERIES}-amd64"
SOURCE = "xen"
ABOUT_STEPS = 700
TOOLS = {"dpkg-source": "dpkg-dev", "python3": "python3"}


@dataclass(frozen=True)
class Xen:
    """What is known of one that was made."""

    version: str
    tells_slices: bool
    patches: str = ""  # their digest


FOLDER = "lab/xen"


@dataclass(frozen=True)
class Place:
    folder: Path

    @property
    def source(self) -> Path:
        return self.folder / "xen-source"

    @property
    def mark(self) -> Path:
        """What the source is: written when it is whole and patched."""
        return self.folder / "xen-source.json"

    def marked(self) -> Xen | None:
        try:
            return Xen(**json.loads(self.mark.read_text()))
        except (OSError, ValueError, TypeError):
            return None


def made(folder: Path, image: Path, terms: Terms, progress: Progress) -> Xen:
    """Patched, in `image`; where the source cannot be had, Debian's, which tells of no slices."""
    place = Place(folder)
    try:
        building.check_tools(TOOLS)
        xen = _patched(place, terms)
    except Fail as error:
        if error.code != MISSING:
            raise
        terms.tell(f"{error.message}; using Debian's own Xen, which publishes no slice ends")
        files.write(image, gzip.decompress(_packaged(place, terms).read_bytes()))
        return Xen(SERIES, tells_slices=False)
    terms.tell(f"compiling Xen {xen.version}")
    progress.done, progress.total = 0, ABOUT_STEPS
    building.making(_make(place, "defconfig"), Progress(0), lambda _: None)
    building.making(_make(place, f"-j{terms.jobs}"), progress, terms.each)
    files.write(image, (place.source / "xen/xen").read_bytes())
    return xen


def _make(place: Place, *words: str) -> list[str]:
    return ["make", "-C", str(place.source / "xen"), "XEN_TARGET_ARCH=x86_64", *words]


def _patched(place: Place, terms: Terms) -> Xen:
    """Anew if a patch has changed, for an older one cannot be taken back."""
    known, patches = place.marked(), paths.patches(FOLDER)
    digest = paths.digest_of(patches)
    if known and place.source.exists() and known.patches == digest:
        return known
    place.mark.unlink(missing_ok=True)
    shutil.rmtree(place.source, ignore_errors=True)
    version = debsource.fetched(SOURCE, place.source, terms.tell)
    for path in patches:
        packages.patch(place.source, path, f"Xen {version}")
    known = Xen(version, tells_slices=True, patches=digest)
    files.write(place.mark, json.dumps(asdict(known)) + "\n")
    return known


def _packaged(place: Place, terms: Terms) -> Path:
    name = f"boot/xen-{SERIES}-amd64.gz"
    kept = packages.Packages(place.folder / "packages", terms.tell)
    return kept.file(PACKAGE, name)
