# SPDX-License-Identifier: MIT
"""A measurement of guests as a result like any other: planned, resumed, shown, reported alike."""

import shlex
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from overlock_tools.core.analyze import wording
from overlock_tools.core.model.plan import Plan
from overlock_tools.core.model.quantities import count, factor
from overlock_tools.core.model.results import GUEST, Result
from overlock_tools.core.model.workloads import Workload
from overlock_tools.core.system import machine
from overlock_tools.guest import locks
from overlock_tools.guest.accel import Accel
from overlock_tools.guest.loads import Load
from overlock_tools.guest.placement import Placement

# Sources of knowledge of slices, as the guest's kernel calls them.
HYPERVISORS = ("kvm", "xen")


@dataclass(frozen=True)
class Setting:
    """What all cells of a session have in common."""

    where: Placement
    accel: Accel
    pause: str
    words: str  # on the kernel's command line
    seen: bool  # the guest sees that there is a hypervisor
    built: Mapping[str, Any]
    slice_page: bool = False
    host_slice_ms: float | None = None


def planned(
    load: Load, vms: int, vcpus: Sequence[int], variants: Sequence[str], options: Mapping[str, Any]
) -> Plan:
    return Plan(
        workload=Workload(load.name, load.what),
        variants=list(variants),
        threads=sorted(vcpus),
        baseline=options["baseline"],
        seed=options["seed"],
        rounds=options["rounds"],
        seconds=options["seconds"],
        cell={"vms": vms},
        pilot=options["pilot"],
    )


def vms_of(plan: Plan) -> int:
    return int(plan.cell["vms"])


def new_result(
    plan: Plan, load: Load, parameters: Mapping[str, str], setting: Setting, command: Sequence[str]
) -> Result:
    vms = vms_of(plan)
    guests = "a guest" if vms == 1 else f"{vms} guests"
    pause = "kept" if setting.pause == "as-is" else "replaced by NOP"
    settings = plan.settings(setting.where.cpus)
    settings["build"] = f"{setting.built['kernel']} {setting.built['loads']}"
    settings["plugins"] = {}
    return Result(
        kind=GUEST + load.name,
        title=f"In {guests}, PAUSE {pause}: {load.what}",
        unit=load.unit,
        baseline=plan.baseline,
        command=shlex.join(command),
        settings=settings,
        machine=machine.facts(),
        native=_notes(setting),
        variants=plan.variants,
        threads=plan.threads,
        peers=[v for v in plan.variants if locks.is_native(v)],
        parameters={
            **parameters,
            "guests": vms,
            "pause": setting.pause,
            "accelerator": setting.accel.name,
            "placement": setting.where.words,
            "kernel_words": setting.words,
            "hypervisor_seen": setting.seen,
            **({"slice_page": True} if setting.slice_page else {}),
            **({"host_slice_ms": setting.host_slice_ms} if setting.host_slice_ms else {}),
        },
        statistic=plan.statistic,
        scenario={"settings": {"neighbours": str(vms)}} if vms > 1 else {},
    )


def _notes(setting: Setting) -> dict[str, Any]:
    """Filled in by executor.Rig."""
    return {
        "accelerator": setting.accel.words,
        "in_force": {},
        "boots_failed": 0,
    }


def said(result: Result) -> list[str]:
    """Which locks really ran, and on what."""
    lines = [
        f"{variant} is: {words}."
        for variant, words in result.native.get("in_force", {}).items()
        if locks.is_native(variant)
    ]
    parked = {words for lock, words in result.native.get("in_force", {}).items() if "(" in words}
    if parked:
        ways = sorted({words.rpartition("(")[2].rstrip(")") for words in parked})
        lines.append(f"Parking of waiters: {', '.join(ways)}.")
    lines.append(f"{result.native['accelerator']}; {result.parameters['placement']}.")
    if result.native.get("slices_from") in HYPERVISORS:
        lines.append("The hypervisor publishes slice ends to the guests.")
    if stolen := _stolen(result):
        lines.append(f"Steal time, as a share of the vCPUs' time: {stolen}.")
    slices = result.native.get("slices", {})
    lines += _told_of_slices(slices) + _seen_of_slices(slices)
    for what in ("boot", "load"):
        if failed := result.native.get(f"{what}s_failed"):
            many = f"{what} failed and was" if failed == 1 else f"{what}s failed and were"
            lines.append(f"{failed} {many} repeated.")
    return lines


def _told_of_slices(slices: Mapping[str, Any]) -> list[str]:
    """The error of the slices published to the guests; the worst of the locks."""
    ended = [seen for seen in slices.values() if seen["ended"].get("error_ns", {}).get("count")]
    if not ended:
        return []
    error = max(seen["ended"]["error_ns"]["p50"] for seen in ended)
    worst = max(seen["ended"]["error_ns"]["p99"] for seen in ended)
    told = ended[0]["ended"]
    lines = [
        f"Slices are published {told['publisher']}; errors of the published ends "
        f"({told['end_by']}): {_ms(error)} (median), {_ms(worst)} (p99)."
    ]
    aged = [age for seen in slices.values() if (age := seen.get("looked", {}).get("age_ns"))]
    if aged:
        p50, p99 = (max(age[part] for age in aged) for part in ("p50", "p99"))
        lines.append(f"Age of the slice page when read: {_ms(p50)} (median), {_ms(p99)} (p99).")
    return lines


def _seen_of_slices(slices: Mapping[str, Any]) -> list[str]:
    """The error of the slices published to each lock's guests, as they saw it themselves."""
    lines = []
    for lock, seen in slices.items():
        early, late = (seen.get("looked", {}).get(name) for name in ("early_ns", "late_ns"))
        if not early or not late or not (ends := early["count"] + late["count"]):
            continue
        told = [
            f"{times['count'] / ends:.0%} ended {words} the published end, by {_ms(times['p50'])} "
            f"(median), {_ms(times['p99'])} (p99)"
            for times, words in ((early, "before"), (late, "after"))
            if times["count"]
        ]
        lines.append(f"{lock}: of {ends:,} slices, {', '.join(told)}.")
    return lines


def _ms(ns: float) -> str:
    return f"{ns * 1e-6:.2g} ms"


def _stolen(result: Result) -> str:
    """The median of each variant's cells, as the guests' kernels count it."""
    told = []
    for variant in result.variants:
        shares = [
            cell.steal_seconds / (cell.seconds * cell.threads * max(len(cell.copies), 1))
            for cell in result.cells
            if cell.variant == variant and cell.steal_seconds is not None
        ]
        if shares:
            told.append(f"{variant} {statistics.median(shares):.0%}")
    return ", ".join(told)


def beyond(result: Result) -> list[str]:
    """Who is faster than the baseline in every round, by at least how much: ranges, no averages."""
    lines = []
    for n in result.threads:
        base = result.of(result.baseline, n)
        if not base:
            continue
        bound = max(cell.rate_or_bound for cell in base)
        over = {
            v: min(cell.rate for cell in result.of(v, n)) / bound
            for v in result.variants
            if v != result.baseline and result.of(v, n)
        }
        told = [f"{v} {factor(ratio)}×" for v, ratio in _falling(over) if ratio > 1]
        if told:
            where = f"With {count(n)} at least, least against {result.baseline}'s most"
            where = result.worded(where)
            lines.append(f"{where}: {wording.listed(told)}.")
    return lines


def _falling(table: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(table.items(), key=lambda item: -item[1])
