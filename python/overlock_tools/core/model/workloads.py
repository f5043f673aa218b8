# SPDX-License-Identifier: MIT
"""The workloads that overlock-bench has, and what can be asked of each, as it says itself."""

from dataclasses import dataclass
from typing import Any

from overlock_tools.core.model import defs

# What a turn is that counts, where it is not an acquisition.
UNITS = {
    "invalidation": "updates",
    "conditions": "items",
    "rounds": "arrivals",
    "throw": "throws",
    "throw_locked": "throws",
}
BY_TIME_ONLY = ("invalidation",)
WITHOUT_A_LOCK = ("invalidation", "throw")  # that one could choose
# A parameter whose name is another option's.
OPTIONS = {"locks": "lock_count"}


@dataclass(frozen=True)
class Parameter:
    """bench/workload/params.def."""

    name: str
    what: str
    unit: str = ""  # "ns", "count" or "milli"; a choice has none
    preset: str = ""
    least: float = 0
    most: float = 0
    values: tuple[str, ...] = ()  # of a choice

    @property
    def option(self) -> str:
        name = OPTIONS.get(self.name, self.name).replace("_", "-")
        return f"--{name}-ns" if self.unit == "ns" else f"--{name}"

    @property
    def key(self) -> str:
        """What click calls the option's value."""
        return self.option.removeprefix("--").replace("-", "_")


@dataclass(frozen=True)
class Workload:
    name: str
    what: str
    parameters: tuple[Parameter, ...] = ()

    @property
    def unit(self) -> str:
        return UNITS.get(self.name, "acquisitions")

    @property
    def title(self) -> str:
        return self.what[:1].upper() + self.what[1:]

    def values(self, given: dict[str, Any]) -> dict[str, Any]:
        """All parameters, those not given at their presets."""
        known = {p.name: p for p in self.parameters}
        for name in given:
            defs.known(
                known, name, f"parameter of {self.name}", f"expected one of {', '.join(known)}"
            )
        return {name: given.get(name, number(p.preset)) for name, p in known.items()}


def number(text: str) -> float | str:
    """As JSON has it: 70, 0.5 or "uniform"."""
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value.is_integer() else value


def from_facts(facts: dict[str, Any]) -> dict[str, Workload]:
    """Takes the workloads out of the facts line."""
    return {
        entry["id"]: Workload(
            entry["id"], entry["what"], tuple(map(_parameter, entry["parameters"]))
        )
        for entry in facts.pop("workloads")
    }


def _parameter(entry: dict[str, Any]) -> Parameter:
    if "choices" in entry:
        values = tuple(entry["choices"].split("|"))
        return Parameter(entry["name"], entry["what"], preset=values[0], values=values)
    return Parameter(
        name=entry["name"],
        what=entry["what"],
        unit=entry["unit"],
        preset=f"{entry['preset']:g}",
        least=entry["least"],
        most=entry["most"],
    )
