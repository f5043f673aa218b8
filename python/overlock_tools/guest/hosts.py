# SPDX-License-Identifier: MIT
"""What all guests of a session stand on: a kernel, CPUs, and a hypervisor."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overlock_tools.core.system.errors import Fail, say
from overlock_tools.guest import accel, locks, paths, placement, programs, vm
from overlock_tools.guest.accel import Accel
from overlock_tools.guest.build import Progress, Terms
from overlock_tools.guest.executor import Boots
from overlock_tools.guest.loads import Load
from overlock_tools.guest.paths import Home
from overlock_tools.guest.placement import Placement
from overlock_tools.guest.vm import Spec


class Hypervisor:
    """What guests stand on that are not QEMU's alone. This one adds nothing to QEMU."""

    tries = 1  # of a load; more where the machine beneath is not to be trusted
    has_console = True

    def build(self, guests: Home, terms: Terms, progress: Progress) -> None:
        raise NotImplementedError

    def accelerator(self, guests: Home, where: Placement, slice_ms: float | None) -> Accel:
        """Or a line that says what is not built, or cannot be asked for."""
        raise NotImplementedError

    def home(self, guests: Home) -> Home:
        """The guests' own kernel."""
        return guests

    def check(self, lock: str) -> None:
        """Refuses one that its guests do not have."""

    def spec(self, spec: Spec, on: "HostSetup") -> Spec:
        """The same guest on it."""
        return spec

    @contextmanager
    def boots(self, on: "HostSetup", needed: Sequence[Load]) -> Iterator[Boots]:
        """How guests are booted, for these loads; what all of them need lasts as long."""
        yield vm.booted


QEMU = Hypervisor()
# By --accel. The lab adds its own, which guests do not know.
MORE: dict[str, Hypervisor] = {}


@dataclass(frozen=True)
class HostSetup:
    options: dict[str, Any]
    home: Home
    where: Placement
    accel: Accel

    @property
    def hypervisor(self) -> Hypervisor:
        return MORE.get(self.accel.name, QEMU)

    @property
    def kernel(self) -> Home:
        """The guests' own."""
        return self.hypervisor.home(self.home)

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
        self.hypervisor.check(name)

    def initramfs(self, kernel: Home, needed: Sequence[Load]) -> Path:
        parts = [load.part for load in needed if load.part]
        found = programs.with_parts(parts, kernel, self.options["pause"], say)
        for archive in [load.archive for load in needed if load.archive]:
            found = programs.with_archive(found, archive)
        return found

    def spec(self, lock: str, smp: int, load: Load | None = None) -> Spec:
        variant, options = locks.checked(load.lock(lock) if load else lock), self.options
        name = locks.name_of(variant)
        self._check_kind(name)
        kernel = self.kernel_of(variant)
        spec = Spec(
            kernel=kernel.kernel(options["pause"]),
            initramfs=self.initramfs(kernel, [load] if load else []),
            smp=smp,
            memory_mb=max(vm.MEMORY_MB, load.memory_mb if load else 0),
            accel=self.accel.name,
            lock=locks.NATIVE if name in locks.KINDS else name,
            hidden=not self.is_seen and name not in locks.KINDS,
            helped=name != locks.TEST_AND_SET,
            words=(*options["append"].split(), *locks.words_of(variant)),
            slice_page=options.get("slice_page", False),
        )
        return self.hypervisor.spec(spec, self)

    def boots(self, needed: Sequence[Load] = ()) -> AbstractContextManager[Boots]:
        return self.hypervisor.boots(self, needed)


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
    if asked in MORE:
        return MORE[asked].accelerator(home, where, options["host_slice"])
    if options["host_slice"] is not None:
        raise Fail("--host-slice needs --accel nested or xen; add one of them")
    any_of_them = HostSetup(options, home, where, Accel("tcg", "")).spec(locks.NATIVE, 1)
    return accel.choose(asked, any_of_them, where, home.folder)
