# SPDX-License-Identifier: MIT
"""One virtual machine: started, awaited, given its work, and gone when we are."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from overlock_tools.bench.conditions import proc
from overlock_tools.core.system import bundled, machine
from overlock_tools.core.system.errors import FAILED, INTERRUPTED, MISSING, Fail
from overlock_tools.core.system.terminal import console as terminal
from overlock_tools.guest import placement, slices
from overlock_tools.guest.channel import Ended, Late, Lines
from overlock_tools.guest.placement import Placement
from overlock_tools.guest.qmp import Monitor

QEMU = "qemu-system-x86_64"
MEMORY_MB = 512
ICOUNT = "icount"  # translated, one vCPU after the other; its counter counts instructions
# QEMU itself answers at once, unless the machine is very busy.
QEMU_SECONDS = 30.0
# A lock that collapses makes a boot with many vCPUs slow.
BOOT_SECONDS = 90.0
TRIES = 3
DONE = "done "
GONE = "gone "  # QEMU has ended, says the host that is a guest itself
TOLD_LINES = 4  # of a guest's console, when it did not come up
# On a busy host the first ticks come late, and Linux would stop, for its timer seems broken.
NO_TIMER_CHECK = "no_timer_check"
FAULT = re.compile(r"\b(BUG|RIP|Oops|panic)\b|rcu: INFO")
Tell = Callable[[str], None]


@cache
def host_cpu(cpuinfo: str | None = None) -> str:
    """The host's, as KVM has it for a guest. KVM offers ARCH_CAPABILITIES on every CPU; on one that
    has no such register, AMD's, newer kernels refuse to set it, and QEMU ends. QEMU withholds
    features that it has no name for, such as slices of lab/nested, from guests that may migrate.
    """
    flags = machine.cpu_flags(cpuinfo or Path("/proc/cpuinfo").read_text())
    model = "host,migratable=off"
    return model if "arch_capabilities" in flags else f"{model},-arch-capabilities"


class NoBoot(Fail):
    """It did not come up; what its console said last."""

    def __init__(self, message: str) -> None:
        super().__init__(message, FAILED)


@dataclass(frozen=True)
class Spec:
    """What is booted, and on what."""

    kernel: Path
    initramfs: Path
    smp: int
    accel: str = "tcg"
    lock: str = "native"
    hidden: bool = True  # the guest does not see that there is a hypervisor
    words: tuple[str, ...] = ()  # more for the kernel's command line
    slice_page: bool = False  # it is told of its vCPUs' time slices
    memory_mb: int = MEMORY_MB
    qemu: str = field(default_factory=lambda: bundled.qemu(QEMU))
    devices: tuple[str, ...] = ()  # more for QEMU; {folder} is where its sockets are
    helped: bool = True  # KVM offers it PV spinlocks

    @property
    def cpu(self) -> str:
        kvm = self.accel == "kvm"
        model = host_cpu() if kvm else "max"
        model += ",-hypervisor" if self.hidden else ""
        return model if self.helped or not kvm else f"{model},-kvm-pv-unhalt"

    @property
    def cpus(self) -> int:
        """Of QEMU's machine, each a thread."""
        return self.smp

    @property
    def tells_steal(self) -> bool:
        return self.accel not in ("tcg", ICOUNT)

    console: ClassVar[str] = "ttyS0"

    @property
    def append(self) -> str:
        words = [f"console={self.console}", "rdinit=/init", "panic=-1", "quiet", "nokaslr"]
        return " ".join([*words, NO_TIMER_CHECK, f"spinlock={self.lock}", *self.words])

    def machine(self) -> list[str]:
        accel = {"tcg": "tcg,thread=multi", ICOUNT: "tcg,thread=single"}.get(self.accel, self.accel)
        return [
            *(self.qemu, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"),
            *("-accel", accel, "-machine", "q35", "-cpu", self.cpu),
            *(("-icount", "shift=0") if self.accel == ICOUNT else ()),
            *("-smp", str(self.cpus), "-m", str(self.memory_mb)),
        ]

    def loading(self, *more: str) -> list[str]:
        """What is booted, with these words more for the kernel."""
        append = " ".join([self.append, *more])
        return ["-kernel", str(self.kernel), "-initrd", str(self.initramfs), "-append", append]

    def served(self, folder: Path) -> list[str]:
        """Paused at first; its console in a file, a line to its /init, one to QEMU itself."""
        return [
            *self.machine(),
            *self.loading(),
            *("-name", "overlock-guest,debug-threads=on", "-S"),
            *("-qmp", f"unix:{folder}/qmp,server=on,wait=off"),
            *("-serial", f"file:{folder}/console"),
            *("-chardev", f"socket,id=rig,path={folder}/rig,server=on,wait=off"),
            *("-serial", "chardev:rig"),
            *(word.format(folder=folder) for word in self.devices),
        ]

    def at_terminal(self) -> list[str]:
        return [*self.machine(), *self.loading("rig=console"), "-serial", "mon:stdio"]


def dies_with_us(command: Sequence[str]) -> list[str]:
    """Even if we are killed outright: the kernel then kills it, too."""
    for tool, package in ((command[0], "qemu-system-x86"), ("setpriv", "util-linux")):
        if not shutil.which(tool):
            raise Fail(f"{tool} is missing; install {package}, or run `make guest`", MISSING)
    return ["setpriv", "--pdeathsig", "KILL", "--", *command]


def console(spec: "Spec", else_use: str) -> int:
    """QEMU on this terminal: its Ctrl-C is the guest's, and it ends with us."""
    if not os.isatty(0):
        raise Fail(f"a console needs a terminal; {else_use} in scripts")
    terminal().print("leave with `exit`, or stop QEMU with Ctrl-A x")
    child = subprocess.Popen(dies_with_us(spec.at_terminal()))
    try:
        return FAILED if child.wait() else 0
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        child.kill()
        child.wait()


@dataclass(frozen=True)
class Ran:
    """What a guest's vCPU threads had of their host's CPUs, since they began."""

    cpu_seconds: float = 0.0
    voluntary: int = 0  # context switches
    involuntary: int = 0
    stolen_seconds: float | None = None  # ready for a CPU, says their own kernel; None: it cannot


# USER_HZ is 100 on x86.
STOLEN = "sed -n 's/^cpu  //p' /proc/stat | cut -d' ' -f8"
STOLEN_TICK_SECONDS = 0.01
STOLEN_WAIT_SECONDS = 10.0


class Told:
    """A guest's /init that listens, however it can be reached."""

    def __init__(self, spec: Spec, rig: Lines, places: list[set[int]]) -> None:
        self.spec, self.rig, self.places = spec, rig, places
        self.facts: dict[str, Any] = {}
        self.began = time.monotonic()
        self.boot_seconds = 0.0
        self.heard: list[str] = []  # of the answer at hand
        self.agent: slices.Agent | None = None

    def come_up(self, seconds: float) -> None:
        left = max(0.0, self.began + seconds - time.monotonic())
        lines, code = self.answer(left)
        if code or not lines:
            raise Ended
        self.facts = json.loads(lines[-1])
        self.boot_seconds = time.monotonic() - self.began

    def tell(self, line: str) -> None:
        self.rig.say(line)

    def answer(self, seconds: float) -> tuple[list[str], int]:
        """What it printed, and its exit code."""
        until = time.monotonic() + seconds
        self.heard = []
        while True:
            line = self.rig.line(max(0.0, until - time.monotonic()))
            if line.startswith(DONE):
                return self.heard, int(line.removeprefix(DONE))
            if line.startswith(GONE):
                raise Ended
            self.heard.append(line)

    def asked(self, line: str, seconds: float) -> tuple[list[str], int]:
        self.tell(line)
        return self.answer(seconds)

    def ran(self) -> Ran:
        raise NotImplementedError

    def stolen(self) -> float | None:
        """None under TCG, which reports nothing, and of a guest that does not answer."""
        if not self.spec.tells_steal:
            return None
        try:
            said, code = self.asked(STOLEN, STOLEN_WAIT_SECONDS)
        except Late:
            return None
        return int(said[-1]) * STOLEN_TICK_SECONDS if said and not code else None


class Guest(Told):
    """One of QEMU on this machine."""

    def __init__(self, spec: Spec, process: "subprocess.Popen[bytes]", folder: Path) -> None:
        self.process, self.folder = process, folder
        self.monitor = Monitor(folder / "qmp", QEMU_SECONDS, self.lives)
        super().__init__(spec, Lines(folder / "rig", QEMU_SECONDS, self.lives), [])
        self.threads = self.monitor.vcpu_threads()

    def lives(self) -> bool:
        return self.process.poll() is None

    def go(self, places: list[set[int]]) -> None:
        placement.apply(self.threads, places)
        self.places = places
        self.began = time.monotonic()
        self.monitor.ask("cont")

    def ran(self) -> Ran:
        on_cpu, voluntary, involuntary = 0.0, 0, 0
        for thread in self.threads:
            if had := proc.Ran.of(thread):
                on_cpu += had.on_cpu_s
            willing, unwilling = switches(thread)
            voluntary += willing
            involuntary += unwilling
        return Ran(on_cpu, voluntary, involuntary, self.stolen())

    def console(self) -> list[str]:
        try:
            text = (self.folder / "console").read_text(errors="replace")
        except OSError:
            return []
        return [line.strip() for line in text.splitlines() if line.strip()]

    def close(self) -> None:
        self.monitor.close()
        self.rig.close()


def switches(thread: int) -> tuple[int, int]:
    """A thread's voluntary and involuntary context switches since it began."""
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{thread}/status").read_text()
        found = re.findall(r"ctxt_switches:\s+(\d+)", text)
        return int(found[0]), int(found[1])
    return 0, 0


@contextmanager
def _process(command: list[str], folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """In a process group of its own, so that Ctrl-C reaches it through us only."""
    with (folder / "qemu").open("wb") as said:
        child = subprocess.Popen(
            dies_with_us(command),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            process_group=0,
        )
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def _complaint(folder: Path) -> str:
    try:
        lines = (folder / "qemu").read_text(errors="replace").split("\n")
    except OSError:
        return ""
    return " ".join(filter(None, map(str.strip, lines)))


@contextmanager
def started(spec: Spec, places: list[set[int]]) -> Iterator[Guest]:
    """Its process and files end with the context, however that ends."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="overlock-guest-")))
        page = stack.enter_context(slices.page()) if spec.slice_page else None
        command = spec.served(folder) + (slices.device(page) if page else [])
        process = stack.enter_context(_process(command, folder))
        try:
            guest = Guest(spec, process, folder)
        except (Late, Ended, OSError, ValueError) as error:
            said = _complaint(folder) or str(error) or "it ended"
            raise Fail(f"QEMU failed: {said}", FAILED) from error
        stack.callback(guest.close)
        if page:
            guest.agent = stack.enter_context(slices.told(page, guest.threads))
        guest.go(places)
        yield guest


def telling(console: Sequence[str]) -> str:
    """Where a kernel says what went wrong, without registers and stacks; else its last words."""
    faults = [line for line in console if FAULT.search(line)]
    return " | ".join(faults[:TOLD_LINES] or console[-TOLD_LINES:])


def why(guest: Guest, error: Exception) -> str:
    seconds = time.monotonic() - guest.began
    code = guest.process.poll()
    what = f"no answer for {seconds:.0f} s" if isinstance(error, Late) else "it ended"
    if code is not None and code not in (0, -signal.SIGKILL):
        what = f"QEMU ended with status {code}: {_complaint(guest.folder)}"
    said = telling(guest.console())
    return f"{what}; its console: {said}" if said else f"{what}, its console is empty"


@dataclass
class Booted:
    guests: Sequence[Told]
    failures: list[str]  # of tries before


@contextmanager
def booted(
    specs: Sequence[Spec],
    where: Placement,
    seconds: float = BOOT_SECONDS,
    tries: int = TRIES,
    tell: Tell = lambda _: None,
) -> Iterator[Booted]:
    """All of them, up and listening. What does not come up is tried again, all of them together."""
    failures: list[str] = []
    for left in reversed(range(tries)):
        with ExitStack() as stack:
            all_places = [where.of(i, spec.cpus) for i, spec in enumerate(specs)]
            guests = [
                stack.enter_context(started(*pair)) for pair in zip(specs, all_places, strict=True)
            ]
            reason = _waited(guests, seconds)
            if not reason:
                yield Booted(guests, failures)
                return
        failures.append(reason)
        if left:
            tell(f"a guest did not boot: {reason}; trying again")
    raise no_boot(specs[0], tries, reason)


def no_boot(spec: Spec, tries: int, reason: str) -> NoBoot:
    return NoBoot(f"{spec.lock} with {spec.smp} vCPUs did not boot in {tries} tries: {reason}")


def _waited(guests: Sequence[Guest], seconds: float) -> str:
    """Empty if all came up, else why one did not."""
    for number, guest in enumerate(guests, 1):
        try:
            guest.come_up(seconds)
        except (Late, Ended, ValueError) as error:
            of = f"guest {number} of {len(guests)}: " if len(guests) > 1 else ""
            return of + why(guest, error)
    return ""
