# SPDX-License-Identifier: MIT
"""What this machine is: processor, hypervisor, kernel, container."""

import re

from overlock_tools.doctor.fact import Found, World, fact
from overlock_tools.system import machine
from overlock_tools.system.kernel_files import Tree, Unknown, cpu_list, fields

CPUS = "/sys/devices/system/cpu"


@fact(
    "cpu",
    "machine",
    "processor",
    how="/proc/cpuinfo",
    means="it determines the length of critical sections and the cost of waiting",
)
def cpu(w: World) -> Found:
    name = machine.cpu_model(w.tree.read("/proc/cpuinfo"))
    return Found(name, name)


def online(tree: Tree) -> list[int]:
    try:
        return cpu_list(tree.read(f"{CPUS}/online"))
    except Unknown:
        found = re.findall(r"^cpu(\d+) ", tree.read("/proc/stat"), re.MULTILINE)
        if not found:
            raise Unknown("neither /sys/devices/system/cpu nor /proc/stat names CPUs") from None
        return [int(number) for number in found]


@fact(
    "cpus_online",
    "machine",
    "CPUs online",
    how="/sys/devices/system/cpu/online, else /proc/stat",
    means="the maximum number of threads that can run at once; more is overcommit",
)
def cpus_online(w: World) -> Found:
    n = len(online(w.tree))
    return Found(n, f"{n}")


def _distinct(tree: Tree, cpus: list[int], name: str) -> int:
    return len({tree.read(f"{CPUS}/cpu{cpu}/{name}") for cpu in cpus})


def _last_cache(tree: Tree, cpu: int) -> str:
    folder = f"{CPUS}/cpu{cpu}/cache"
    levels = [name for name in tree.names(folder) if name.startswith("index")]
    return max(levels, key=lambda name: int(tree.read(f"{folder}/{name}/level")))


def _caches(tree: Tree, cpus: list[int]) -> int | None:
    try:
        last = _last_cache(tree, cpus[0])
        return _distinct(tree, cpus, f"cache/{last}/shared_cpu_list")
    except (Unknown, ValueError):
        return None


def _nodes(tree: Tree) -> int | None:
    try:
        names = tree.names("/sys/devices/system/node")
    except Unknown:
        return None
    return len([name for name in names if re.fullmatch(r"node\d+", name)]) or None


def _threads_of_cores(tree: Tree, cpus: list[int]) -> list[int]:
    """How many each core has; a hybrid processor's cores differ."""
    cores = {tree.read(f"{CPUS}/cpu{cpu}/topology/thread_siblings_list") for cpu in cpus}
    return [len(cpu_list(core)) for core in cores]


def _smt(threads: list[int]) -> str:
    most = max(threads)
    if most == 1:
        return "no SMT"
    have = threads.count(most)
    return f"{most} threads each" if have == len(threads) else f"{most} threads on {have} of them"


def _counted(n: int | None, what: str) -> str:
    return f"{'?' if n is None else n} {what}{'' if n == 1 else 's'}"


@fact(
    "topology",
    "machine",
    "topology",
    how="/sys/devices/system/cpu/cpu*/topology and cache, /sys/devices/system/node",
    means="a hand-over within a cache is several times cheaper than one across sockets; "
    "a hypervisor may present any topology",
)
def topology(w: World) -> Found:
    cpus = online(w.tree)
    sockets = _distinct(w.tree, cpus, "topology/physical_package_id")
    threads = _threads_of_cores(w.tree, cpus)
    caches, nodes = _caches(w.tree, cpus), _nodes(w.tree)
    value = {
        "sockets": sockets,
        "cores": len(threads),
        "threads_per_core": max(threads),
        "last_level_caches": caches,
        "numa_nodes": nodes,
    }
    parts = [
        _counted(sockets, "socket"),
        f"{_counted(len(threads), 'core')} ({_smt(threads)})",
        _counted(caches, "last-level cache"),
        _counted(nodes, "NUMA node"),
    ]
    return Found(value, ", ".join(parts))


@fact(
    "governor",
    "machine",
    "frequency governor",
    how="/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    means="powersave makes measurements vary; a guest usually has none",
)
def governor(w: World) -> Found:
    name = w.tree.read(f"{CPUS}/cpu0/cpufreq/scaling_governor")
    return Found(name, name)


@fact(
    "thp",
    "machine",
    "transparent huge pages",
    how="/sys/kernel/mm/transparent_hugepage/enabled",
    means="affects memory-bound measurements, rarely locks",
)
def thp(w: World) -> Found:
    name = machine.chosen(w.tree.read("/sys/kernel/mm/transparent_hugepage/enabled"))
    return Found(name, name)


# Containers.

# The kernel's first namespaces of each kind have these numbers.
FIRST_NAMESPACES = {"user": 4026531837, "pid": 4026531836, "cgroup": 4026531835}
MARKS = (
    ("/run/.containerenv", "podman"),
    ("/.dockerenv", "docker"),
    ("/var/run/secrets/kubernetes.io", "kubernetes"),
    ("/run/systemd/container", "systemd-nspawn"),
)
NAMED_IN_CGROUP = (
    ("kubepods", "kubernetes"),
    ("docker", "docker"),
    ("libpod", "podman"),
    ("lxc", "lxc"),
    ("machine.slice", "systemd-nspawn"),
)


def _new_namespaces(tree: Tree) -> list[str]:
    numbers = {kind: tree.link(f"/proc/self/ns/{kind}") for kind in FIRST_NAMESPACES}
    return [
        kind for kind, first in FIRST_NAMESPACES.items() if numbers[kind] != f"{kind}:[{first}]"
    ]


def _marks(tree: Tree) -> list[str]:
    """Kinds of container that something here names, the innermost engine's guess first."""
    groups = tree.read_or("/proc/self/cgroup")
    said = re.search(r"(?:^|\0)container=([^\0]+)", tree.read_or("/proc/1/environ"))
    kubernetes = "KUBERNETES_SERVICE_HOST=" in tree.read_or("/proc/self/environ")
    found = [
        *(["kubernetes"] if kubernetes else []),
        *(kind for word, kind in NAMED_IN_CGROUP if word in groups),
        *([said[1]] if said else []),
        *(kind for path, kind in MARKS if tree.exists(path)),
    ]
    return list(dict.fromkeys(found))


@fact(
    "container",
    "machine",
    "container",
    how="numbers of the user, PID and cgroup namespaces in /proc/self/ns; /.dockerenv, "
    "/run/.containerenv, names in /proc/self/cgroup, the environment",
    means="a container may hide limits and other load outside it",
)
def container(w: World) -> Found:
    new, marks = _new_namespaces(w.tree), _marks(w.tree)
    value = {"inside": bool(new), "kinds": marks, "namespaces": new}
    left = f", with marks of {marks[0]}" if marks else ""
    if not new:
        return Found(value, f"none: the machine's initial namespaces{left}")
    return Found(value, f"own namespaces: {', '.join(new)}{left}")


# Hypervisor.

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


# Kernel.


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
    how="sched_getattr(2), se.slice in /proc/self/sched, base_slice_ns in debugfs",
    means="a preempted holder is off its CPU for at least about this long per thread ahead",
)
def time_slice(w: World) -> Found:
    try:
        ns = int(w.probe.get("slice", "now_ns"))
    except Unknown:
        ns = 0
    shown = fields(w.tree.read_or("/proc/self/sched")).get("se.slice", "").lstrip(": ")
    ns = ns or int(shown or 0) or int(w.tree.read("/sys/kernel/debug/sched/base_slice_ns"))
    return Found(ns, f"{ns / 1e6:g} ms")


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
