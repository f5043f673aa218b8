# SPDX-License-Identifier: MIT
"""Overcommit as it was seen in the interval: who wanted CPUs, and who took them away."""

import re
from contextlib import suppress
from math import inf

from overlock_tools.core.system import cgroups
from overlock_tools.core.system.kernel_files import Unknown, cpu_list, fields
from overlock_tools.doctor.fact import Found, World, fact
from overlock_tools.doctor.machine_facts import FIRST_NAMESPACES


def _allowed(w: World, folder: str) -> str:
    try:
        return fields(w.tree.read(f"{folder}/status"))["Cpus_allowed_list"]
    except KeyError:
        raise Unknown(f"{folder}/status has no Cpus_allowed_list") from None


def _allowed_elsewhere(w: World) -> set[int]:
    """To its other threads: OMP_PROC_BIND and the like bind each to a CPU of its own."""
    found: set[int] = set()
    with suppress(Unknown):
        for tid in w.tree.names(f"/proc/{w.who}/task"):
            with suppress(Unknown):
                found.update(cpu_list(_allowed(w, f"/proc/{w.who}/task/{tid}")))
    return found


@fact(
    "cpus_usable",
    "overcommit",
    "CPUs it may use",
    how="Cpus_allowed_list in /proc/PID/status and of its threads: affinity and cpuset together",
    means="threads beyond this number wait, even if other CPUs are idle",
)
def cpus_usable(w: World) -> Found:
    text = _allowed(w, f"/proc/{w.who}")
    cpus = set(cpu_list(text))
    if more := _allowed_elsewhere(w) - cpus:
        return Found(len(cpus | more), f"{len(cpus | more)} (its threads together)")
    return Found(len(cpus), f"{len(cpus)} (CPU{'s' if len(cpus) > 1 else ''} {text})")


@fact(
    "quota",
    "overcommit",
    "CPU quota",
    how="cpu.max (cgroup v2) or cpu.cfs_quota_us (v1) of its group and all visible groups above",
    means="when it is exhausted, all threads, lock holders included, stop until the period ends",
)
def quota(w: World) -> Found:
    found = cgroups.quota(w.tree, cgroups.of(w.tree, w.who))
    if found is None:
        return Found(None, "none")
    unit = "CPU" if found.cpus == 1 else "CPUs"
    return Found(found.cpus, f"{found.cpus:g} {unit}, set on {found.folder}")


@fact(
    "threads_fit",
    "overcommit",
    "threads that fit",
    how="the CPUs that it may use, or the whole CPUs of its quota, if those are fewer",
    means="with more threads that want to run, some wait for a CPU, or for the quota's next period",
)
def threads_fit(w: World) -> Found:
    limit = inf
    with suppress(Unknown):
        limit = quota(w).value or inf
    n = max(1, int(min(cpus_usable(w).value, limit)))
    return Found(n, f"{n}")


@fact(
    "hidden_limits",
    "overcommit",
    "hidden limits",
    how="the number of the cgroup namespace, else the topmost mounted group",
    means="an engine may have set a quota on a group above the container's own",
)
def hidden_limits(w: World) -> Found:
    first = f"cgroup:[{FIRST_NAMESPACES['cgroup']}]"
    hidden = w.tree.link("/proc/self/ns/cgroup") != first or any(
        root != "/" for _, root, _ in cgroups.mounts(w.tree)
    )
    return Found(hidden, "possible: above this container's own group" if hidden else "none")


def _stopped(w: World) -> tuple[cgroups.Throttling, cgroups.Throttling, str]:
    """Of the group and those above, the one that was stopped most: in the interval, in all."""
    found = []
    for folder in cgroups.of(w.tree, w.who).folders:
        try:
            texts = w.watch.pair(f"{folder}/cpu.stat")
            then, now = map(cgroups.throttling, texts)
        except Unknown:
            continue
        lately = cgroups.Throttling(
            now.periods - then.periods,
            now.throttled - then.throttled,
            now.seconds - then.seconds,
        )
        found.append((lately, now, folder))
    if not found:
        raise Unknown("no cpu.stat with nr_throttled in its group or above")
    return max(found, key=lambda group: (group[0].throttled, group[1].throttled))


@fact(
    "throttled",
    "overcommit",
    "stopped by the quota now",
    how="nr_throttled and nr_periods of cpu.stat, over the interval",
    means="the share of periods in which the group exhausted its quota and stopped",
)
def throttled(w: World) -> Found:
    lately, _, _ = _stopped(w)
    if not lately.throttled:
        return Found(0.0, "no")
    share = min(1.0, lately.throttled / max(lately.periods, lately.throttled))
    return Found(share, f"in {lately.throttled} of {max(lately.periods, lately.throttled)} periods")


@fact(
    "throttled_ever",
    "overcommit",
    "stopped by the quota so far",
    how="nr_throttled and throttled_usec (v1: throttled_time) of cpu.stat",
    means="since the group's creation, over all its CPUs; perhaps not now",
)
def throttled_ever(w: World) -> Found:
    _, ever, _ = _stopped(w)
    periods = max(ever.periods, ever.throttled)
    share = ever.throttled / periods if periods else 0.0
    value = {"periods": ever.throttled, "share": share, "seconds": ever.seconds}
    if not ever.throttled:
        return Found(value, "never")
    return Found(
        value, f"in {ever.throttled} of {periods} periods, {ever.seconds:.1f} s of CPU time"
    )


def _machine_ticks(w: World) -> list[int]:
    """user, nice, system, idle, iowait, irq, softirq, steal, over the interval."""
    then, now = (
        [int(word) for word in text.splitlines()[0].split()[1:9]]
        for text in w.watch.pair("/proc/stat")
    )
    ticks = [max(0, b - a) for a, b in zip(then, now, strict=True)]
    if not sum(ticks):
        raise Unknown("/proc/stat did not change in the interval")
    return ticks


@fact(
    "busy",
    "overcommit",
    "CPUs busy",
    how="/proc/stat over the interval, for the whole machine",
    means="with idle CPUs, no thread waits for long unless affinity or a quota keeps it from them",
)
def busy(w: World) -> Found:
    ticks = _machine_ticks(w)
    share = 1 - (ticks[3] + ticks[4]) / sum(ticks)
    return Found(share, f"{share:.0%}")


@fact(
    "stolen",
    "overcommit",
    "stolen by the hypervisor",
    how="steal in /proc/stat over the interval",
    means="the host preempted runnable vCPUs, perhaps lock holders; the guest cannot see which",
)
def stolen(w: World) -> Found:
    ticks = _machine_ticks(w)
    share = ticks[7] / sum(ticks)
    return Found(share, f"{share:.1%}")


@fact(
    "runnable",
    "overcommit",
    "runnable threads",
    how="fourth word of /proc/loadavg, sampled 20 times a second, without this command",
    means="if there are more than CPUs, the scheduler preempts some of them",
)
def runnable(w: World) -> Found:
    samples = w.watch.runnable
    if not samples:
        raise Unknown("/proc/loadavg cannot be read")
    mean = sum(samples) / len(samples)
    return Found(mean, f"{mean:.1f} on average, {max(samples)} at most")


@fact(
    "queued",
    "overcommit",
    "threads that wait for a CPU",
    how="run delay in /proc/schedstat over the interval",
    means="average number of runnable threads without a CPU",
)
def queued(w: World) -> Found:
    delays = [
        sum(int(words.split()[7]) for words in re.findall(r"^cpu\d+ (.*)$", text, re.MULTILINE))
        for text in w.watch.pair("/proc/schedstat")
    ]
    mean = max(0, delays[1] - delays[0]) / 1e9 / w.watch.seconds
    return Found(mean, f"{mean:.2f} on average")


def _pressure_file(w: World) -> str:
    """Its group's where there is one; the machine's else."""
    try:
        own = f"{cgroups.of(w.tree, w.who).folders[0]}/cpu.pressure"
    except Unknown:
        own = ""
    return own if own in w.watch.after else "/proc/pressure/cpu"


@fact(
    "pressure",
    "overcommit",
    "pressure on CPUs (PSI)",
    how="`some` in cpu.pressure of its group, else in /proc/pressure/cpu, over the interval",
    means="the share of time in which at least one thread waited for a CPU",
)
def pressure(w: World) -> Found:
    name = _pressure_file(w)
    totals = [
        int(re.findall(r"^some .*total=(\d+)", text, re.MULTILINE)[0])
        for text in w.watch.pair(name)
    ]
    share = min(1.0, max(0, totals[1] - totals[0]) / 1e6 / w.watch.seconds)
    whose = "the machine" if name.startswith("/proc") else "its group"
    return Found(share, f"{share:.0%} of the time, in {whose}")
