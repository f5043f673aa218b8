# SPDX-License-Identifier: MIT
"""What operations cost on this machine, measured: the file of a machine for the simulator."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from overlock_tools.simulate import lists
from overlock_tools.system import native
from overlock_tools.system.errors import Fail

TOPOLOGY = Path("/sys/devices/system/cpu")
MEASURED = "measured by overlock-costs"


def measured() -> dict[str, Any]:
    done = subprocess.run([native.costs()], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Fail(done.stderr.strip() or "overlock-costs failed")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def socket_of(cpu: int) -> int:
    try:
        return int((TOPOLOGY / f"cpu{cpu}/topology/physical_package_id").read_text())
    except (OSError, ValueError):
        return 0


def costs(raw: Mapping[str, Any]) -> dict[str, tuple[float, str]]:
    """By name: ns, and where they are from. What cannot be measured keeps its preset."""
    found = {
        name: (raw[name], MEASURED)
        for name in ("hit", "store", "atomic", "clock", "pause", "memory", "yield", "change")
    }
    if "slept" in raw:
        found |= dict(_sleeping(raw))
    found |= dict(_transfers(raw["pairs"], found["store"][0]))
    return found


def _sleeping(raw: Mapping[str, Any]) -> Iterator[tuple[str, tuple[float, str]]]:
    """A turn on one CPU is a kick, a sleep and a switch; kick and sleep are taken as equal."""
    half = max(raw["slept"] - raw["change"], 0) / 2
    source = f"{MEASURED}: half of what two threads on one CPU need to wake each other"
    yield "kick", (half, source)
    yield "sleep", (half, source)
    yield "interrupt", (max(raw["kick_idle"] - half, 0), f"{MEASURED}: a kick to an idle CPU")
    yield "wake", (raw["wake"], MEASURED)


def _transfers(
    pairs: list[dict[str, Any]], store: float
) -> Iterator[tuple[str, tuple[float, str]]]:
    """A word's way is a store, which takes the line, and a load. They are taken as equal halves."""
    for name, same in (("near", True), ("far", False)):
        ways = [
            pair["one_way"]
            for pair in pairs
            if (socket_of(pair["cpus"][0]) == socket_of(pair["cpus"][1])) == same
        ]
        if ways:
            half = max(median(ways) - store, 0) / 2
            yield name, (half, f"{MEASURED}: half of a word's way from core to core")
            if same:
                yield "upgrade", (half, f"{MEASURED}: as `near`")


def text(raw: Mapping[str, Any], title: str, cpus: int, sockets: int) -> str:
    lines = [
        "# SPDX-License-Identifier: MIT",
        "# Written by `overlock sim calibrate`.",
        f"title = {json.dumps(title)}",
        f"cpus = {cpus}",
        f"cores_per_socket = {-(-cpus // sockets)}",
        "",
    ]
    known = lists.load().costs
    for name, (ns, source) in costs(raw).items():
        lines += [
            f"[costs.{name}] # {known[name].what}",
            f"ns = {ns:.2f}",
            f"source = {json.dumps(source)}",
            "",
        ]
    return "\n".join(lines)
