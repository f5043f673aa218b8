#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what simulated runs cost, on an otherwise idle machine: two minutes.

Writes docs/measured/simulator_speed.json and draws docs/img/simulator-cost.svg from it; with --draw
only the picture. tools/docs_tables.py makes the table.
"""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kept_json
from lock_pages import table
from overlock_tools.core.render import plots
from overlock_tools.core.render.canvas import MARKERS, SERIES, SMALL, WIDTH, Frame, Sheet
from overlock_tools.core.system import native
from overlock_tools.sim.svg import themed

TOP = Path(__file__).resolve().parent.parent
FILE = TOP / "docs/measured/simulator_speed.json"
PICTURE = TOP / "docs/img/simulator-cost.svg"
ROUNDS = 7  # the cheapest counts: other work only adds to it
MIB = 1 << 20


@dataclass(frozen=True)
class Load:
    lock: str
    cpus: int
    contexts: int  # virtual CPUs of each guest
    guests: int = 1

    def scenario(self, time_us: int) -> str:
        guests = [
            {
                "name": f"vm{i}",
                "kind": "kernel",
                "contexts": self.contexts,
                "lock": self.lock,
                "workload": "sections",
            }
            for i in range(self.guests)
        ]
        machine = {"cpus": self.cpus, "cores_per_socket": min(self.cpus, 32)}
        host = {"scheduler": "fair"}
        return json.dumps(
            {"machine": machine, "host": host, "guests": guests, "time_us": time_us, "seed": 1}
        )


# What the table has, with the simulated time.
RATES = {
    "alone: no contention": (Load("ticket", 1, 1), 2_000_000),
    "`ticket`, 32 virtual CPUs on 32 CPUs": (Load("ticket", 32, 32), 200_000),
    "`ticket`, 8 guests of 128 on 128 CPUs": (Load("ticket", 128, 128, 8), 1_000_000),
    "`preemptable_ticket`, 8 guests of 128 on 128 CPUs": (
        Load("preemptable_ticket", 128, 128, 8),
        1_000_000,
    ),
}
# What the picture has: from few waiters to many, for longer and longer.
LINES = {
    "ticket, 4 of 4 CPUs": (Load("ticket", 4, 4), 200_000),
    "ticket, 32 of 32 CPUs": (Load("ticket", 32, 32), 80_000),
    "mcs, 32 of 32 CPUs": (Load("mcs", 32, 32), 200_000),
    "preemptable_ticket, 128 on 32 CPUs": (Load("preemptable_ticket", 32, 128), 1_000_000),
    "preemptable_ticket, 8 guests of 128 on 128 CPUs": (
        Load("preemptable_ticket", 128, 128, 8),
        200_000,
    ),
}
PARTS = (0.125, 0.25, 0.5, 0.75, 1.0)  # of the longest run of a line


# A process begins with the memory of the one that started it: here, of a small one.
STARTER = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss << 10, file=sys.stderr)
"""


def run(load: Load, time_us: int) -> dict[str, Any]:
    command = [sys.executable, "-S", "-c", STARTER, str(native.simulator())]
    done = subprocess.run(
        command, input=load.scenario(time_us), capture_output=True, text=True, check=True
    )
    answer = json.loads(done.stdout)
    cpu, memory = done.stderr.split()
    return {
        "acquisitions": sum(guest["events"]["ACQUIRE"] for guest in answer["guests"]),
        "events": answer["steps"],
        "simulated_s": answer["time_ns"] / 1e9,
        "cpu_s": round(float(cpu), 3),
        "memory_bytes": int(memory),
    }


def cheapest(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    return min(rounds, key=lambda one: one["cpu_s"])


def measure() -> dict[str, Any]:
    """In rounds over all loads, for a machine may be slower for some time."""
    rates: dict[str, list[dict[str, Any]]] = {name: [] for name in RATES}
    lines: dict[str, list[list[dict[str, Any]]]] = {name: [[] for _ in PARTS] for name in LINES}
    for _ in range(ROUNDS):
        for name, (load, time) in RATES.items():
            rates[name].append(run(load, time))
        for name, (load, time) in LINES.items():
            for part, found in zip(PARTS, lines[name], strict=True):
                found.append(run(load, int(time * part)))
    return {
        "format": "overlock-simulator-speed",
        "version": 1,
        "rates": {name: cheapest(found) for name, found in rates.items()},
        "lines": {name: [cheapest(found) for found in parts] for name, parts in lines.items()},
    }


def draw(measured: dict[str, Any]) -> str:
    below = ["Each line is one load, simulated for longer and longer."]
    sheet = Sheet(3.4, Frame("A simulated run costs as much as happens in it", below))
    axes = sheet.axes(0.6, WIDTH - 0.75, 0.5, 2.75)
    for place, (name, runs) in enumerate(measured["lines"].items()):
        axes.plot(
            [one["events"] / 1e6 for one in runs],
            [one["cpu_s"] for one in runs],
            color=SERIES[place][0],
            marker=MARKERS[place],
            markersize=4,
            linewidth=1.2,
            label=name,
        )
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("millions of events")
    axes.set_ylabel("CPU time, s")
    axes.legend(fontsize=SMALL - 1, frameon=False, loc="upper left")
    return themed(plots.svg(sheet.figure, "CPU time of simulated runs over their events"))


def speed_table() -> str:
    measured = json.loads(FILE.read_text())
    rows = [
        [
            name,
            f"{one['simulated_s']:g} s",
            f"{one['acquisitions'] / one['cpu_s'] / 1e6:.2f} M",
            f"{one['cpu_s']:.1f} s",
            f"{one['memory_bytes'] / MIB:.0f} MiB",
        ]
        for name, one in measured["rates"].items()
    ]
    heads = ["load", "simulated", "acquisitions per CPU second", "CPU time", "memory"]
    return table(heads, rows)


if __name__ == "__main__":
    if sys.argv[1:] != ["--draw"]:
        kept_json.write(FILE, measure())
    PICTURE.write_text(draw(json.loads(FILE.read_text())))
