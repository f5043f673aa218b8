# SPDX-License-Identifier: MIT
"""What this machine is, and whether something else is using it."""

import os
import platform
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overlock_tools.core.system import cgroups
from overlock_tools.core.system.kernel_files import Tree, Unknown

# Other programs' share of the CPUs, and the hypervisor's, from which a result is doubtful.
BUSY_SHARE = 0.05


def _read(path: str | Path) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def cpus() -> int:
    """CPUs this process may run on."""
    return len(os.sched_getaffinity(0))


def cpu_model(cpuinfo: str) -> str:
    found = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    return found[1] if found else platform.machine()


def cpu_flags(cpuinfo: str) -> set[str]:
    """What the processor has by CPUID, as the kernel lists it; none where there is no CPUID."""
    found = re.search(r"^flags\s*:(.*)$", cpuinfo, re.MULTILINE)
    return set(found[1].split()) if found else set()


def scheduler(tree: Tree, release: str) -> str:
    extensible = Path("/sys/kernel/sched_ext")
    if tree.read_or(str(extensible / "state")) == "enabled":
        return "sched_ext " + tree.read_or(str(extensible / "root" / "ops"), "of unknown name")
    major, minor = (int(n) for n in re.findall(r"\d+", release)[:2])
    return "EEVDF" if (major, minor) >= (6, 6) else "CFS"


DMI = "/sys/class/dmi/id"
# How firmware names a virtual machine: vendor and product. EC2's bare metal is called *.metal.
VIRTUAL_PRODUCTS = re.compile(
    r"QEMU |Amazon EC2 (?!.*\.metal)|Google Google Compute Engine|Microsoft Corporation Virtual"
)


def product(tree: Tree) -> str:
    return " ".join(tree.read_or(f"{DMI}/{name}") for name in ("sys_vendor", "product_name"))


def is_guest(tree: Tree) -> bool:
    """Of a hypervisor. Without CPUID nothing says that there is none."""
    if flags := cpu_flags(tree.read_or("/proc/cpuinfo")):
        return "hypervisor" in flags
    if (
        tree.read_or("/sys/hypervisor/type")
        or tree.read_or("/proc/device-tree/hypervisor/compatible")
        or VIRTUAL_PRODUCTS.match(product(tree))
    ):
        return True
    raise Unknown("this architecture has no CPUID")


def virtual(tree: Tree) -> bool | None:
    """None: nothing here can tell."""
    try:
        return is_guest(tree)
    except Unknown:
        return None


def chosen(text: str) -> str:
    """The bracketed word of a sysfs file such as `always [madvise] never`."""
    found = re.search(r"\[(.+?)\]", text)
    return found[1] if found else text


def quota_cpus() -> float | None:
    """The CPU quota of our group or one above it, in CPUs; None if there is none we can see."""
    try:
        found = cgroups.quota(Tree(), cgroups.of(Tree(), "self"))
    except Unknown:
        return None
    return found.cpus if found else None


def facts() -> dict[str, Any]:
    """For the result file: what a reader needs to judge or repeat the measurement."""
    flags = _read("/proc/cpuinfo")
    return {
        "cpu": cpu_model(flags),
        "architecture": platform.machine(),
        "cpus_online": os.cpu_count() or 1,
        "cpus_allowed": sorted(os.sched_getaffinity(0)),
        "quota_cpus": quota_cpus(),
        "smt": _read("/sys/devices/system/cpu/smt/active") == "1",
        "virtual": virtual(Tree()),
        "kernel": platform.release(),
        "preemption": "PREEMPT_RT"
        if "PREEMPT_RT" in platform.version()
        else ("PREEMPT" if "PREEMPT" in platform.version() else "voluntary or none"),
        "scheduler": scheduler(Tree(), platform.release()),
        "libc": " ".join(platform.libc_ver()),
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") or "unknown",
        "thp": chosen(_read("/sys/kernel/mm/transparent_hugepage/enabled")) or "unknown",
        "clocksource": _read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "loadavg": list(os.getloadavg()),
    }


HEADLINE = {"cpus_allowed", "quota_cpus", "virtual", "cpu", "kernel", "scheduler", "libc"}


def headline(machine: dict[str, Any]) -> str:
    """One line about the machine."""
    if "simulated" in machine:
        return f"simulated: {machine['simulated']}"
    if not machine.keys() >= HEADLINE:
        return "an unknown machine"
    n = len(machine["cpus_allowed"])
    quota = f", quota {machine['quota_cpus']:g} CPUs" if machine["quota_cpus"] else ""
    kind = " (virtual)" if machine["virtual"] else ""
    return (
        f"{n} CPU{'s' if n > 1 else ''}{quota}, {machine['cpu']}{kind}, "
        f"Linux {machine['kernel']} {machine['scheduler']}, {machine['libc']}"
    )


def _descendants(pid: int | str = "self") -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, _read(task).split()):
            yield child
            yield from _descendants(child)


def _own_seconds() -> float:
    """CPU seconds of this process and of all that come from it, whether ended or running."""
    tick = os.sysconf("SC_CLK_TCK")
    running = [_read(f"/proc/{pid}/stat").rpartition(")")[2].split() for pid in _descendants()]
    return sum(os.times()[:4]) + sum(sum(map(int, words[11:15])) / tick for words in running)


@dataclass(frozen=True)
class Load:
    """CPU seconds since boot, of the CPUs we may use: all, of us and ours, the hypervisor's."""

    when: float
    busy: float
    own: float
    stolen: float

    @classmethod
    def now(cls) -> "Load":
        tick = os.sysconf("SC_CLK_TCK")
        ours = {f"cpu{number}" for number in os.sched_getaffinity(0)}
        lines = [line.split() for line in _read("/proc/stat").splitlines()]
        fields = [map(int, words[1:9]) for words in lines if words[0] in ours]
        user, nice, system, _idle, _iowait, irq, softirq, steal = map(
            sum, zip(*fields, strict=True)
        )
        busy = (user + nice + system + irq + softirq) / tick
        return cls(time.monotonic(), busy, _own_seconds(), steal / tick)

    def but_for(self, began: "Load", ended: "Load") -> "Load":
        """This moment, to reckon from as if the time between those two had not been."""
        return Load(
            self.when + ended.when - began.when,
            self.busy + ended.busy - began.busy,
            self.own + ended.own - began.own,
            self.stolen + ended.stolen - began.stolen,
        )

    def others_since(self, then: "Load") -> float:
        """Others' share of our CPUs since then, the hypervisor's included."""
        elapsed = max(self.when - then.when, 1e-9)
        others = (self.busy - then.busy) - (self.own - then.own) + (self.stolen - then.stolen)
        return max(0.0, others / elapsed / cpus())

    def stolen_since(self, then: "Load") -> float:
        elapsed = max(self.when - then.when, 1e-9)
        return max(0.0, (self.stolen - then.stolen) / elapsed / cpus())


def busy_warning(then: Load, now: Load) -> str | None:
    share = now.others_since(then)
    if share < BUSY_SHARE:
        return None
    stolen = now.stolen_since(then)
    host = f" ({stolen:.0%} stolen by the hypervisor)" if stolen >= 0.01 else ""
    return (
        f"other work took {share:.0%} of the CPUs{host}: expect noise, in rates more than in ratios"
    )


def busy_now(seconds: float = 0.3) -> str | None:
    """A warning if something else is using the CPUs, after watching for that long."""
    then = Load.now()
    time.sleep(seconds)
    return busy_warning(then, Load.now())
