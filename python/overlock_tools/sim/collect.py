# SPDX-License-Identifier: MIT
"""Results of simulations, in the format of measurements: a lock, a number of contexts, a seed."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Required, TypedDict

from overlock_tools.core.model import histograms
from overlock_tools.core.model.measures import Cell
from overlock_tools.core.model.results import SIMULATED, SIMULATED_GUEST, GivenUp, Result
from overlock_tools.core.system import reading
from overlock_tools.sim import lists, mixes, schema
from overlock_tools.sim.machines import Machine
from overlock_tools.sim.resolve import Place, Run, cpus, told

# What overlock-sim answers: sim/results.cpp. It has other keys, too.


class Context(TypedDict):
    turns: int
    ran_ns: float
    spun_ns: float
    holder_preempted: int
    waiter_preempted: int
    preempted_holding: int
    preempted_waiting: int
    parks: int
    kicks: int


class Lengths(TypedDict):
    number: int
    total_ns: float
    longest_ns: float
    counts: list[list[float]]


class Contended(TypedDict):
    held_running_ns: float
    held_off_cpu_ns: float
    free_ns: float


class Extra(TypedDict, total=False):
    handovers: Lengths
    halts: int


class Guest(Extra):
    name: str
    contexts: list[Context]
    waits: Lengths
    holds: Lengths
    contended: list[Contended]
    throttled_ns: float
    events: dict[str, int]


class Answer(TypedDict, total=False):
    time_ns: Required[float]
    guests: Required[list[Guest]]
    transfers: Required[int]
    invalidations: Required[int]
    stores_to_shared: Required[int]
    steps: Required[int]
    failure: Required[str]


DEADLOCK = "nothing can go on"  # so begins the failure of a run that stands still


def add(result: Result, run: Run, raw: Mapping[str, Any]) -> None:
    """One run's answer, or why there is none."""
    variant, threads = run.variant, run.place.threads
    if "error" in raw:
        result.impossible.append(GivenUp(variant, threads, f"seed {run.seed}: {raw['error']}"))
        return
    try:
        answer: Answer = reading.checked(Answer, dict(raw), "overlock-sim's answer")
    except ValueError as error:
        result.impossible.append(GivenUp(variant, threads, f"seed {run.seed}: {error}"))
        return
    if answer["failure"].startswith(DEADLOCK):
        why = f"deadlocks with seed {run.seed}: {answer['failure']}"
        result.hung.append(GivenUp(variant, threads, why))
        return
    result.cells.append(_cell(run, answer))


def _cell(run: Run, answer: Answer) -> Cell:
    guests = _measured(run, answer)
    contexts = [context for guest in guests for context in guest["contexts"]]
    turns = [sum(context["turns"] for context in guest["contexts"]) for guest in guests]
    ran = _seconds(context["ran_ns"] for context in contexts)
    spun = _seconds(context["spun_ns"] for context in contexts)
    return Cell(
        round=run.place.scenario.seeds.index(run.seed) + 1,
        variant=run.variant,
        threads=run.place.threads,
        work=sum(turns),
        seconds=answer["time_ns"] * 1e-9,
        cpu_seconds=ran,
        per_thread=[context["turns"] for context in contexts],
        copies=turns if len(turns) > 1 else [],
        wrong=f"{answer['failure']} (seed {run.seed})" if answer["failure"] else "",
        work_seconds=ran - spun,
        latency=_histogram([guest["waits"] for guest in guests]),
        hold=_histogram([guest["holds"] for guest in guests]),
        handover=_histogram([guest["handovers"] for guest in guests if "handovers" in guest]),
        events=_events(guests),
        simulated=_exact(run, answer, guests),
    )


def _measured(run: Run, answer: Answer) -> list[Guest]:
    """Those of the guests whose locks are compared; each may have copies."""
    places, said = run.place.scenario.measured, run.place.scenario.values["guest"]
    found, next_one = [], 0
    for i, guest in enumerate(said):
        copies = answer["guests"][next_one : next_one + guest.get("count", 1)]
        next_one += len(copies)
        found += copies if i in places else []
    return found


def _seconds(ns: Iterable[float]) -> float:
    return sum(ns, 0.0) * 1e-9


def _events(guests: Sequence[Guest]) -> dict[str, int]:
    """By the names of events.def; LHP and LWP as Teabe et al. 2017 define them, exactly."""
    found: dict[str, int] = {}
    for guest in guests:
        for name, count in guest["events"].items():
            found[name] = found.get(name, 0) + count
    contexts = [context for guest in guests for context in guest["contexts"]]
    found["ACQUIRE"] = sum(guest["waits"]["number"] for guest in guests)
    found["LHP"] = sum(context["holder_preempted"] for context in contexts)
    found["LWP"] = sum(context["waiter_preempted"] for context in contexts)
    return found


def _exact(run: Run, answer: Answer, guests: Sequence[Guest]) -> dict[str, float]:
    contexts = [context for guest in guests for context in guest["contexts"]]
    contended = [lock for guest in guests for lock in guest["contended"]]
    scenario = run.place.scenario
    kinds = {scenario.values["guest"][i].get("kind") for i in scenario.measured}
    hypercalls = sum(context["parks"] + context["kicks"] for context in contexts)
    return {
        "holders_preempted": sum(context["preempted_holding"] for context in contexts),
        "waiters_preempted": sum(context["preempted_waiting"] for context in contexts),
        "held_running": _seconds(lock["held_running_ns"] for lock in contended),
        "held_off_cpu": _seconds(lock["held_off_cpu_ns"] for lock in contended),
        "free": _seconds(lock["free_ns"] for lock in contended),
        "throttled": _seconds(guest["throttled_ns"] for guest in guests),
        **({"hypercalls": hypercalls} if "kernel" in kinds else {}),
        "transfers": answer["transfers"],
        "invalidations": answer["invalidations"],
        "stores_to_shared": answer["stores_to_shared"],
        "steps": answer["steps"],
    }


def _histogram(lengths: Sequence[Lengths]) -> str:
    """Each bucket at its middle, and the longest as it was."""
    pairs = [(_middle(least), count) for each in lengths for least, count in each["counts"]]
    longest = max((each["longest_ns"] for each in lengths), default=0)
    pairs = [(min(ns, longest), count) for ns, count in pairs]
    if pairs:
        pairs.append((longest, 1))
    return histograms.packed([ns for ns, _ in pairs], [count for _, count in pairs])


def _middle(least: float) -> float:
    """Eight buckets for each doubling, from 8 ns; one below."""
    width = float(1 << (int(least).bit_length() - 1))
    return least + (width / 8 if least >= 8 else width) / 2


def complete(result: Result) -> None:
    """Once all runs are in: in their order, and every cell has the same events."""
    order = {variant: i for i, variant in enumerate(result.variants)}
    result.cells.sort(key=lambda cell: (cell.round, cell.threads, order[cell.variant]))
    for listed in (result.hung, result.impossible):
        listed.sort(key=lambda one: (one.threads, order[one.variant], one.why))
    names = sorted({name for cell in result.cells for name in cell.events})
    for cell in result.cells:
        cell.events = {name: cell.events.get(name, 0) for name in names}


def new_result(group: Sequence[Place], build: str, command: str) -> Result:
    """Of places that differ only in the number of contexts."""
    first = group[0]
    scenario, values = first.scenario, first.scenario.values
    guest = values["guest"][scenario.measured[0]]
    workload = lists.load().workloads[guest.get("workload", schema.FIRST_WORKLOAD)]
    kind = SIMULATED_GUEST if guest.get("kind") == "kernel" else SIMULATED
    example = told(first, first.variants[0], scenario.seeds[0])
    point = {path: value for path, value in first.point.items() if path != scenario.contexts_path}
    said = ", ".join(f"{path} = {value}" for path, value in point.items())
    return Result(
        kind=kind + re.sub(r"[^\w.-]", "_", scenario.name),
        title=scenario.title + (f": {said}" if said else ""),
        unit=mixes.unit(scenario, scenario.measured[0]) or workload.unit,
        baseline=_baseline(scenario.values.get("baseline"), first.variants),
        command=command,
        settings={
            "cpus": first.machine.cpus,
            "rounds": len(scenario.seeds),
            "seconds": example["time_us"] * 1e-6,
            "seed": scenario.seeds[0],
            "latency": True,
            "counters": False,
            "build": build,
        },
        machine=_facts(first, example),
        native={},
        variants=first.variants,
        threads=sorted({place.threads for place in group}),
        parameters={
            p.name: guest.get("parameters", {}).get(lists.key(p), p.preset)
            for p in workload.parameters
        },
        scenario={
            "settings": _around(values, first.machine),
            "simulation": {"scenario": values, "sweep": point, "costs": _costs(first)},
        },
    )


def _baseline(asked: str | None, variants: Sequence[str]) -> str:
    usual = "ticket" if "ticket" in variants else variants[0]
    return asked if asked and asked in variants else usual


def _facts(place: Place, example: Mapping[str, Any]) -> dict[str, Any]:
    machine, host = place.machine, example["host"]
    settings = ", ".join(f"{name} {value:g}" for name, value in host["settings"].items())
    features = "".join(f" with {name}" for name in host["features"])
    return {
        "simulated": f"{machine.cpus} CPUs, {machine.title}, "
        f"scheduler {host['scheduler']}{features}",
        "cpus": machine.cpus,
        "threads_per_core": machine.threads_per_core,
        "cores_per_socket": machine.cores_per_socket,
        "smt_percent": machine.smt_percent,
        "scheduler": f"{host['scheduler']} ({settings}){features}",
        "seeds": place.scenario.seeds,
        "warm_up_ms": example["warm_up_us"] / 1000,
    }


def _costs(place: Place) -> dict[str, Any]:
    return {
        name: {"ns": cost.ns, "source": cost.source} for name, cost in place.machine.costs.items()
    }


def _around(values: Mapping[str, Any], machine: Machine) -> dict[str, Any]:
    """As the scenarios of `overlock bench` name it: what each copy may count on."""
    measured = [g for g in values["guest"] if g.get("workload") != "burn"]
    copies = sum(guest.get("count", 1) for guest in measured)
    quota = measured[0].get("quota_cpus")
    return {
        **({"quota": f"{cpus(quota, machine):g}"} if quota else {}),
        **({"neighbours": copies} if copies > 1 else {}),
    }
