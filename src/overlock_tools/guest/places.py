# SPDX-License-Identifier: MIT
"""Where a guest's parts are kept, and what has to be there."""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overlock_tools import files, native
from overlock_tools.errors import MISSING, Fail

VERSION = "6.1"  # of the kernel that is built unless told otherwise
PAUSES = ("as-is", "nop")


def cache() -> Path:
    return files.cache_folder("guest")


def sources() -> Path:
    """The checkout's guest/, from which modules, scripts and patches come."""
    top = native.checkout()
    if top is None or not (top / "guest/init").exists():
        raise Fail("guests are built from the source tree; run overlock from a checkout", MISSING)
    return top / "guest"


def digest_of_sources() -> str:
    """Of all of this checkout that goes into a guest."""
    top = sources().parent
    beneath = top / "guest/hypervisor"  # of hosts
    whole = hashlib.sha256()
    for folder in ("guest", "include/overlock", "workload"):
        for path in sorted((top / folder).rglob("*")):
            if path.is_file() and beneath not in path.parents:
                whole.update(f"{path.relative_to(top)}\0".encode() + path.read_bytes() + b"\0")
    return whole.hexdigest()


@dataclass(frozen=True)
class Home:
    """The folder of one kernel version."""

    folder: Path
    version: str
    shared_source: Path | None = None  # another kernel's, built otherwise

    @property
    def source(self) -> Path:
        return self.shared_source or self.folder / "source"

    @property
    def build(self) -> Path:
        return self.folder / "build"

    @property
    def modules(self) -> Path:
        """Of the loads: built outside the kernel's tree."""
        return self.folder / "modules"

    @property
    def image(self) -> Path:
        """What is booted: all parts of one build, replaced at once."""
        return self.folder / "image"

    @property
    def stamp(self) -> Path:
        return self.image / "built.json"

    def kernel(self, pause: str) -> Path:
        return self.image / f"vmlinux-pause-{pause}"

    def initramfs(self, pause: str) -> Path:
        return self.image / f"initramfs-pause-{pause}.gz"

    def built(self) -> dict[str, Any] | None:
        """What is known of the build, or None if there is none that can be booted."""
        try:
            known = json.loads(self.stamp.read_text())
        except (OSError, ValueError):
            return None
        parts = [part(pause) for pause in PAUSES for part in (self.kernel, self.initramfs)]
        return known if isinstance(known, dict) and all(p.exists() for p in parts) else None

    def needed(self) -> dict[str, Any]:
        known = self.built()
        if known is None:
            raise Fail(
                f"no guest kernel {self.version} is built in {self.folder}; run "
                "`overlock guest build`, which takes some minutes",
                MISSING,
            )
        return known


def home(folder: Path | None = None, version: str = VERSION) -> Home:
    base = folder.absolute() if folder else cache()
    return Home(base / version, version)


def make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Fail(f"{folder} cannot be made: {error.strerror}; give another --dir") from error
    if not os.access(folder, os.W_OK):
        raise Fail(f"{folder} cannot be written: no permission; give another --dir")
