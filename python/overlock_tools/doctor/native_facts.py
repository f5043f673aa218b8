# SPDX-License-Identifier: MIT
"""Costs, features, permissions and knowledge: what overlock-probe tried, and what files say."""

from dataclasses import replace
from typing import Any

from overlock_tools.core.model import defs, traits
from overlock_tools.core.system import cgroups
from overlock_tools.core.system.errors import Fail
from overlock_tools.core.system.kernel_files import Unknown, fields
from overlock_tools.doctor.fact import Found, World, fact
from overlock_tools.doctor.load_facts import cpus_usable
from overlock_tools.doctor.probe import because

PROBE = "overlock-probe: "


def _time(ns: float) -> str:
    return f"{ns:.0f} ns" if ns < 1000 else f"{ns / 1000:.1f} µs"


@fact(
    "pause",
    "costs",
    "one pause",
    how=PROBE + "ol_relax() repeated; PAUSE on x86",
    means="5 to 140 cycles, depending on the CPU; therefore every bound in the locks is a time",
)
def pause(w: World) -> Found:
    ns = float(w.probe.get("costs", "pause_ns"))
    return Found(ns, _time(ns))


@fact(
    "yield_",
    "costs",
    "sched_yield()",
    how=PROBE + "without another runnable thread",
    means="the minimum cost of a yield",
)
def yield_(w: World) -> Found:
    ns = float(w.probe.get("costs", "yield_ns"))
    return Found(ns, _time(ns))


def _passes(w: World, part: str) -> Found:
    least, median = (float(w.probe.get(part, name)) for name in ("least_ns", "median_ns"))
    return Found({"least": least, "median": median}, f"{_time(median)} (least {_time(least)})")


@fact(
    "switch",
    "costs",
    "wake-up and thread switch",
    how=PROBE + "two threads on one CPU alternate through futex(2); median",
    means="the cost of a hand-over to a thread that needs this CPU",
)
def switch(w: World) -> Found:
    return _passes(w, "switch")


@fact(
    "wake",
    "costs",
    "wake-up on another CPU",
    how=PROBE + "the same across two CPUs, from before futex(2) until the other runs; median",
    means="the cost of a hand-over to a sleeper; spinning pays for shorter waits",
)
def wake(w: World) -> Found:
    if "switch" in w.probe.parts and cpus_usable(replace(w, pid=None)).value < 2:
        raise Unknown("this command may use one CPU only")
    return _passes(w, "wake")


@fact(
    "clocksource",
    "costs",
    "clock source",
    how="/sys/devices/system/clocksource/clocksource0/current_clocksource",
    means="hpet and acpi_pm: the kernel distrusts the TSC, and each clock read is slow; "
    "kvm-clock and Hyper-V's TSC page need no system call",
)
def clocksource(w: World) -> Found:
    name = w.tree.read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    return Found(name, name)


@fact(
    "clock",
    "costs",
    "one clock read",
    how=PROBE + "ol_now() repeated: the counter where it is used, else clock_gettime()",
    means="locks with time bounds read it repeatedly while they wait",
)
def clock(w: World) -> Found:
    ns = float(w.probe.get("costs", "clock_ns"))
    return Found(ns, _time(ns))


@fact(
    "tsc",
    "costs",
    "time stamp counter",
    how="CPUID 80000007h EDX bit 8, the clock source, and the library's decision",
    means="a clock of a few ns for the locks' bounds; else they ask clock_gettime()",
)
def tsc(w: World) -> Found:
    used = bool(w.probe.get("costs", "tsc"))
    tick = float(w.probe.get("costs", "tick_ns"))
    return Found(used, f"used, {1 / tick:.3f} GHz" if used else "not invariant, or distrusted")


@fact(
    "tsc_sync",
    "costs",
    "counters of the CPUs agree",
    how=PROBE + "each CPU reads its counter after the first CPU's is visible, and vice versa",
    means="if one lags, time goes backwards for a thread that migrates to that CPU",
)
def tsc_sync(w: World) -> Found:
    part = w.probe.part("tsc")
    if not part["exchanges"]:
        raise Unknown("there is one CPU, or the two never ran at the same time")
    if part["backwards"]:
        return Found(False, f"no: up to {part['worst_ticks']} ticks behind")
    return Found(True, f"yes, on {part['compared']} of {part['cpus']} CPUs")


# Features of the processor.


@fact(
    "rtm",
    "features",
    "transactions (RTM)",
    how="CPUID 7 EBX bit 11 and EDX bit 11; the library tries XBEGIN 64 times",
    means="lock elision; microcode may advertise it but abort every transaction",
)
def rtm(w: World) -> Found:
    works, offered = w.probe.get("cpu", "transactions_commit"), w.probe.get("cpu", "rtm")
    if works:
        return Found("works", "works: a transaction committed")
    if w.probe.get("cpu", "rtm_always_abort"):
        return Found("aborts", "disabled by microcode: always aborts")
    return Found("aborts", "offered, but no transaction commits") if offered else Found("no", "no")


@fact(
    "hle",
    "features",
    "lock elision prefixes (HLE)",
    how="CPUID 7 EBX bit 4",
    means="removed from new processors; a CPU without HLE ignores the prefixes",
)
def hle(w: World) -> Found:
    has = bool(w.probe.get("cpu", "hle"))
    return Found(has, "offered" if has else "no")


@fact(
    "waitpkg",
    "features",
    "TPAUSE, UMWAIT",
    how="CPUID 7 ECX bit 5",
    means="waiting with less power, which leaves the core to its sibling",
)
def waitpkg(w: World) -> Found:
    has = bool(w.probe.get("cpu", "waitpkg"))
    return Found(has, "offered" if has else "no")


def _registration(size: int) -> str:
    """More than the classic 32 bytes is what the kernel's newer mode needs."""
    if not size:
        return "not registered"
    mode = "the kernel's newer mode" if size > 32 else "classic mode: no slice extension"
    return f"registered by glibc, {size} bytes: {mode}"


@fact(
    "rseq",
    "features",
    "restartable sequences (rseq)",
    how="__rseq_size of glibc 2.35 and later: 0 if the kernel or the administrator disabled it",
    means="a thread can detect its own preemption at the cost of a load",
)
def rseq(w: World) -> Found:
    size = int(w.probe.get("rseq", "size"))
    return Found(bool(size), _registration(size))


@fact(
    "rseq_slice",
    "features",
    "slice extension of rseq",
    how="prctl(PR_RSEQ_SLICE_EXTENSION), and what the kernel says to the thread; Linux 7.0",
    means='"briefly, do not preempt me", from user space',
)
def rseq_slice(w: World) -> Found:
    error = int(w.probe.get("rseq", "slice_extension_error"))
    return Found(not error, f"no ({because(error)})" if error else "offered")


@fact(
    "custom_slice",
    "features",
    "custom time slices",
    how="sched_setattr(2) with sched_runtime, read back; Linux 6.12 and later",
    means="a thread may request shorter or longer slices without privilege",
)
def custom_slice(w: World) -> Found:
    part = w.probe.part("slice")
    if part["error"]:
        return Found(False, f"no ({because(part['error'])})")
    if part.get("got_ns") != part.get("asked_ns"):
        return Found(False, "no: the kernel ignores the requested length")
    return Found(True, f"yes: requested and received {_time(part['asked_ns'])}")


# Permissions.


def _limit(w: World, name: str) -> str:
    for line in w.tree.read_or("/proc/self/limits").splitlines():
        if line.startswith(name):
            return f"; its limit is {line[len(name) :].split()[0]}"
    return ""


def _tried(w: World, part: str, name: str, more: str = "") -> Found:
    error = int(w.probe.get(part, name))
    return Found(not error, (f"no ({because(error)})" if error else "yes") + more)


@fact(
    "guests",
    "features",
    "guest kernels",
    how="the programs that `overlock guest build` needs, and QEMU, below /usr and /bin",
    means="`overlock guest` builds a kernel with the locks and boots it; loads fetch their other "
    "dependencies",
)
def guests(w: World) -> Found:
    from overlock_tools.guest import build, vm

    folders = ("/usr/bin", "/bin", "/usr/sbin", "/usr/local/bin")
    wanted = {**build.TOOLS, vm.QEMU: "qemu-system-x86", "busybox": "busybox-static"}
    lacking = [
        package
        for tool, package in wanted.items()
        if not any(w.tree.exists(f"{folder}/{tool}") for folder in folders)
    ]
    if lacking:
        return Found(lacking, f"not yet: `make guest` installs {', '.join(lacking)}")
    return Found([], "can be built and booted")


@fact(
    "realtime",
    "permissions",
    "real-time priority",
    how=PROBE + "SCHED_FIFO for itself; Max realtime priority in /proc/self/limits",
    means="ordinary threads cannot preempt a real-time holder, which may starve them",
)
def realtime(w: World) -> Found:
    return _tried(w, "priority", "fifo_error", _limit(w, "Max realtime priority"))


@fact(
    "nice",
    "permissions",
    "negative nice",
    how=PROBE + "setpriority() one below its own; Max nice priority in /proc/self/limits",
    means="more CPU time than other threads have, but no end to preemption",
)
def nice(w: World) -> Found:
    return _tried(w, "priority", "nice_error", _limit(w, "Max nice priority"))


CAP_SYS_ADMIN, CAP_BPF = 21, 39


def _capabilities(w: World) -> str:
    text = fields(w.tree.read_or("/proc/self/status")).get("CapEff")
    if not text:
        return ""
    held = [
        name
        for name, bit in (("CAP_BPF", CAP_BPF), ("CAP_SYS_ADMIN", CAP_SYS_ADMIN))
        if int(text, 16) & 1 << bit
    ]
    return "; effective: " + (", ".join(held) or "neither CAP_BPF nor CAP_SYS_ADMIN")


@fact(
    "bpf",
    "permissions",
    "BPF on scheduler events",
    how=PROBE + "bpf(BPF_PROG_LOAD) of an empty program, then closed; "
    "unprivileged_bpf_disabled, CapEff",
    means="`overlock monitord` can tell programs which of their threads are preempted",
)
def bpf(w: World) -> Found:
    setting = w.tree.read_or("/proc/sys/kernel/unprivileged_bpf_disabled")
    more = _capabilities(w) + (f"; unprivileged_bpf_disabled is {setting}" if setting else "")
    return _tried(w, "bpf", "tracing_error", more)


@fact(
    "perf",
    "permissions",
    "perf events of one's own",
    how=PROBE + "perf_event_open(2) of its own context switches; perf_event_paranoid",
    means="`perf` can distinguish spinning from computing",
)
def perf(w: World) -> Found:
    paranoid = w.tree.read_or("/proc/sys/kernel/perf_event_paranoid")
    return _tried(w, "perf", "error", f"; perf_event_paranoid is {paranoid}" if paranoid else "")


@fact(
    "tracefs",
    "permissions",
    "tracefs",
    how="/sys/kernel/tracing or /sys/kernel/debug/tracing can be listed and is not empty",
    means="the scheduler's trace points can be recorded",
)
def tracefs(w: World) -> Found:
    why = Unknown("")
    for folder in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing"):
        try:
            if w.tree.names(folder):
                return Found(True, folder)
            why = Unknown(f"{folder}: not mounted")
        except Unknown as error:
            why = error
    return Found(False, f"no ({why})")


@fact(
    "cgroup",
    "permissions",
    "control groups",
    how="/proc/self/mountinfo and /proc/self/cgroup; whether its own group's folder may be written",
    means="`overlock bench --quota` and a limit on other programs need their own group",
)
def cgroup(w: World) -> Found:
    groups = cgroups.of(w.tree, "self")
    can = w.tree.writable(groups.folders[0])
    value = {"version": groups.version, "can_create": can}
    return Found(value, f"v{groups.version}; {'can' if can else 'cannot'} create one")


# Knowledge.


@fact(
    "knowledge",
    "knowledge",
    "knowledge of preemption",
    how=PROBE + "ol_sources() of the library",
    means="the sources from which a lock can learn about its preemption, best first; "
    "OVERLOCK_KNOWLEDGE names others",
)
def knowledge(w: World) -> Found:
    sources: list[dict[str, Any]] = w.probe.get("sources", "list")
    costs = _looks(w)
    have = [source["name"] for source in sources if source["available"]]
    value = [
        {**source, "name": str(source["name"]), "ns": costs.get(source["name"])}
        for source in sources
    ]
    return Found(value, ", ".join(have) or "none", tuple(map(_source, value)))


def _looks(w: World) -> dict[str, float]:
    """By source, what a look at what it knows costs here; not where a sandbox ended the probe."""
    try:
        looks: list[dict[str, Any]] = w.probe.get("looks", "list")
    except Unknown:
        return {}
    return {str(look["source"]): float(look["ns"]) for look in looks}


def _source(source: dict[str, Any]) -> str:
    state = "used" if source["available"] else "missing" if source["usual"] else "if named"
    ns = source["ns"]
    measured = "" if ns is None else f"; {ns:.1f} ns here"
    return (
        f"{source['name']} ({state}): {source['knows']}. "
        f"It cannot know {source['cannot']}. Cost: {source['cost']}{measured}."
    )


@fact(
    "locks",
    "knowledge",
    "locks that work here",
    how="locks.def; without preemption knowledge or transactions a lock is slower but correct",
    means="FIFO locks that never yield collapse when threads outnumber the CPUs",
)
def locks(_: World) -> Found:
    try:
        known = defs.load().locks.values()
    except Fail as error:
        raise Unknown(error.message) from error
    value = [{"id": lock.id, "collapses": traits.collapses(lock)} for lock in known]
    fragile = [lock.id for lock in known if traits.collapses(lock)]
    return Found(
        value, f"all {len(value)}; {', '.join(fragile)} only with at most one thread per CPU"
    )
