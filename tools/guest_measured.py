#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The numbers of docs/results/guest.md: shortened results of `overlock guest matrix`.

tools/guest_measured.py FOLDER [WORD] updates docs/measured/guest.json. For each load in the folder
it writes, for each lock and rig, the median, least and most of the rounds, how evenly the vCPUs
acquired the lock, and, if the hypervisor reports it, the stolen share of the vCPUs' time. A load
under another hypervisor than QEMU alone is called LOAD-nested or LOAD-xen. With WORD it is called
LOAD-WORD or LOAD-nested-WORD, for another measurement of the same load. Other loads stay as they
are, each with its own machine.
"""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import kept_json
from overlock_tools.core.model.quantities import factor, si, span
from overlock_tools.core.model.results import Result, from_file
from overlock_tools.core.system.errors import Fail

TOP = Path(__file__).resolve().parent.parent
FILE = TOP / "docs/measured/guest.json"
NATIVE = "native"
NO_PV = "native@nopvspin"  # where `native` has a hypervisor's help
CLAIMED = 20.0  # times the base, in the worst round against its best
NONE = "·"


@dataclass(frozen=True)
class Load:
    """One load's rates, of each lock in each rig."""

    raw: dict[str, Any]

    @property
    def rigs(self) -> list[str]:
        return list(self.raw["rigs"])

    @property
    def locks(self) -> dict[str, dict[str, dict[str, float]]]:
        found: dict[str, dict[str, dict[str, float]]] = self.raw["rates"]
        return found

    def cell(self, lock: str, rig: str) -> str:
        numbers = self.locks[lock].get(rig)
        if not numbers:
            return NONE
        bound = "< " if numbers.get("cut") else ""
        least, most = (si(numbers[name]) for name in ("least", "most"))
        rounds = "once" if ran_once(numbers) else span(least, most)
        return f"{bound}{si(numbers['median']).strip()} ({rounds})"

    @property
    def base(self) -> str:
        """The lock that collapses: a FIFO queue without help from the hypervisor."""
        there = (lock for lock in (NO_PV, NATIVE, "ticket") if lock in self.locks)
        return next(lock for lock in there if "pv_" not in self.in_force(lock))

    def beyond(self, rig: str) -> list[tuple[str, float]]:
        """Locks whose worst round is far above the base's best, the farthest first."""
        most = self.locks[self.base][rig]["most"]
        over = {v: r[rig]["least"] / most for v, r in self.locks.items() if rig in r}
        found = [(lock, ratio) for lock, ratio in over.items() if ratio >= CLAIMED]
        return sorted(found, key=lambda item: -item[1])

    def share(self, name: str, lock: str, rig: str) -> str:
        value = self.locks[lock].get(rig, {}).get(name)
        return f"{value:.2f}" if value is not None else NONE

    def tells(self, name: str, rig: str) -> bool:
        return any(name in rates.get(rig, {}) for rates in self.locks.values())

    def in_force(self, lock: str) -> str:
        """The lock that the guests reported; empty if it is the requested name."""
        words = str(self.raw["in_force"].get(lock, lock))
        return "" if words == lock else words


def ran_once(numbers: dict[str, float]) -> bool:
    """Rounds of a real load never have the same rate."""
    return numbers["least"] == numbers["most"]


@cache
def loads() -> dict[str, Load]:
    if not FILE.exists():
        raise Fail(f"no {FILE.name} in docs/measured; tools/guest_measured.py makes it")
    return {name: Load(raw) for name, raw in json.loads(FILE.read_text())["loads"].items()}


def known(load: str) -> Load:
    if load not in loads():
        raise Fail(f"load {load} was not measured; there are {', '.join(loads())}")
    return loads()[load]


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _cells(result: Result) -> Iterator[tuple[str, str, dict[str, float]]]:
    guests = int(result.parameters["guests"])
    for lock in result.variants:
        for vcpus in result.threads:
            rates = result.rates(lock, vcpus)
            if not rates:
                continue
            numbers = {
                "median": _rounded(median(rates)),
                "least": _rounded(min(rates)),
                "most": _rounded(max(rates)),
            }
            if result.cut(lock, vcpus):
                numbers["cut"] = 1
            even = result.value("least_to_most", lock, vcpus)
            if even is not None:
                numbers["even"] = _rounded(even)
            stolen = [
                cell.steal_seconds / (cell.seconds * vcpus * guests)
                for cell in result.of(lock, vcpus)
                if cell.steal_seconds is not None
            ]
            if stolen:
                numbers["stolen"] = _rounded(median(stolen))
            yield lock, f"{guests}×{vcpus}", numbers


def _about(result: Result) -> dict[str, str]:
    machine = result.machine
    host = str(machine["kernel"]).partition("-")[0]
    return {
        "unit": result.unit,
        "machine": f"{machine['cpu']}, {result.cpus} CPUs, Linux {host}",
        "guest": f"Linux {result.native['kernel']}, {result.native['in_force'][NATIVE]}",
        "rounds": f"{result.settings['rounds']} rounds of {result.settings['seconds']:g} s",
    }


def _busy_percent(result: Result) -> int:
    """The CPU share of other work in the worst round; 0: too little for a warning."""
    found = (re.match(r"other work took up to (\d+)%", text) for text in result.warnings)
    return max((int(match[1]) for match in found if match), default=0)


def shortened(results: list[Result], word: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for result in results:
        under = str(result.parameters["accelerator"]).replace("tcg", "")
        name = "-".join(filter(None, (result.kind.removeprefix("guest-"), under, word)))
        empty: dict[str, Any] = {**_about(result), "rigs": [], "rates": {}, "in_force": {}}
        load = found.setdefault(name, empty)
        load["in_force"].update(result.native["in_force"])
        load["busy_percent"] = max(load.get("busy_percent", 0), _busy_percent(result))
        for lock, rig, numbers in _cells(result):
            if rig not in load["rigs"]:
                load["rigs"].append(rig)
            load["rates"].setdefault(lock, {})[rig] = numbers
    return found


def main() -> None:
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: tools/guest_measured.py FOLDER [WORD]")
    files = sorted(Path(sys.argv[1]).glob("*.json"))
    if not files:
        sys.exit(f"no results in {sys.argv[1]}; `overlock guest matrix -o` makes them")
    known = json.loads(FILE.read_text())["loads"] if FILE.exists() else {}
    found = known | shortened([from_file(file) for file in files], *sys.argv[2:])
    kept_json.write(FILE, {"loads": found})


def about(load: Load) -> str:
    machine, guest, rounds = (load.raw[name] for name in ("machine", "guest", "rounds"))
    busy = load.raw.get("busy_percent")
    noise = f" Other work took up to {busy} % of the CPUs." if busy else ""
    return f"On {machine}; guests of {guest}; {rounds}.{noise}\n"


def claims(load: Load) -> str:
    """Each lock's worst round against the base's best; marks rigs with only one round."""
    lines = []
    for rig in load.rigs:
        one_round = {
            lock for lock, rates in load.locks.items() if rig in rates and ran_once(rates[rig])
        }
        if found := load.beyond(rig):
            where = f", where `{load.base}` ran one round" if load.base in one_round else ""
            told = ", ".join(
                f"`{lock}` {factor(ratio)}×{' (one round)' if lock in one_round else ''}"
                for lock, ratio in found
            )
            lines.append(f"- {rig}{where}: {told}.\n")
    return "".join(lines) or f"No lock is {CLAIMED:g}× `{load.base}` in all rounds.\n"


if __name__ == "__main__":
    main()
