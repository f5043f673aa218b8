# SPDX-License-Identifier: MIT
"""Machines: by name, file or table; what each operation costs there, and why that is thought."""

import random
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from overlock_tools.core.system import native
from overlock_tools.sim import lists, schema
from overlock_tools.sim.scenario import Scenario, checked

# A loop of RDTSC on a CPU of a virtual machine (AMD EPYC, Linux 6.18) saw nine of ten gaps
# begin so soon after their tick. With exact ticks the first slices' order would stay for ever.
TICK_JITTER_NS = 300
SMT_PERCENT = 60  # speed of each of two busy threads of a core, where nothing is said


@dataclass(frozen=True)
class Cost:
    ns: float
    source: str
    range: list[float] | None = None  # the least and the most that was measured


@dataclass(frozen=True)
class Machine:
    title: str
    cpus: int
    threads_per_core: int
    cores_per_socket: int
    smt_percent: int
    costs: dict[str, Cost]
    tick_jitter_ns: float = TICK_JITTER_NS  # ticks of Linux's schedulers are late by less than that

    def told(self) -> dict[str, Any]:
        """As overlock-sim takes it."""
        told = {name: of for name, of in asdict(self).items() if name not in ("title", "costs")}
        return {**told, "costs": {name: cost.ns for name, cost in self.costs.items()}}

    def drawn(self, seed: int) -> "Machine":
        """As another calibration may have found it: costs anywhere in what was measured."""
        chosen = random.Random(seed)  # noqa: S311 - no secret
        costs = {
            name: replace(cost, ns=chosen.uniform(*cost.range)) if cost.range else cost
            for name, cost in self.costs.items()
        }
        return replace(self, costs=costs)

    @property
    def has_ranges(self) -> bool:
        return any(cost.range for cost in self.costs.values())


def named() -> dict[str, Path]:
    """The machines that come along."""
    return {path.stem: path for path in sorted(native.machines().glob("*.toml"))}


def of(scenario: Scenario) -> Machine:
    table = scenario.values["machine"]
    base = _base(scenario, table["base"]) if "base" in table else {}
    said = {**base, **{name: of for name, of in table.items() if name not in ("base", "costs")}}
    if "cpus" not in said:
        scenario.refuse(("machine",), "cpus is missing; add it, or name a machine as base")
    return _made(said, scenario.title, _costs(base.get("costs", {}), table.get("costs", {})))


def from_file(path: Path) -> Machine:
    said = read(path)
    return _made(said, path.stem, _costs(said.get("costs", {}), {}))


def _made(said: dict[str, Any], title: str, costs: dict[str, Cost]) -> Machine:
    cpus, per_core = said["cpus"], said.get("threads_per_core", 1)
    return Machine(
        title=said.get("title", title),
        cpus=cpus,
        threads_per_core=per_core,
        cores_per_socket=said.get("cores_per_socket", -(-cpus // per_core)),
        smt_percent=said.get("smt_percent", SMT_PERCENT),
        costs=costs,
        tick_jitter_ns=said.get("tick_jitter_ns", TICK_JITTER_NS),
    )


def presets() -> dict[str, Cost]:
    return {name: Cost(c.preset, c.source) for name, c in lists.load().costs.items()}


def _costs(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Cost]:
    of_base = {name: Cost(**cost) for name, cost in base.items()}
    given = {
        name: Cost(cost["ns"], cost.get("source", "the scenario"), cost.get("range"))
        for name, cost in own.items()
    }
    return of_today(of_base | given)


def of_today(costs: dict[str, Cost]) -> dict[str, Cost]:
    """With the presets of those that are missing, and without those that are none any more."""
    known = presets()
    return known | {name: cost for name, cost in costs.items() if name in known}


def _base(scenario: Scenario, name: str) -> dict[str, Any]:
    if "/" in name or name.endswith(".toml"):
        by_option = {("machine",), ("machine", "base")} & scenario.given.keys()
        return read((Path() if by_option else scenario.file.parent) / name)
    known = named()
    if name not in known:
        told = schema.suggestion(name, list(known))
        scenario.refuse(("machine", "base"), f"there is no machine {name}{told}")
    return read(known[name])


def read(path: Path) -> dict[str, Any]:
    return checked(path, "machine_file")
