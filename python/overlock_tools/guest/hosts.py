# SPDX-License-Identifier: MIT
"""What all guests of a session stand on: a kernel, CPUs, and a hypervisor."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overlock_tools.core.system.errors import Fail, say
from overlock_tools.guest import (
    accel,
    hypervisor,
    locks,
    nested,
    paths,
    placement,
    programs,
    vm,
    xen,
)
from overlock_tools.guest.accel import Accel
from overlock_tools.guest.executor import Boots
from overlock_tools.guest.loads import Load
from overlock_tools.guest.paths import Home
from overlock_tools.guest.placement import Placement
from overlock_tools.guest.vm import Spec

# What is built for guests that are not QEMU's alone, by --accel.
MORE = {nested.NAME: hypervisor.build, xen.NAME: xen.build}


@dataclass(frozen=True)
class HostSetup:
    options: dict[str, Any]
    home: Home
    where: Placement
    accel: Accel

    @property
    def kernel(self) -> Home:
        """The guests' own."""
        return xen.home(self.home) if self.accel.name == xen.NAME else self.home

    @property
    def is_seen(self) -> bool:
        """Whether the guests see that there is a hypervisor."""
        asked = self.options["seen"]
        return self.accel.name not in ("tcg", vm.ICOUNT) if asked is None else bool(asked)

    @property
    def slice_ms(self) -> float | None:
        return None if (asked := self.options["host_slice"]) is None else float(asked)

    def kernel_of(self, variant: str) -> Home:
        """The one that a variant wants, or all have; built, or a line that says how."""
        kernel = self.kernel.beside(locks.kernel_of(variant))
        if kernel != self.kernel and self.accel.name in MORE:
            raise Fail(f"{variant}: guests under {self.accel.name} have one kernel; use --variant")
        kernel.needed()
        return kernel

    def _check_kind(self, name: str) -> None:
        """The kernel's own lock depends on what the hypervisor offers."""
        under = self.accel.name
        if name == locks.PARAVIRTUAL and under in ("tcg", vm.ICOUNT):
            raise Fail(
                f"{name}: guests under {under} have no PV spinlocks; "
                "give --accel kvm, nested or xen"
            )
        if name == locks.TEST_AND_SET and under == xen.NAME:
            raise Fail(f"{name}: Linux under Xen has no test-and-set; give --accel tcg or nested")

    def _initramfs(self, kernel: Home, needed: Sequence[Load]) -> Path:
        parts = [load.part for load in needed if load.part]
        found = programs.with_parts(parts, kernel, self.options["pause"], say)
        for archive in [load.archive for load in needed if load.archive]:
            found = programs.with_archive(found, archive)
        return found

    def spec(self, lock: str, smp: int, load: Load | None = None) -> Spec:
        variant, options = locks.checked(lock), self.options
        name = locks.name_of(variant)
        self._check_kind(name)
        kernel = self.kernel_of(variant)
        spec = Spec(
            kernel=kernel.kernel(options["pause"]),
            initramfs=self._initramfs(kernel, [load] if load else []),
            smp=smp,
            memory_mb=max(vm.MEMORY_MB, load.memory_mb if load else 0),
            accel=self.accel.name,
            lock=locks.NATIVE if name in locks.KINDS else name,
            hidden=not self.is_seen and name not in locks.KINDS,
            helped=name != locks.TEST_AND_SET,
            words=(*options["append"].split(), *locks.words_of(variant)),
            slice_page=options.get("slice_page", False),
        )
        if self.accel.name == nested.NAME:
            return nested.inside(spec)
        if self.accel.name == xen.NAME:
            return xen.under(spec, self.home, self.where, self.slice_ms)
        return spec

    @contextmanager
    def boots(self, needed: Sequence[Load] = ()) -> Iterator[Boots]:
        """How guests are booted, for these loads; what all of them need lasts as long."""
        if self.accel.name != nested.NAME:
            yield vm.booted
            return
        ns = None if self.slice_ms is None else round(self.slice_ms * 1e6)
        packed = self._initramfs(self.home, needed)
        with nested.nest(self.home, self.options["pause"], ns, packed) as nest:
            yield nest.booted


def prepared(options: dict[str, Any]) -> HostSetup:
    home = paths.home(options["folder"], options["version"], options.get("variant") or "")
    options["pause"] = options["pause"] or ("as-is" if options["accel"] in MORE else "nop")
    if paths.is_of_other_sources(home.needed()):
        say("the guest kernel was built from other sources; update it with `overlock guest build`")
    where = placement.chosen(options["placement"], options["pools"])
    return HostSetup(options, home, where, _accelerator(options, home, where))


def _accelerator(options: dict[str, Any], home: Home, where: Placement) -> Accel:
    asked = options["accel"]
    if asked in MORE and options.get("slice_page"):
        raise Fail(
            "--slice-page covers QEMU's threads, not the guests of a nested host; use --accel tcg"
        )
    if asked == nested.NAME:
        return nested.accelerator(home, where)
    if asked == xen.NAME:
        xen.tslice(options["host_slice"])
        return xen.accelerator(home, where)
    if options["host_slice"] is not None:
        raise Fail("--host-slice needs --accel nested or xen; add one of them")
    any_of_them = HostSetup(options, home, where, Accel("tcg", "")).spec(locks.NATIVE, 1)
    return accel.choose(asked, any_of_them, where, home.folder)
