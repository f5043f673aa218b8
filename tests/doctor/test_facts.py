# SPDX-License-Identifier: MIT
"""What is found on recorded machines, and that nothing missing or mad stops it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from overlock_tools.core.system import cgroups
from overlock_tools.core.system import machine as here
from overlock_tools.core.system.kernel_files import Tree
from overlock_tools.doctor import GROUPS, OF_A_PROCESS, Report
from overlock_tools.doctor.fact import FACTS, Known
from tests.conftest import TOP
from tests.doctor.recorded import NAMES, Machine, machine

Machines = dict[str, tuple[Machine, Report]]


def known(report: Report) -> dict[str, Known]:
    return {one.fact.id: one for one in report.known}


def test_every_fact_says_how_it_is_found_and_what_it_means() -> None:
    assert len({fact.id for fact in FACTS}) == len(FACTS)
    for fact in FACTS:
        assert fact.group in GROUPS
        assert fact.name
        assert fact.how
        assert fact.means


# `tx` was measured before its queue became preemptable (docs/locks/tx.md); the others are newer.
OUTDATED = {"tx", "paced", "rota"}


def test_the_locks_that_collapse_are_those_that_did(machines: Machines) -> None:
    """A collapsed lock lost three orders of magnitude from 2 threads on 2 CPUs to 4."""
    rates = json.loads((TOP / "docs/measured/sections.json").read_text())["rates"]
    said = known(machines["bare"][1])["locks"].value
    assert not next(lock for lock in said if lock["id"] == "tx")["collapses"]
    for lock in said:
        if lock["id"] in OUTDATED:
            continue
        two, four = (rates[lock["id"]][threads]["median"] for threads in ("2", "4"))
        assert lock["collapses"] == (four < two / 1000), lock["id"]


@pytest.mark.parametrize("name", NAMES)
def test_every_fact_is_known_or_says_why_not(name: str, machines: Machines) -> None:
    for one in machines[name][1].known:
        assert one.text
        assert "\n" not in one.text
        assert (one.why_not is None) != (one.text == "unknown"), one.fact.id
        assert one.why_not != "", one.fact.id
        assert "makes no sense" not in (one.why_not or ""), one


TEXTS = [
    ("bare", "topology", "1 socket, 2 cores (2 threads each), 1 last-level cache, 1 NUMA node"),
    ("hybrid", "topology", "1 socket, 4 cores (2 threads on 2 of them), 1 last-level cache, "
     "1 NUMA node"),
    ("bare", "hypervisor", "none: CPUID names none"),
    ("bare", "container", "none: the machine's initial namespaces"),
    ("bare", "scheduler", "EEVDF"),
    ("bare", "kernel", "Linux 6.12.9, PREEMPT_DYNAMIC"),
    ("bare", "runnable", "1.0 on average, 1 at most"),
    ("bare", "busy", "3%"),
    ("bare", "queued", "0.00 on average"),
    ("bare", "pressure", "0% of the time, in the machine"),
    ("bare", "quota", "none"),
    ("bare", "thp", "madvise"),
    ("bare", "rtm", "no"),
    ("bare", "bpf", "no (EPERM, operation not permitted); effective: neither CAP_BPF nor "
     "CAP_SYS_ADMIN; unprivileged_bpf_disabled is 2"),
    ("bare", "realtime", "no (EPERM, operation not permitted); its limit is 0"),
    ("bare", "custom_slice", "yes: requested and received 300.0 µs"),
    ("bare", "wake", "4.0 µs (least 1.5 µs)"),
    ("bare", "knowledge", "rseq"),
    ("bare_rtm_crowded", "scheduler", "CFS"),
    ("bare_rtm_crowded", "custom_slice", "no: the kernel ignores the requested length"),
    ("bare_rtm_crowded", "rtm", "works: a transaction committed"),
    ("bare_bad_clock", "rtm", "disabled by microcode: always aborts"),
    ("bare_bad_clock", "bpf", "no (EPERM, operation not permitted); effective: CAP_BPF; "
     "unprivileged_bpf_disabled is 2"),
    ("bare_bad_clock", "cpus_usable", "1 (CPU 2)"),
    ("bare", "tsc_sync", "yes, on 4 of 4 CPUs"),
    ("hybrid", "tsc_sync", "yes, on 2 of 6 CPUs"),
    ("bare_bad_clock", "tsc_sync", "no: up to 90210 ticks behind"),
    ("aws_kvm", "hypervisor", "KVM (Amazon EC2 m5.xlarge)"),
    ("aws_kvm", "kvm_features", "clock, steal time"),
    ("aws_kvm", "kernel_spinlock", "unfair (the kernel logged: kvm-guest: PV spinlocks disabled, "
     "no host support)"),
    ("aws_kvm_stolen", "kernel_spinlock", "unfair test-and-set: a guest without PV unhalt"),
    ("kvm_dedicated", "kernel_spinlock", "native: the host reports dedicated CPUs"),
    ("kvm_one_vcpu", "kernel_spinlock", "native: there is only one vCPU"),
    ("kvm_clock", "clock", "42 ns"),
    ("aws_kvm_stolen", "stolen", "17.8%"),
    ("kvm_pv_bursts", "kernel_spinlock", "PV (the kernel logged: kvm-guest: PV spinlocks enabled)"),
    ("hyper_v", "hypervisor", "Hyper-V"),
    ("graviton", "hypervisor", "unnamed (Amazon EC2 m7g.large)"),
    ("k8s_throttled", "container", "own namespaces: pid, cgroup, with marks of kubernetes"),
    ("k8s_throttled", "quota", "1.5 CPUs, set on /sys/fs/cgroup"),
    ("k8s_throttled", "throttled", "in 15 of 20 periods"),
    ("k8s_throttled", "throttled_ever", "in 415 of 1020 periods, 53.1 s of CPU time"),
    ("docker_v1_before", "container", "own namespaces: pid, with marks of docker"),
    ("docker_v1_before", "quota", "2 CPUs, set on /sys/fs/cgroup/cpu,cpuacct"),
    ("docker_v1_before", "hidden_limits", "possible: above this container's own group"),
    ("docker_v1_before", "throttled_ever", "in 12 of 5010 periods, 0.9 s of CPU time"),
    ("service_quota_above", "quota", "2 CPUs, set on /sys/fs/cgroup/batch.slice"),
    ("process_starved", "program", "server (process 42)"),
    ("process_starved", "threads", "4"),
    ("process_starved", "wanting", "3.0 on average, 3 at most"),
    ("process_starved", "on_cpu", "1.90"),
    ("process_starved", "waiting", "37% of its runnable time"),
    ("process_starved", "involuntary", "450 a second"),
    ("process_starved", "user_mode", "100%"),
    ("process_starved", "libraries", "overlock run with tas_yield, glibc's mutexes"),
    ("process_starved", "worst_thread", "44: runnable without a CPU for 40% of the time"),
    ("process_some", "asleep_in", "futex_do_wait 67%, ep_poll 33%"),
    ("process_throttled", "quota", "0.5 CPUs, set on /sys/fs/cgroup/small"),
    ("process_throttled", "threads_fit", "1"),
    ("process_starved", "threads_fit", "2"),
    ("process_starved", "openmp", "none"),
    ("process_starved", "own_locks", "none known"),
    ("k8s_throttled", "threads_fit", "1"),
    ("service_quota_above", "threads_fit", "2"),
    ("locked_container", "threads_fit", "4"),
    ("process_openmp_fifo", "libraries", "LLVM's OpenMP, glibc's mutexes"),
    ("process_openmp_fifo", "openmp", "LLVM's OpenMP"),
    ("process_openmp_fifo", "openmp_lock", "queuing, the default (FIFO, waiters spin and yield, "
     "and never sleep)"),
    ("process_openmp_fifo", "openmp_threads", "3, by OMP_NUM_THREADS"),
    ("process_openmp_fifo", "openmp_barriers", "waiters spin for 200 ms, then sleep"),
    ("process_openmp_quota", "openmp", "GNU's OpenMP"),
    ("process_openmp_quota", "openmp_lock", "a mutex (in no order, waiters spin, then sleep)"),
    ("process_openmp_quota", "openmp_threads", "4, one for each CPU that it may use"),
    ("process_openmp_quota", "openmp_barriers", "waiters spin for some ms, then sleep"),
    ("process_openmp_mixed", "openmp", "Intel's OpenMP and GNU's OpenMP"),
    ("process_openmp_mixed", "openmp_barriers", "Intel's OpenMP: waiters spin for 200 ms, then "
     "sleep; GNU's OpenMP: waiters spin briefly, then sleep, for threads outnumber the CPUs"),
    ("process_dpdk", "own_locks", "DPDK: ticket and MCS locks are FIFO, rte_spinlock_t has no "
     "order; waiters spin"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "fact", "text"), TEXTS)
def test_texts(name: str, fact: str, text: str, machines: Machines) -> None:
    assert known(machines[name][1])[fact].text == text


LLVM, GNU, RUN = "libomp.so.5", "libgomp.so.1.0.0", "liboverlock-run.so"
SETTINGS: list[tuple[list[str], str, str, Any]] = [
    # libraries, environment, fact, value
    ([LLVM], "", "openmp_lock", {"fifo": True}),
    ([LLVM], "KMP_LOCK_KIND=", "openmp_lock", {"fifo": True}),
    ([LLVM], "KMP_LOCK_KIND=queue", "openmp_lock", {"fifo": True}),
    ([LLVM], "KMP_LOCK_KIND=ticket", "openmp_lock", {"fifo": True}),
    ([LLVM], "KMP_LOCK_KIND=drdpa_ticket", "openmp_lock", {"fifo": True}),
    ([LLVM], "KMP_LOCK_KIND=D", "openmp_lock", {"fifo": True}),
    ([LLVM], "KMP_LOCK_KIND=tas", "openmp_lock", {"fifo": False}),
    ([LLVM], "KMP_LOCK_KIND=Test-And_Set", "openmp_lock", {"fifo": False}),
    ([LLVM], "KMP_LOCK_KIND=f", "openmp_lock", {"fifo": False}),
    ([LLVM], "KMP_LOCK_KIND=t", "openmp_lock", {"fifo": True}),  # too short: the default
    ([LLVM], "KMP_LOCK_KIND=mcs", "openmp_lock", {"fifo": True}),  # unknown: the default
    # Its CPU has no transactions.
    ([LLVM], "KMP_LOCK_KIND=adaptive", "openmp_lock", {"fifo": True}),
    ([LLVM], "KMP_LOCK_KIND=rtm_spin", "openmp_lock", {"fifo": True}),
    ([LLVM], "KMP_LOCK_KIND=hle", "openmp_lock", {"fifo": False}),
    ([LLVM], "XKMP_LOCK_KIND=tas", "openmp_lock", {"fifo": True}),
    (["libiomp5.so"], "", "openmp_lock", {"fifo": True}),
    ([GNU], "KMP_LOCK_KIND=ticket", "openmp_lock", {"fifo": False}),
    ([GNU, LLVM], "", "openmp_lock", {"fifo": True}),
    ([GNU, LLVM], "KMP_LOCK_KIND=tas", "openmp_lock", {"fifo": False}),
    (["libompd.so", "libomptarget.so.14"], "", "openmp_lock", None),
    ([LLVM, RUN], "OVERLOCK_LOCK=tas_yield", "openmp_lock", {"fifo": False}),
    ([LLVM, RUN], "OVERLOCK_LOCK=ticket", "openmp_lock", {"fifo": True}),
    (
        [LLVM, RUN],
        "OVERLOCK_LOCK=ticket\0OVERLOCK_OPENMP_LOCK=paced",
        "openmp_lock",
        {"fifo": False},
    ),
    ([LLVM, RUN], "OVERLOCK_LOCK=ticket\0OVERLOCK_OPENMP=auto", "openmp_lock", {"fifo": True}),
    ([LLVM, RUN], "OVERLOCK_LOCK=tas_yield\0OVERLOCK_OPENMP=none", "openmp_lock", {"fifo": True}),
    ([LLVM, RUN], "OVERLOCK_LOCK=pthread_adaptive", "openmp_lock", {"fifo": True}),
    ([LLVM, RUN], "OVERLOCK_LOCK=tas\0KMP_CONSISTENCY_CHECK=none", "openmp_lock", {"fifo": False}),
    ([LLVM, RUN], "OVERLOCK_LOCK=tas\0KMP_CONSISTENCY_CHECK=all", "openmp_lock", {"fifo": True}),
    ([GNU, RUN], "OVERLOCK_LOCK=ticket", "openmp_lock", {"fifo": False}),
    ([GNU, RUN], "OVERLOCK_LOCK=ticket\0OVERLOCK_OPENMP=all", "openmp_lock", {"fifo": True}),
    ([LLVM], "OVERLOCK_LOCK=tas_yield", "openmp_lock", {"fifo": True}),
    ([LLVM], "OMP_WAIT_POLICY=active", "openmp_barriers", {"spin": True}),
    ([LLVM], "OMP_WAIT_POLICY=PASSIVE", "openmp_barriers", {"spin": False}),
    ([LLVM], "KMP_BLOCKTIME=0", "openmp_barriers", {"spin": False}),
    ([LLVM], "KMP_BLOCKTIME=0us", "openmp_barriers", {"spin": False}),
    ([LLVM], "KMP_BLOCKTIME=05", "openmp_barriers", {"spin": True}),
    ([LLVM], "KMP_BLOCKTIME=infinite", "openmp_barriers", {"spin": True}),
    ([LLVM], "KMP_BLOCKTIME=200\0OMP_WAIT_POLICY=passive", "openmp_barriers", {"spin": True}),
    ([LLVM], "GOMP_SPINCOUNT=0", "openmp_barriers", {"spin": True}),
    ([GNU], "", "openmp_barriers", {"spin": True}),
    ([GNU], "GOMP_SPINCOUNT=0", "openmp_barriers", {"spin": False}),
    ([GNU], "KMP_BLOCKTIME=0", "openmp_barriers", {"spin": True}),
    ([GNU], "OMP_WAIT_POLICY=passive", "openmp_barriers", {"spin": False}),
    ([GNU], "OMP_WAIT_POLICY=active", "openmp_barriers", {"spin": True}),
    ([GNU], "OMP_WAIT_POLICY=active\0OMP_NUM_THREADS=3", "openmp_barriers", {"spin": False}),
    ([GNU], "OMP_NUM_THREADS=2", "openmp_barriers", {"spin": True}),
    ([LLVM], "OMP_NUM_THREADS= 4,2", "openmp_threads", 4),
    ([LLVM], "OMP_NUM_THREADS=many", "openmp_threads", 2),
    ([GNU], "", "openmp_threads", 2),
    (["libompd.so"], "OMP_NUM_THREADS=4", "openmp_threads", None),
]


@pytest.mark.parametrize(("mapped", "environ", "fact", "value"), SETTINGS)
def test_openmp(mapped: list[str], environ: str, fact: str, value: Any, tmp_path: Path) -> None:
    recorded = machine("process_starved", tmp_path)
    lines = [f"7f0000000000-7f0000001000 r-xp 00000000 08:01 1 /usr/lib/{name}" for name in mapped]
    recorded.write("proc/42/maps", "\n".join(lines))
    recorded.write("proc/42/environ", f"LANG=C\0{environ}\0HOME=/")
    assert known(recorded.report())[fact].value == value


def test_a_policy_is_named(tmp_path: Path) -> None:
    recorded = machine("process_openmp_fifo", tmp_path)
    recorded.write("proc/42/environ", "OMP_WAIT_POLICY=active")
    text = known(recorded.report())["openmp_barriers"].text
    assert text == "OMP_WAIT_POLICY=active: waiters spin"


def test_facts_of_a_process_are_only_of_one(machines: Machines) -> None:
    for of_one, name in ((False, "bare"), (True, "process_fits")):
        groups = {one.fact.group for one in machines[name][1].known}
        assert groups >= set(OF_A_PROCESS) if of_one else not groups & set(OF_A_PROCESS)


def test_threads_that_are_bound_have_their_cpus_counted_together(tmp_path: Path) -> None:
    """OMP_PROC_BIND binds the first thread to the first CPU."""
    recorded = machine("process_fits", tmp_path)
    recorded.write("proc/42/status", "Cpus_allowed_list:\t0")
    for cpu, tid in enumerate((42, 43, 44)):
        recorded.write(f"later/proc/42/task/{tid}/status", f"Cpus_allowed_list:\t{cpu}")
    assert known(recorded.report())["cpus_usable"].text == "3 (its threads together)"


def test_no_setting_reaches_the_terminal(tmp_path: Path) -> None:
    recorded = machine("process_openmp_fifo", tmp_path)
    recorded.write("proc/42/environ", "KMP_BLOCKTIME=\033[2J1\n2")
    assert known(recorded.report())["openmp_barriers"].text == "KMP_BLOCKTIME=\ufffd[2J1 2"


VIRTUAL = [
    ("bare", "", "", False),
    ("aws_kvm", "Amazon EC2", "m5.xlarge", True),
    ("arm_bare", "GIGABYTE", "R152-P30-00", None),
    ("arm_bare", "Amazon EC2", "m7g.large", True),
    ("arm_bare", "Amazon EC2", "m7g.metal", None),
    ("arm_bare", "QEMU", "QEMU Virtual Machine", True),
    ("arm_bare", "Google", "Google Compute Engine", True),
    ("arm_bare", "Microsoft Corporation", "Virtual Machine", True),
    ("arm_bare", "Microsoft Corporation", "Surface Pro X", None),
]


@pytest.mark.parametrize(("name", "vendor", "product", "virtual"), VIRTUAL)
def test_virtual(
    name: str, vendor: str, product: str, virtual: bool | None, tmp_path: Path
) -> None:
    recorded = machine(name, tmp_path)
    recorded.write("sys/class/dmi/id/sys_vendor", vendor)
    recorded.write("sys/class/dmi/id/product_name", product)
    assert here.virtual(Tree(recorded.folder)) is virtual


@pytest.mark.parametrize("name", ["sys/hypervisor/type", "proc/device-tree/hypervisor/compatible"])
def test_virtual_by_a_file_that_says_what_it_is(name: str, tmp_path: Path) -> None:
    recorded = machine("arm_bare", tmp_path)
    recorded.write(name, "")
    assert here.virtual(Tree(recorded.folder)) is None
    recorded.write(name, "xen")
    assert here.virtual(Tree(recorded.folder)) is True


GROUPS_SEEN = [
    ("bare", 2, ["user.slice/session-1.scope", "user.slice", ""]),
    ("k8s_throttled", 2, [""]),
    ("docker_v1_before", 1, ["cpu,cpuacct"]),
]


@pytest.mark.parametrize(("name", "version", "folders"), GROUPS_SEEN)
def test_groups(name: str, version: int, folders: list[str], machines: Machines) -> None:
    groups = cgroups.of(Tree(machines[name][0].folder), "self")
    assert groups.version == version
    assert groups.folders == [f"/sys/fs/cgroup/{f}".rstrip("/") for f in folders]


# A process in another container: what is mounted here and there, and its group. With namespaces of
# control groups, all three are told from ours.
ELSEWHERE = {
    "version 1": ("/pods/a /sys/fs/cgroup/cpu rw - cgroup none rw,cpu", "1:cpu:", "/pods/b"),
    "version 2": ("/ /sys/fs/cgroup rw - cgroup2 none rw", "0::", "/../b"),
}


@pytest.mark.parametrize("inner", ["", "/inner"])
@pytest.mark.parametrize("kind", ELSEWHERE)
def test_groups_of_another_container(kind: str, inner: str, tmp_path: Path) -> None:
    mounted, number, group = ELSEWHERE[kind]
    (root, point), line = mounted.split()[:2], f"30 1 0:26 {mounted}\n"
    for folder in ("proc/self", "proc/7", f"proc/7/root{point}{inner}", f".{point}"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    (tmp_path / "proc/self/mountinfo").write_text(line)
    (tmp_path / "proc/7/cgroup").write_text(f"{number}{group}{inner}\n")
    assert cgroups.of(Tree(tmp_path), "7").folders == [point], "what is mounted here"
    (tmp_path / "proc/7/mountinfo").write_text(line.replace(f" {root} ", f" {group} "))
    there = f"/proc/7/root{point}"
    assert cgroups.of(Tree(tmp_path), "7").folders == [f"{there}{inner}", there][not inner :]


UNKNOWN = [
    ("bare", "kvm_features", "no hypervisor"),
    ("aws_kvm", "governor", r"/sys/.*/scaling_governor: No such file"),
    ("aws_kvm", "spin_exits", "invisible to guests"),
    ("arm_bare", "hypervisor", "this architecture has no CPUID"),
    ("hyper_v", "steal_reported", "none so far; the hypervisor may not report it"),
    ("hyper_v", "kernel_spinlock", "not available on this architecture"),
    ("locked_container", "quota", r"/proc/self/mountinfo: No such file"),
    ("locked_container", "pause", "overlock-probe was killed by SIGSYS"),
    ("locked_container", "thp", r"/sys/kernel/mm/.*: No such file"),
    ("process_no_schedstat", "waiting", "keeps no run delays"),
    ("process_hidden", "waiting", r"/proc/42/task: No such file"),
    ("process_idle", "user_mode", "hardly ran"),
]


@pytest.mark.parametrize(("name", "fact", "why"), UNKNOWN)
def test_reasons(name: str, fact: str, why: str, machines: Machines) -> None:
    assert re.search(why, known(machines[name][1])[fact].why_not or "known")


def damage(recorded: Machine, text: str | None) -> list[Path]:
    """The machine with each file in turn missing, or with other text in it."""
    files = [path for path in recorded.folder.rglob("*") if path.is_file()]
    for path in files:
        was = path.read_bytes()
        if text is None:
            path.unlink()
        else:
            path.write_text(text)
        recorded.report(seconds=0.1)
        path.write_bytes(was)
    return files


@pytest.mark.parametrize("text", [None, "", "\0\n: - \n", "0 0 0\n" * 3], ids=repr)
@pytest.mark.parametrize("name", ["k8s_throttled", "process_starved", "process_openmp_mixed"])
def test_no_file_stops_it(name: str, text: str | None, tmp_path: Path) -> None:
    assert len(damage(machine(name, tmp_path), text)) > 40


def test_nothing_at_all_is_a_report(tmp_path: Path) -> None:
    empty = Machine(tmp_path)
    report = empty.report()
    assert [finding.rule.id for finding in report.findings] == [
        "quota_unseen",
        "load_unseen",
        "slice_unseen",
    ]
    assert known(report)["container"].why_not


def test_a_process_that_ends_meanwhile(tmp_path: Path) -> None:
    recorded = machine("process_starved", tmp_path)
    report = recorded.report(meanwhile=lambda: recorded.without("proc/42"))
    assert "/proc/42/task: No such file" in (known(report)["waiting"].why_not or "")
    assert report.findings[0].rule.id == "unseen"
