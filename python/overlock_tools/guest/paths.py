# SPDX-License-Identifier: MIT
"""Where a guest's parts are kept, and what has to be there."""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from overlock_tools.core.system import bundled, files, native
from overlock_tools.core.system.errors import MISSING, Fail

VERSION = "6.1"  # of the kernel that is built unless told otherwise
PAUSES = ("as-is", "nop")
WITHOUT = ("CONFIG_OVERLOCK_SPINLOCKS=n", "CONFIG_OVERLOCK_TEST_LOCKS=n")
# One list: kernels beside the usual one, by what their configuration has otherwise.
VARIANTS: Mapping[str, Sequence[str]] = {
    "counted": ("CONFIG_OVERLOCK_COUNT=y",),
    "nopv": ("CONFIG_PARAVIRT_SPINLOCKS=n",),
    "off": WITHOUT,
    "off-nopv": (*WITHOUT, "CONFIG_PARAVIRT_SPINLOCKS=n"),
    "extension": (  # of a thread's time slice; Linux 7.0
        "CONFIG_PREEMPT_LAZY=y",
        "CONFIG_RSEQ=y",
        "CONFIG_RSEQ_SLICE_EXTENSION=y",
        "CONFIG_RSEQ_STATS=y",
    ),
}


def cache() -> Path:
    return bundled.guests() or files.cache_folder("guest")


def sources() -> Path:
    """The checkout's guest/, from which modules, scripts and patches come."""
    top = native.checkout()
    if top is None or not (top / "guest/init").exists():
        raise Fail(
            "guests are built from overlock's sources; run `make guest` in a clone of them, and "
            "`.venv/bin/overlock guest` there",
            MISSING,
        )
    return top / "guest"


def digest_below(*folders: str) -> str:
    """Of all files in these folders of the checkout."""
    top = sources().parent
    whole = hashlib.sha256()
    for folder in folders:
        for path in sorted((top / folder).rglob("*")):
            if path.is_file():
                whole.update(f"{path.relative_to(top)}\0".encode() + path.read_bytes() + b"\0")
    return whole.hexdigest()


def digest_of_sources() -> str:
    """Of all of this checkout that goes into a guest."""
    return digest_below("guest", "include/overlock", "bench/workload")


def digest_of(files: Iterable[Path]) -> str:
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()


def patches(folder: str) -> list[Path]:
    """Ours, to a source of others."""
    return sorted((sources().parent / folder).glob("*.patch"))


def is_of_other_sources(built: Mapping[str, Any]) -> bool:
    """Than this checkout's; a bundle has none to compare with."""
    return native.checkout() is not None and built.get("sources") != digest_of_sources()


@dataclass(frozen=True)
class Home:
    """The folder of one kernel version."""

    folder: Path
    version: str
    shared_source: Path | None = None  # another kernel's, built otherwise
    variant: str = ""  # of VARIANTS

    @property
    def _suffix(self) -> str:
        return f"-{self.variant}" if self.variant else ""

    @property
    def fragment(self) -> bytes:
        """Of its configuration: guest.config, and what the variant has otherwise."""
        otherwise = VARIANTS.get(self.variant, ())
        names = {line.partition("=")[0] for line in otherwise}
        usual = (sources() / "guest.config").read_text().splitlines()
        kept = [line for line in usual if line.partition("=")[0] not in names]
        return "".join(f"{line}\n" for line in [*kept, *otherwise]).encode()

    def beside(self, variant: str | None) -> "Home":
        """Of the same version; None: this one."""
        return self if variant is None else replace(self, variant=variant)

    @property
    def source(self) -> Path:
        return self.shared_source or self.folder / "source"

    @property
    def build(self) -> Path:
        return self.folder / f"build{self._suffix}"

    @property
    def modules(self) -> Path:
        """Of the loads: built outside the kernel's tree."""
        return self.folder / f"modules{self._suffix}"

    @property
    def image(self) -> Path:
        """What is booted: all parts of one build, replaced at once."""
        return self.folder / f"image{self._suffix}"

    @property
    def stamp(self) -> Path:
        return self.image / "built.json"

    def kernel(self, pause: str) -> Path:
        return self.image / f"vmlinux-pause-{pause}"

    def initramfs(self, pause: str) -> Path:
        return self.image / f"initramfs-pause-{pause}.gz"

    @property
    def parts(self) -> Path:
        """Of the loads' programs: the same for every kernel."""
        return self.folder.parent / "parts"

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
            which = f"{self.version}, {self.variant}," if self.variant else self.version
            how = f" --kernel {self.version}" if self.version != VERSION else ""
            how += f" --variant {self.variant}" if self.variant else ""
            raise Fail(
                f"{self.folder} has no guest kernel {which}; run "
                f"`overlock guest build{how}`, which takes some minutes",
                MISSING,
            )
        return known


def home(folder: Path | None = None, version: str = VERSION, variant: str = "") -> Home:
    base = folder.absolute() if folder else cache()
    return Home(base / version, version, variant=variant)


def make(folder: Path) -> None:
    try:
        files.make_folder(folder)
    except OSError as error:
        raise Fail(f"cannot create {folder}: {error.strerror}; give another --dir") from error
    if not os.access(folder, os.W_OK):
        raise Fail(f"{folder} cannot be written: no permission; give another --dir")
