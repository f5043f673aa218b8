# SPDX-License-Identifier: MIT
"""What is found on recorded machines, and that nothing missing or mad stops it."""

import json
import re
from pathlib import Path

import pytest

from overlock_tools.doctor import GROUPS, Report
from overlock_tools.doctor.fact import FACTS, Known
from overlock_tools.system import cgroups
from overlock_tools.system import machine as here
from overlock_tools.system.kernel_files import Tree
from tests.conftest import TOP
from tests.python.doctor.recorded import NAMES, Machine, machine

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


# Measured before its queue became preemptable; docs/locks/tx.md says so.
OUTDATED = {"tx"}


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
]  # fmt: skip


@pytest.mark.parametrize(("name", "fact", "text"), TEXTS)
def test_texts(name: str, fact: str, text: str, machines: Machines) -> None:
    assert known(machines[name][1])[fact].text == text


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
@pytest.mark.parametrize("name", ["k8s_throttled", "process_starved"])
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
