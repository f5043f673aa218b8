# SPDX-License-Identifier: MIT
"""A host that is a guest itself: Debian's kernel with KVM, and the patch of lab/nested."""

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from overlock_tools.core.system import files
from overlock_tools.core.system.errors import MISSING, Fail
from overlock_tools.guest import build as building
from overlock_tools.guest import initramfs, packages, paths, source
from overlock_tools.guest.build import Progress, Terms
from overlock_tools.guest.initramfs import Contents
from overlock_tools.guest.paths import Home

FOLDER = "lab/nested"
KERNEL = "vmlinux"
# What QEMU needs to boot a kernel that it is given, but for its programs and libraries.
ROMS = ("bios-256k.bin", "kvmvapic.bin", "linuxboot_dma.bin", "pvh.bin")
ROM_FOLDERS = (Path("/usr/share/seabios"), Path("/usr/share/qemu"))
# Options of ours, which the source of a host has not.
NOT_ITS = "CONFIG_OVERLOCK_"
ABOUT_STEPS = 1600


def folder() -> Path:
    return paths.sources().parent / FOLDER


def home(guests: Home) -> Home:
    return Home(guests.folder / "host", guests.version)


def fragment() -> bytes:
    """guest.config, for a host has the same devices and programs, and more."""
    lines = (paths.sources() / "guest.config").read_text().splitlines()
    common = [line for line in lines if not line.startswith(NOT_ITS)]
    return "\n".join([*common, (folder() / "host.config").read_text()]).encode()


def _digest() -> str:
    """Of what its kernel is made of, beside Debian's source."""
    text = fragment() + paths.digest_of(paths.patches(FOLDER)).encode()
    return hashlib.sha256(text).hexdigest()


def _patched(host: Home, archive: Path, terms: Terms) -> None:
    """Fresh from the archive when a patch has changed, for an older one cannot be taken back."""
    mark, patches = host.folder / "patched", paths.patches(FOLDER)
    wanted = paths.digest_of(patches)
    if host.source.exists() and mark.exists() and mark.read_text() == wanted:
        return
    mark.unlink(missing_ok=True)
    for old in (host.source, host.build):
        shutil.rmtree(old, ignore_errors=True)
    source.unpacked(host, archive, terms.tell)
    for path in patches:
        packages.patch(host.source, path, f"Linux {host.version}")
    files.write(mark, wanted)


def build(guests: Home, terms: Terms, progress: Progress) -> None:
    """The host's kernel; again: only what has changed."""
    host = home(guests)
    paths.make(host.folder)
    _patched(host, source.tarball(guests, terms.tell), terms)
    building.configured(host, fragment(), terms.tell)
    terms.tell("compiling the host's kernel")
    progress.done, progress.total = 0, ABOUT_STEPS
    building.run(host, progress, terms, f"-j{terms.jobs}", "vmlinux")
    host.image.mkdir(exist_ok=True)
    kernel = (host.build / KERNEL).read_bytes()
    files.write(host.image / KERNEL, kernel)
    known = {
        "version": (host.build / "include/config/kernel.release").read_text().strip(),
        "kernel": hashlib.sha256(kernel).hexdigest(),
        "sources": _digest(),
    }
    files.write(host.stamp, json.dumps(known, indent=1) + "\n")


def needed(guests: Home) -> tuple[Path, dict[str, Any]]:
    """The host's kernel, and what is known of it."""
    host = home(guests)
    try:
        known = json.loads(host.stamp.read_text())
    except (OSError, ValueError):
        known = None
    kernel = host.image / KERNEL
    if not isinstance(known, dict) or not kernel.exists():
        raise Fail(
            f"{host.folder} has no kernel for a nested host; run "
            "`overlock guest build --accel nested`, which takes some minutes",
            MISSING,
        )
    return kernel, known


def current(known: Mapping[str, Any]) -> bool:
    return bool(known.get("sources") == _digest())


def roms() -> Contents:
    found: Contents = {}
    for name in ROMS:
        paths = [path / name for path in ROM_FOLDERS if (path / name).exists()]
        if not paths:
            raise Fail(f"QEMU's {name} is missing; install qemu-system-x86 and seabios", MISSING)
        found[str(paths[0]).lstrip("/")] = (0o644, paths[0].read_bytes())
    return found


def guest(kernel: Path, packed: Path) -> Contents:
    """What QEMU boots a guest from, in the host."""
    kept = {"guest/kernel": kernel, "guest/initramfs": packed}
    return roms() | {name: (0o644, path.read_bytes()) for name, path in kept.items()}


def archive(qemu: str, kernel: Path, packed: Path) -> bytes:
    """The host's files: /init as a guest has it, QEMU, and the guest's own kernel and files."""
    loads = sorted((folder() / "loads").iterdir())
    program = initramfs.program(qemu, "qemu-system-x86")
    found = initramfs.contents(paths.sources() / "init", loads, [], [program])
    return initramfs.archive(found | guest(kernel, packed))
