# SPDX-License-Identifier: MIT
"""Guests under Xen: the kernel as its first domain, paravirtualised, on CPUs that QEMU translates.

Fewer CPUs than the domain has vCPUs: Xen's credit scheduler then gives each its slices in turns, as
long as is asked for. It needs no tools of Xen's, for nothing but that domain is ever made.
"""

import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import ClassVar

from overlock_tools.core.system import files
from overlock_tools.core.system.errors import MISSING, Fail
from overlock_tools.guest import build as building
from overlock_tools.guest import locks, paths
from overlock_tools.guest.accel import Accel
from overlock_tools.guest.build import Progress, Terms
from overlock_tools.guest.hosts import HostSetup, Hypervisor
from overlock_tools.guest.paths import Home
from overlock_tools.guest.placement import Placement
from overlock_tools.guest.vm import Spec
from overlock_tools.lab.xen import build
from overlock_tools.lab.xen.build import Xen

NAME = "xen"
IMAGE = "xen"
KNOWN = "xen.json"
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


def needed(guests: Home) -> Xen:
    """What is known of the Xen that was built."""
    domain = home(guests)
    try:
        known = Xen(**json.loads((domain.image / KNOWN).read_text()))
    except (OSError, ValueError, TypeError):
        known = None
    if not known or domain.built() is None or not (domain.image / IMAGE).exists():
        raise Fail(
            f"{domain.folder} has no kernel for Xen; run `overlock guest build "
            "--accel xen`, which takes some minutes",
            MISSING,
        )
    return known


def tslice(milliseconds: float | None) -> int | None:
    if milliseconds is None:
        return None
    least, most = TSLICE_MS
    if milliseconds != round(milliseconds) or not least <= milliseconds <= most:
        raise Fail(f"--host-slice {milliseconds:g}: Xen needs whole ms from {least} to {most}")
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


class Domains(Hypervisor):
    def build(self, guests: Home, terms: Terms, progress: Progress) -> None:
        domain = home(guests)
        paths.make(domain.folder)
        progress.done = 0
        building.build(
            domain, terms, progress, paths.sources().parent / build.FOLDER / "dom0.config"
        )
        xen = build.made(domain.folder, domain.image / IMAGE, terms, progress)
        files.write(domain.image / KNOWN, json.dumps(asdict(xen)) + "\n")

    def accelerator(self, guests: Home, where: Placement, slice_ms: float | None) -> Accel:
        tslice(slice_ms)
        xen = needed(guests)
        tells = ", which publishes slice ends," if xen.tells_slices else ""
        return Accel(NAME, f"Debian's Xen {xen.version}{tells} on {where.emulated}")

    def home(self, guests: Home) -> Home:
        return home(guests)

    def check(self, lock: str) -> None:
        if lock == locks.TEST_AND_SET:
            raise Fail(f"{lock}: Linux under Xen has no test-and-set; give --accel tcg or nested")

    def spec(self, spec: Spec, on: HostSetup) -> Spec:
        return under(spec, on.home, on.where, on.slice_ms)
