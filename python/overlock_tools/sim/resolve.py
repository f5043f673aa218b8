# SPDX-License-Identifier: MIT
"""From a scenario to runs: every value is filled in, and overlock-sim is told nothing else."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from overlock_tools.core.model import defs
from overlock_tools.core.model.workloads import Workload, number
from overlock_tools.sim import lists, machines, mixes, schema
from overlock_tools.sim.machines import Machine
from overlock_tools.sim.scenario import EACH, MIX, NONE, Point, Scenario, lock_of

TIME_MS, WARM_UP_MS = 1000.0, 100.0
PERIOD_MS = 100.0  # Linux's, of cpu.max
WEIGHT = 1024


@dataclass(frozen=True)
class Place:
    """One point of the grid: what all its runs share."""

    scenario: Scenario  # at that point
    point: Point
    machine: Machine

    @property
    def threads(self) -> int:
        """Contexts of the guests whose locks are compared."""
        first = self.scenario.values["guest"][self.scenario.measured[0]]
        return contexts(first.get("contexts", 1), self.machine)

    @property
    def variants(self) -> list[str]:
        if self.scenario.compares:
            return self.scenario.locks
        return [lock_of(self.scenario.values["guest"][self.scenario.measured[0]])]


@dataclass(frozen=True)
class Run:
    place: Place
    variant: str
    seed: int

    @property
    def told(self) -> str:
        """The same text whenever it is asked: results are kept by it."""
        return json.dumps(told(self.place, self.variant, self.seed), sort_keys=True)


def places(scenario: Scenario) -> list[Place]:
    found = []
    for point in scenario.points:
        at = scenario.at(point)
        place = Place(at, point, machines.of(at))
        _check_pins(place)
        mixes.check(at)
        found.append(place)
    return found


def runs(place: Place) -> Iterator[Run]:
    for seed in place.scenario.seeds:
        for variant in place.variants:
            yield Run(place, variant, seed)


def contexts(said: int | str, machine: Machine) -> int:
    return max(1, round(cpus(said, machine)))


def cpus(said: float | str, machine: Machine) -> float:
    """A number, or a multiple of the CPUs."""
    return float(said.removesuffix("x")) * machine.cpus if isinstance(said, str) else said


def _check_pins(place: Place) -> None:
    for i, guest in enumerate(place.scenario.values["guest"]):
        for cpu in guest.get("pinned", ()):
            if cpu >= place.machine.cpus:
                place.scenario.refuse(
                    ("guest", i, "pinned"),
                    f"there is no CPU {cpu}; the last of {place.machine.cpus} CPUs is "
                    f"{place.machine.cpus - 1}",
                )


# As overlock-sim is told


def told(place: Place, variant: str, seed: int) -> dict[str, Any]:
    values = place.scenario.values
    return {
        "machine": place.machine.told(),
        "host": _host(values.get("host", {})),
        "guests": list(_guests(place, variant)),
        "seed": seed,
        "warm_up_us": values.get("warm_up_ms", WARM_UP_MS) * 1000,
        "time_us": values.get("time_ms", TIME_MS) * 1000,
    }


def _host(table: dict[str, Any]) -> dict[str, Any]:
    features = table.get("features", {})
    return {
        **_scheduler(table),
        "features": {
            name: _settings(lists.load().features[name], given) for name, given in features.items()
        },
    }


def _scheduler(table: dict[str, Any]) -> dict[str, Any]:
    name = table.get("scheduler", schema.FIRST_HOST)
    return {
        "scheduler": name,
        "settings": _settings(lists.load().hosts[name], table.get("settings", {})),
    }


def _settings(of: lists.Host, given: dict[str, float]) -> dict[str, float]:
    return {s.name: given.get(key, s.preset) for key, s in of.settings.items()}


def _guests(place: Place, variant: str) -> Iterator[dict[str, Any]]:
    for i, guest in enumerate(place.scenario.values["guest"]):
        count = guest.get("count", 1)
        for copy in range(1, count + 1):
            name = guest["name"] if count == 1 else f"{guest['name']}-{copy}"
            found = _guest(guest, place.machine, variant)
            if found["workload"] == MIX:
                percent = found.pop("parameters")["mix_think_percent"]
                found["mix"] = mixes.told(mixes.of(place.scenario, i), percent)
            yield {"name": name, **found}


def _guest(guest: dict[str, Any], machine: Machine, variant: str) -> dict[str, Any]:
    lock, *settings = (variant if lock_of(guest) == EACH else lock_of(guest)).split("@")
    workload = lists.load().workloads[guest.get("workload", schema.FIRST_WORKLOAD)]
    period_us = guest.get("period_ms", PERIOD_MS) * 1000
    quota = guest.get("quota_cpus")
    found = {
        "kind": guest.get("kind", "threads"),
        "contexts": contexts(guest.get("contexts", 1), machine),
        "lock": lock,
        "workload": workload.name,
        "parameters": _parameters(workload, guest.get("parameters", {})),
        "tunables": {} if lock == NONE else _tunables(guest.get("tunables", {}), settings),
        "quota_us": "inf" if quota is None else cpus(quota, machine) * period_us,
        "period_us": period_us,
        "weight": guest.get("weight", WEIGHT),
        "pinned": guest.get("pinned", []),
        "told_slices": guest.get("told_slices", False),
        "told_preempted": guest.get("told_preempted", False),
    }
    if found["kind"] == "users":
        found["vcpus"] = contexts(guest["vcpus"], machine)
        found["guest_scheduler"] = _scheduler(guest)
    return found


def _parameters(workload: Workload, given: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for parameter in workload.parameters:
        value = given.get(lists.key(parameter), number(parameter.preset))
        if parameter.values:
            value = parameter.values.index(str(value))
        found[f"{workload.name}_{parameter.name}"] = value
    return found


def _tunables(given: dict[str, Any], settings: list[str]) -> dict[str, Any]:
    """A variant's own settings before the guest's, and those before the presets."""
    of_variant = dict(setting.split("=", 1) for setting in settings)
    found = {}
    for tunable in defs.load().tunables.values():
        value = given.get(schema.tunable_key(tunable), tunable.default)
        value = of_variant.get(tunable.name, value)
        found[tunable.name] = value if value == "inf" else int(value)
    return found
