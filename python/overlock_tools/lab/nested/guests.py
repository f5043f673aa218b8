# SPDX-License-Identifier: MIT
"""Guests under real KVM where KVM boots none: in a host that QEMU translates, its SVM included.

The host is a guest like others, with the same /init. It is told to start QEMU, and its guest's line
is a serial port of its own, which ends in a socket here. It stays up from one guest to the next;
after anything that went wrong there is a new one.
"""

import shlex
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from overlock_tools.core.system.errors import FAILED, Fail, say
from overlock_tools.guest import vm
from overlock_tools.guest.accel import Accel
from overlock_tools.guest.build import Progress, Terms
from overlock_tools.guest.channel import Ended, Late, Lines
from overlock_tools.guest.executor import Boots
from overlock_tools.guest.hosts import HostSetup, Hypervisor
from overlock_tools.guest.loads import Load
from overlock_tools.guest.paths import Home
from overlock_tools.guest.placement import Placement
from overlock_tools.guest.vm import Booted, Guest, NoBoot, Ran, Spec, Tell, Told
from overlock_tools.lab.nested import kernel

NAME = "nested"
HOST_MEMORY_MB = 1536
# Seen on two CPUs that others used, too: 7 to 35 s for the host, 10 to 30 s for a guest in it.
HOST_SECONDS = 120.0
GUEST_SECONDS = 90.0
# Of what the host does at once, on a busy machine.
ORDER_SECONDS = 30.0
BEGIN = "begin"
LINE = ("-chardev", "socket,id=inner,path={folder}/inner,server=on,wait=off")
INSIDE = Path("/guest")


class Inner(Told):
    """A guest in that host."""

    def __init__(self, spec: Spec, host: Guest, line: Lines, where: Placement) -> None:
        cpus = Placement(where.mode, (tuple(range(where.cpus)),))
        super().__init__(spec, line, cpus.of(0, spec.smp))
        self.host = host

    def begin(self) -> None:
        bound = [str(min(cpus)) for cpus in self.places if len(cpus) == 1]
        command = ["inner", "begin", self.host.facts["line"], ",".join(bound) or "free"]
        said, code = self.host.asked(shlex.join([*command, *self.qemu()]), ORDER_SECONDS)
        if code:
            raise NoBoot(" | ".join(said) or "its QEMU did not start")
        self.began = time.monotonic()
        while self.rig.line(ORDER_SECONDS) != BEGIN:
            pass  # what the one before still had to say

    def qemu(self) -> list[str]:
        spec = self.spec
        return [
            *spec.machine(),
            *spec.loading("8250.nr_uarts=2"),
            *("-name", "inner,debug-threads=on"),
            *("-serial", "file:/tmp/inner.console", "-serial", "chardev:rig"),
            *("-chardev", f"serial,id=rig,path={self.host.facts['line']}"),
        ]

    def ran(self) -> Ran:
        said, code = self.host.asked("inner ran", ORDER_SECONDS)
        if code or not said:
            return Ran()
        on_cpu, _, voluntary, involuntary = said[-1].split()
        return Ran(int(on_cpu) * 1e-9, int(voluntary), int(involuntary), self.stolen())

    def end(self) -> None:
        self.host.asked("inner end", ORDER_SECONDS)

    def why(self, error: Exception) -> str:
        seconds = time.monotonic() - self.began
        what = "it ended" if isinstance(error, Ended) else f"no answer for {seconds:.0f} s"
        with suppress(Late, Ended):
            last, _ = self.host.asked("inner console", ORDER_SECONDS)
            if last:
                return f"{what}; its console: {vm.telling(last)}"
        return f"{what}, and so did its host" if not self.host.lives() else what


@dataclass
class Nest:
    """Boots guests in a host, which it keeps for the next ones; as vm.booted does."""

    host: Spec
    slice_ns: int | None
    hosts: int = 0  # that had to be booted
    _up: ExitStack = field(default_factory=ExitStack)
    _guest: Guest | None = None
    _line: Lines | None = None

    @contextmanager
    def booted(
        self,
        specs: Sequence[Spec],
        where: Placement,
        seconds: float = GUEST_SECONDS,
        tries: int = vm.TRIES,
        tell: Tell = lambda _: None,
    ) -> Iterator[Booted]:
        if len(specs) != 1:
            raise Fail(f"a nested host runs one guest at a time, not {len(specs)}; use --vms 1")
        failures: list[str] = []
        for left in reversed(range(tries)):
            inner, why = self._tried(specs[0], where, seconds)
            if inner:
                with self._kept_if_well(inner):
                    yield Booted([inner], failures)
                return
            self.close()
            failures.append(why)
            if left:
                tell(f"a nested guest did not boot: {why}; trying again with a new host")
        raise vm.no_boot(specs[0], tries, why)

    def _tried(self, spec: Spec, where: Placement, seconds: float) -> tuple[Inner | None, str]:
        """A guest that is up, or why it is not."""
        try:
            host, line = self._host_up(where)
            inner = Inner(spec, host, line, where)
        except NoBoot as error:
            return None, str(error)
        try:
            inner.begin()
            inner.come_up(seconds)
        except NoBoot as error:
            return None, str(error)
        except (Late, Ended, ValueError) as error:
            return None, inner.why(error)
        return inner, ""

    @contextmanager
    def _kept_if_well(self, inner: Inner) -> Iterator[None]:
        try:
            yield
            inner.end()
        except (Late, Ended):
            self.close()
        except BaseException:
            self.close()
            raise

    def _host_up(self, where: Placement) -> tuple[Guest, Lines]:
        if not (self._guest and self._line and self._guest.lives()):
            self.close()
            spec = replace(self.host, smp=where.cpus)
            host = self._up.enter_context(vm.started(spec, where.of(0, where.cpus)))
            self.hosts += 1
            try:
                host.come_up(HOST_SECONDS)
            except (Late, Ended, ValueError) as error:
                raise NoBoot(f"its host did not boot: {vm.why(host, error)}") from error
            line = Lines(host.folder / "inner", ORDER_SECONDS, host.lives)
            self._up.callback(line.close)
            self._slices(host)
            self._guest, self._line = host, line
        return self._guest, self._line

    def _slices(self, host: Guest) -> None:
        if self.slice_ns is None:
            return
        said, code = host.asked(f"host-slice {self.slice_ns}", ORDER_SECONDS)
        if code or said[-1:] != [str(self.slice_ns)]:
            raise Fail(f"cannot set the nested host's slices: {' | '.join(said)}", FAILED)

    def close(self) -> None:
        self._guest = self._line = None
        self._up.close()


@contextmanager
def nest(guests: Home, pause: str, slice_ns: int | None, initrd: Path) -> Iterator[Nest]:
    """With its host's files, which are gone with it."""
    image, _ = kernel.needed(guests)
    files = kernel.archive(vm.QEMU, guests.kernel(pause), initrd)
    with tempfile.TemporaryDirectory(prefix="overlock-host-") as folder:
        packed = Path(folder) / "initramfs"
        packed.write_bytes(files)
        spec = Spec(
            kernel=image,
            initramfs=packed,
            smp=1,
            hidden=False,
            memory_mb=HOST_MEMORY_MB,
            devices=(*LINE, "-device", "pci-serial,chardev=inner"),
        )
        found = Nest(spec, slice_ns)
        try:
            yield found
        finally:
            found.close()


def inside(spec: Spec) -> Spec:
    """The same guest as its host starts it."""
    return replace(spec, kernel=INSIDE / "kernel", initramfs=INSIDE / "initramfs", accel="kvm")


class Nested(Hypervisor):
    tries = vm.TRIES
    has_console = False

    def build(self, guests: Home, terms: Terms, progress: Progress) -> None:
        kernel.build(guests, terms, progress)

    def accelerator(self, guests: Home, where: Placement, slice_ms: float | None) -> Accel:
        _, known = kernel.needed(guests)
        if not kernel.current(known):
            say(
                "the host's kernel was built from other sources; update it with "
                "`overlock guest build --accel nested`"
            )
        return Accel(NAME, f"KVM of Linux {known['version']} on {where.emulated}")

    def spec(self, spec: Spec, on: HostSetup) -> Spec:
        return inside(spec)

    @contextmanager
    def boots(self, on: HostSetup, needed: Sequence[Load]) -> Iterator[Boots]:
        ns = None if on.slice_ms is None else round(on.slice_ms * 1e6)
        packed = on.initramfs(on.home, needed)
        with nest(on.home, on.options["pause"], ns, packed) as found:
            yield found.booted
