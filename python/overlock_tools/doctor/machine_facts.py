# SPDX-License-Identifier: MIT
"""What this machine is: processor, topology, container."""

import re

from overlock_tools.core.system import machine
from overlock_tools.core.system.kernel_files import Tree, Unknown, cpu_list
from overlock_tools.doctor.fact import Found, World, fact

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
