# SPDX-License-Identifier: MIT
"""Guests under Xen: the kernel as its first domain, paravirtualised, on CPUs that QEMU translates.

Fewer CPUs than the domain has vCPUs: Xen's credit scheduler then gives each its slices in turns, as
long as is asked for. It needs no tools of Xen's, for nothing but that domain is ever made.
"""

import gzip
import hashlib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import ClassVar

from overlock_tools import files
from overlock_tools.errors import FAILED, MISSING, Fail
from overlock_tools.guest import build as building
from overlock_tools.guest import places, source
from overlock_tools.guest.accel import Accel
from overlock_tools.guest.build import Progress, Terms
from overlock_tools.guest.placement import Placement
from overlock_tools.guest.places import Home
from overlock_tools.guest.vm import Spec

NAME = "xen"
VERSION = "4.17"
PACKAGE = f"xen-hypervisor-{VERSION}-amd64"
IMAGE = "xen"
# Xen's own, beside the domain's.
MEMORY_MB = 256
# What its credit scheduler takes; the preset is 30 ms.
TSLICE_MS = (1, 1000)


@dataclass(frozen=True)
class UnderXen(Spec):
    """A domain with `smp` vCPUs on a machine with `pcpus` CPUs."""

    xen: Path = Path()
    pcpus: int = 1
    pinned: bool = True
    tslice_ms: int | None = None

    console: ClassVar[str] = "hvc0"

    @property
    def cpu(self) -> str:
        # Xen does not let its first domain boot on QEMU's SMAP and SMEP.
        return "max,-smap,-smep"

    @property
    def cpus(self) -> int:
        return self.pcpus

    @property
    def tells_steal(self) -> bool:
        return True

    @property
    def xen_words(self) -> list[str]:
        words = ["com1=115200,8n1", "console=com1", "loglvl=warning", "noreboot", "sched=credit"]
        words += [f"dom0_mem={self.memory_mb}M", f"dom0_max_vcpus={self.smp}"]
        words += ["dom0_vcpus_pin"] if self.pinned else []
        return words + ([f"sched_credit_tslice_ms={self.tslice_ms}"] if self.tslice_ms else [])

    def machine(self) -> list[str]:
        words = super().machine()
        words[words.index("-m") + 1] = str(self.memory_mb + MEMORY_MB)
        return words

    def loading(self, *more: str) -> list[str]:
        append = " ".join([self.append, *more]).replace(",", ",,")
        modules = f"{self.kernel} {append},{self.initramfs}"
        words = ["-kernel", str(self.xen), "-append", " ".join(self.xen_words)]
        return [*words, "-initrd", modules]


def home(guests: Home) -> Home:
    """Of the same source, with what a domain of Xen's needs."""
    return Home(guests.folder / NAME, guests.version, guests.source, guests.variant)


def build(guests: Home, terms: Terms, progress: Progress) -> None:
    domain = home(guests)
    places.make(domain.folder)
    progress.done = 0
    building.build(domain, terms, progress, places.sources() / "hypervisor/xen/dom0.config")
    packed = _package(domain, terms)
    files.write(domain.image / IMAGE, gzip.decompress(packed.read_bytes()))


def _package(domain: Home, terms: Terms) -> Path:
    """Xen as Debian built it."""
    name = f"boot/xen-{VERSION}-amd64.gz"
    for top in (Path("/"), domain.folder / "package"):
        if (top / name).exists():
            return top / name
    source.fetched(PACKAGE, domain.folder, terms.tell)
    found = domain.folder / "package" / name
    if not found.exists():
        raise Fail(f"{PACKAGE} has no /{name}; install it where there is one", FAILED)
    return found


def needed(guests: Home) -> Path:
    domain = home(guests)
    xen = domain.image / IMAGE
    if domain.built() is None or not xen.exists():
        raise Fail(
            f"no kernel for Xen is built in {domain.folder}; run `overlock guest build "
            "--accel xen`, which takes some minutes",
            MISSING,
        )
    return xen


def accelerator(guests: Home, where: Placement) -> Accel:
    digest = hashlib.sha256(needed(guests).read_bytes()).hexdigest()[:12]
    cpus = "a CPU" if where.cpus == 1 else f"{where.cpus} CPUs"
    return Accel(NAME, f"Debian's Xen {VERSION} ({digest}) on {cpus} that QEMU translates")


def tslice(milliseconds: float | None) -> int | None:
    if milliseconds is None:
        return None
    least, most = TSLICE_MS
    if milliseconds != round(milliseconds) or not least <= milliseconds <= most:
        raise Fail(
            f"--host-slice {milliseconds:g}: Xen's slices are whole ms from {least} to {most}"
        )
    return round(milliseconds)


def under(spec: Spec, guests: Home, where: Placement, slice_ms: float | None) -> UnderXen:
    """The same guest as Xen's first domain."""
    known = {field.name: getattr(spec, field.name) for field in fields(spec)}
    found = UnderXen(
        **known,
        xen=home(guests).image / IMAGE,
        pcpus=where.cpus,
        pinned=where.mode == "balanced",
        tslice_ms=tslice(slice_ms),
    )
    return replace(found, accel="tcg")
