# SPDX-License-Identifier: MIT
"""What a scenario can name: schedulers, features, costs, guests, workloads; from sim/*.def."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from overlock_tools.core.model import defs
from overlock_tools.core.model.workloads import Parameter, Workload

NEIGHBOUR = Workload("burn", "CPU-bound: computes and takes no lock")
THINK = Parameter(
    "think_percent", "length of the time between sections", "count", "100", 0, 100_000
)
MIX = Workload(
    "mix", "sections, waits and interrupts by distributions, of a real program", (THINK,)
)


FORMER_COSTS = ("upgrade",)  # `overlock sim calibrate` wrote it once; a transfer takes as long


@dataclass(frozen=True)
class Cost:
    name: str
    preset: float  # ns
    source: str
    what: str


@dataclass(frozen=True)
class Setting:
    """Of a scheduler or a feature."""

    name: str
    unit: str  # "us" or "ns", or "n" for a number
    preset: float
    source: str
    what: str

    @property
    def key(self) -> str:
        """Its name in a scenario, with its unit."""
        return self.name if self.unit == "n" else f"{self.name}_{self.unit}"


@dataclass(frozen=True)
class Host:
    """A scheduler, or a feature around it."""

    name: str
    what: str
    settings: dict[str, Setting]  # by key


@dataclass(frozen=True)
class Lists:
    costs: dict[str, Cost]
    hosts: dict[str, Host]
    features: dict[str, Host]
    guests: dict[str, str]
    workloads: dict[str, Workload]


def key(parameter: Parameter) -> str:
    """A workload's parameter in a scenario: cs_ns."""
    return f"{parameter.name}_ns" if parameter.unit == "ns" else parameter.name


@cache
def load() -> Lists:
    raw = defs.raw_lists()
    parameters: dict[str, list[Parameter]] = {}
    for entry in raw["params"]:
        parameters.setdefault(entry["workload"], []).append(_parameter(entry))
    workloads = [
        Workload(entry["name"], entry["what"], tuple(parameters.get(entry["name"], ())))
        for entry in raw["workloads"]
    ]
    return Lists(
        {entry["name"]: Cost(**entry) for entry in raw["costs"]},
        _hosts(raw["hosts"], raw["settings"]),
        _hosts(raw["features"], raw["feature_settings"]),
        {entry["name"]: entry["what"] for entry in raw["guests"]},
        {workload.name: workload for workload in [*workloads, MIX, NEIGHBOUR]},
    )


def _hosts(entries: list[dict[str, Any]], raw: list[dict[str, Any]]) -> dict[str, Host]:
    settings: dict[str, dict[str, Setting]] = {}
    for entry in raw:
        setting = Setting(**{name: of for name, of in entry.items() if name != "host"})
        settings.setdefault(entry["host"], {})[setting.key] = setting
    return {e["name"]: Host(e["name"], e["what"], settings.get(e["name"], {})) for e in entries}


def _parameter(entry: dict[str, Any]) -> Parameter:
    if "choices" in entry:
        values = tuple(entry["choices"].split("|"))
        return Parameter(entry["name"], entry["what"], preset=values[0], values=values)
    return Parameter(
        entry["name"],
        entry["what"],
        entry["unit"],
        f"{entry['preset']:g}",
        entry["least"],
        entry["most"],
    )
