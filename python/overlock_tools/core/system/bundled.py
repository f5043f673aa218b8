# SPDX-License-Identifier: MIT
"""What a bundle of `make bundle WITH=...` carries: found before the machine's own."""

import json
import os
from pathlib import Path

VARIABLE = "OVERLOCK_BUNDLE"  # the bundle's launcher names its folder there
PROGRAMS, LIBRARIES, VERSIONS = "programs", "lib", "versions.json"
GUEST, QEMU = "guest", "qemu"


def folder() -> Path | None:
    named = os.environ.get(VARIABLE)
    return Path(named) if named else None


def found(name: str) -> str | None:
    """A program, or a library, `NAME.so.1`."""
    top = folder()
    path = top / (LIBRARIES if ".so" in name else PROGRAMS) / name if top else None
    return str(path) if path and path.is_file() else None


def guests() -> Path | None:
    """The folder of guests' kernels."""
    top = folder()
    return top / GUEST if top and (top / GUEST).is_dir() else None


def qemu(name: str) -> str:
    path = (folder() or Path("/nowhere")) / QEMU / "bin" / name
    return str(path) if path.exists() else name


def versions() -> dict[str, str]:
    """Of the packages that they come from."""
    path = (folder() or Path("/nowhere")) / PROGRAMS / VERSIONS
    return dict(json.loads(path.read_text())) if path.exists() else {}
