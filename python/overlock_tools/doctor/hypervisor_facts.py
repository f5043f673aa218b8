# SPDX-License-Identifier: MIT
"""What is above and below this machine's programs: hypervisor, kernel, scheduler."""

import re

from overlock_tools.core.system import machine
from overlock_tools.core.system.kernel_files import Unknown, fields
from overlock_tools.doctor.fact import Found, World, fact
from overlock_tools.doctor.machine_facts import online

VENDORS = {
    "KVMKVMKVM": "KVM",
    "Microsoft Hv": "Hyper-V",
    "VMwareVMware": "VMware",
    "XenVMMXenVMM": "Xen",
    "TCGTCGTCGTCG": "QEMU without KVM",
    "bhyve bhyve ": "bhyve",
    "ACRNACRNACRN": "ACRN",
}


def _is_guest(w: World) -> bool:
    try:
        return bool(w.probe.get("cpu", "hypervisor"))
    except Unknown:
        return machine.is_guest(w.tree)


def _vendor(w: World) -> str | None:
    try:
        said = str(w.probe.get("cpu", "hypervisor_vendor"))
        return VENDORS.get(said, said)
    except Unknown:
        kind = w.tree.read_or("/sys/hypervisor/type")
        return kind.capitalize() or None


@fact(
    "hypervisor",
    "hypervisor",
    "hypervisor",
    how="CPUID leaf 40000000h, flag in /proc/cpuinfo; without CPUID /sys/hypervisor/type, device "
    "tree and DMI, which can prove a hypervisor but not its absence",
    means="a hypervisor may preempt a lock holder without the knowledge of this kernel",
)
def hypervisor(w: World) -> Found:
    if not _is_guest(w):
        return Found("none", "none: CPUID names none")
    vendor = _vendor(w) or "unnamed"
    product = machine.product(w.tree).strip()
    return Found(vendor, f"{vendor}{f' ({product})' if product else ''}")


STEAL_TIME = "steal time"
PV_UNHALT = "PV unhalt"
# Bits of CPUID leaf 40000001h, EAX, as the kernel's documentation of KVM numbers them.
KVM_FEATURES = {
    3: "clock",
    5: STEAL_TIME,
    7: PV_UNHALT,
    9: "PV TLB flush",
    11: "PV IPIs",
    12: "halt polling",
    13: "PV sched yield",
}
DEDICATED_HINT = 1  # EDX bit 0: vCPUs are never preempted for long, says the host


def _kvm(w: World) -> list[str]:
    word = int(w.probe.get("cpu", "kvm_features"))
    return [name for bit, name in KVM_FEATURES.items() if word & 1 << bit]


@fact(
    "kvm_features",
    "hypervisor",
    "paravirtual features",
    how="CPUID leaf 40000001h of KVM",
    means="PV unhalt lets a guest kernel's waiters sleep until a kick; steal time is the time that "
    "vCPUs waited for a CPU",
)
def kvm_features(w: World) -> Found:
    try:
        found = _kvm(w)
    except Unknown:
        if not _is_guest(w):
            raise Unknown("no hypervisor") from None
        raise
    return Found(found, ", ".join(found) or "none")


@fact(
    "steal_reported",
    "hypervisor",
    "stolen time is reported",
    how="KVM's steal-time feature, or a nonzero count in /proc/stat",
    means="without it, a guest cannot see that its vCPUs wait for CPUs",
)
def steal_reported(w: World) -> Found:
    if not _is_guest(w):
        return Found(True, "no hypervisor")
    since_boot = int(w.tree.read("/proc/stat").split()[8])
    if since_boot:
        return Found(True, "yes")
    if hypervisor(w).value == "Xen":
        return Found(True, "yes, none so far")
    try:
        reported = STEAL_TIME in _kvm(w)
    except Unknown:
        why = "none so far; the hypervisor may not report it"
        raise Unknown(why) from None
    return Found(reported, "yes, none so far" if reported else "no: always 0 here")


@fact(
    "spin_exits",
    "hypervisor",
    "exits on spinning (PLE)",
    how="on a host, /sys/module/kvm_intel or kvm_amd parameters; from within a guest it cannot be "
    "seen",
    means="the host can detect a spinning vCPU and run another, at the cost of an exit",
)
def spin_exits(w: World) -> Found:
    if _is_guest(w):
        raise Unknown("a setting of the hypervisor, invisible to guests")
    for module, name in (("kvm_intel", "ple_gap"), ("kvm_amd", "pause_filter_count")):
        if text := w.tree.read_or(f"/sys/module/{module}/parameters/{name}"):
            return Found(int(text), f"{name} {text} for this machine's guests")
    raise Unknown("no KVM module is loaded, so there are no guests to exit")


def _said_of_spinlocks(w: World) -> str | None:
    try:
        lines: list[str] = w.probe.get("kernel_log", "spinlock_lines")
    except Unknown:
        return None
    said = [re.sub(r"^<\d+>\[[ .\d]+\] ", "", line) for line in lines]
    return next((line for line in said if "PV spinlocks" in line), None)


def _guests_spinlock(w: World) -> Found:
    """As KVM's guest code chooses it at boot."""
    if "nopvspin" in w.tree.read_or("/proc/cmdline").split():
        return Found("native", "native: nopvspin is on the kernel's command line")
    features, hints = _kvm(w), int(w.probe.get("cpu", "kvm_hints"))
    if hints & DEDICATED_HINT:
        return Found("native", "native: the host reports dedicated CPUs")
    if PV_UNHALT in features and len(online(w.tree)) == 1:
        return Found("native", "native: there is only one vCPU")
    if PV_UNHALT in features:
        return Found("PV", "PV, if the kernel was built with it: PV unhalt is offered")
    return Found("unfair", "unfair test-and-set: a guest without PV unhalt")


@fact(
    "kernel_spinlock",
    "hypervisor",
    "the kernel's own spinlock",
    how="the kernel's boot log if readable, else nopvspin in /proc/cmdline, "
    "KVM's PV unhalt and dedicated hint, the number of vCPUs",
    means="`native` queue locks collapse when vCPUs are preempted; `PV` locks park; the `unfair` "
    "lock has no order",
)
def kernel_spinlock(w: World) -> Found:
    if said := _said_of_spinlocks(w):
        kind = "unfair" if "no host support" in said else "native"
        kind = "PV" if "enabled" in said else kind
        return Found(kind, f"{kind} (the kernel logged: {said})")
    if not _is_guest(w):
        return Found("native", "native qspinlock: no hypervisor")
    return _guests_spinlock(w)


@fact(
    "kernel",
    "scheduler",
    "kernel",
    how="/proc/sys/kernel/osrelease, /proc/version",
    means="it determines the scheduler and the available hints",
)
def kernel(w: World) -> Found:
    release = w.tree.read("/proc/sys/kernel/osrelease")
    model = re.search(r"\bPREEMPT\w*", w.tree.read_or("/proc/version"))
    text = f"Linux {release}" + (f", {model[0]}" if model else "")
    return Found({"release": release, "preemption": model[0] if model else None}, text)


@fact(
    "scheduler",
    "scheduler",
    "scheduler",
    how="/sys/kernel/sched_ext, else the kernel's version: EEVDF since 6.6, CFS before",
    means="it decides when a lock holder is preempted",
)
def scheduler(w: World) -> Found:
    name = machine.scheduler(w.tree, w.tree.read("/proc/sys/kernel/osrelease"))
    return Found(name, name)


@fact(
    "slice",
    "scheduler",
    "time slice",
    how="sched_getattr(2) once the caller's own length is given up, se.slice in /proc/self/sched, "
    "base_slice_ns in debugfs",
    means="a preempted holder is off its CPU for at least about this long per thread ahead",
)
def time_slice(w: World) -> Found:
    try:
        part = w.probe.part("slice")
    except Unknown:
        part = {}
    here = int(part.get("now_ns", 0))
    shown = fields(w.tree.read_or("/proc/self/sched")).get("se.slice", "").lstrip(": ")
    ns = int(part.get("kernel_ns", 0)) or here or int(shown or 0)
    ns = ns or int(w.tree.read("/sys/kernel/debug/sched/base_slice_ns"))
    own = f"; whoever started this asked for {here / 1e6:g} ms" if here not in (0, ns) else ""
    return Found(ns, f"{ns / 1e6:g} ms{own}")


@fact(
    "autogroup",
    "scheduler",
    "autogroup",
    how="/proc/sys/kernel/sched_autogroup_enabled",
    means="sessions share the CPUs evenly, regardless of their threads; nice applies within one",
)
def autogroup(w: World) -> Found:
    on = w.tree.read("/proc/sys/kernel/sched_autogroup_enabled") == "1"
    return Found(on, "on" if on else "off")
