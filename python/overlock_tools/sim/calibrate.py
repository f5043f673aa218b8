# SPDX-License-Identifier: MIT
"""What operations cost on this machine, measured: the file of a machine for the simulator."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, NotRequired, TypedDict

from overlock_tools.core.system import files, machine, native, reading
from overlock_tools.core.system.errors import FAILED, Fail, last_line, say
from overlock_tools.core.system.terminal import console
from overlock_tools.sim import lists
from overlock_tools.sim.machines import SMT_PERCENT, Cost, Machine, presets

TOPOLOGY = Path("/sys/devices/system/cpu")
MEASURED = "measured by overlock-costs"


class Pair(TypedDict):
    """Two CPUs."""

    cpus: list[int]
    one_way: float


Measured = TypedDict(
    "Measured",
    {
        "hit": float,
        "store": float,
        "atomic": float,
        "clock": float,
        "pause": float,
        "memory": float,
        "yield": float,
        "change": float,
        "pairs": list[Pair],
        # With a second CPU only.
        "kick_idle": NotRequired[float],
        "wake": NotRequired[float],
        "slept": NotRequired[float],
    },
)
"""What overlock-costs says, in ns: sim/costs.c."""

AS_MEASURED = ("hit", "store", "atomic", "clock", "pause", "memory", "yield", "change")


def run(options: Mapping[str, Any]) -> int:
    """`overlock sim calibrate`."""
    output: Path | None = options["output"]
    if output:
        files.check_writable(output)
    found = here(measured(options["runs"]))
    said = text(found, options["title"] or found.title, options["runs"])
    if not output:
        print(said, end="", flush=True)
        return 0
    files.write(output, said)
    console().print(f'written: {output}; name it in a scenario: machine = "./{output.name}"')
    return 0


# Measured


def measured(runs: int) -> list[Measured]:
    """Of several runs, some of which other programs and the hypervisor disturb."""
    program = native.costs()
    if busy := machine.busy_now():
        say(busy)
    return [_once(program) for _ in range(runs)]


def _medians(found: Sequence[Measured]) -> Measured:
    first = found[0]
    pairs: list[Pair] = [
        {"cpus": pair["cpus"], "one_way": median(one["pairs"][i]["one_way"] for one in found)}
        for i, pair in enumerate(first["pairs"])
    ]
    names = [name for name in first if name != "pairs"]
    medians = {name: median(one[name] for one in found) for name in names}  # type: ignore[literal-required]
    return known({**medians, "pairs": pairs})


def _once(program: Path) -> Measured:
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Fail(last_line(done.stderr), FAILED)
    return known(json.loads(done.stdout))


def known(raw: Any) -> Measured:
    found: Measured = reading.checked(Measured, raw, "the answer of overlock-costs")
    return found


# What the simulator takes


def costs(runs: Sequence[Measured], cores: Mapping[int, "Core"]) -> dict[str, Cost]:
    """By name: of the runs' medians, and between which values single runs were."""
    single = [_costs(run, cores) for run in runs]
    return {
        name: replace(cost, range=_range([one[name].ns for one in single]))
        for name, cost in _costs(_medians(runs), cores).items()
    }


def _range(values: Sequence[float]) -> list[float] | None:
    return [min(values), max(values)] if len(values) > 1 else None


def _costs(raw: Measured, cores: Mapping[int, "Core"]) -> dict[str, Cost]:
    """What cannot be measured keeps its preset."""
    found = {name: Cost(raw[name], MEASURED) for name in AS_MEASURED}  # type: ignore[literal-required]
    found |= dict(_sleeping(raw))
    found |= dict(_transfers(raw["pairs"], raw["store"], cores))
    return found


def _sleeping(raw: Measured) -> Iterator[tuple[str, Cost]]:
    """A turn on one CPU is a kick, a sleep and a switch; kick and sleep are taken as equal."""
    if "slept" not in raw:
        return
    half = max(raw["slept"] - raw["change"], 0) / 2
    source = f"{MEASURED}: half of what two threads on one CPU need to wake each other"
    yield "kick", Cost(half, source)
    yield "sleep", Cost(half, source)
    more = max(raw["kick_idle"] - half, 0)
    yield "interrupt", Cost(more, f"{MEASURED}: a kick to an idle CPU, without `kick`")
    yield "wake", Cost(raw["wake"], MEASURED)


def _transfers(
    pairs: Sequence[Pair], store: float, cores: Mapping[int, "Core"]
) -> Iterator[tuple[str, Cost]]:
    """A transfer takes as long as the one-way latency of a ping-pong: whoever polls the word has
    asked for its line before the store is done, and has it right after."""
    ways: dict[str, list[float]] = {"near": [], "far": []}
    for pair in pairs:
        one, other = (cores[cpu] for cpu in pair["cpus"])
        if one != other:
            ways["near" if one.socket == other.socket else "far"].append(pair["one_way"])
    for name, times in ways.items():
        if times:
            half = max(median(times) - store, 0) / 2
            yield name, Cost(half, f"{MEASURED}: half of the one-way latency from core to core")


# The machine


@dataclass(frozen=True)
class Core:
    socket: int
    number: int


def _core_of(cpu: int) -> Core:
    def number(name: str, otherwise: int) -> int:
        try:
            return int((TOPOLOGY / f"cpu{cpu}/topology/{name}").read_text())
        except (OSError, ValueError):
            return otherwise

    return Core(number("physical_package_id", 0), number("core_id", cpu))


def here(runs: Sequence[Measured]) -> Machine:
    """This machine, as far as we may use it."""
    facts = machine.facts()
    cores = {cpu: _core_of(cpu) for cpu in facts["cpus_allowed"]}
    per_core = len(cores) // len(set(cores.values()))
    per_socket = len(set(cores.values())) // len({core.socket for core in cores.values()})
    return Machine(
        title=f"{facts['cpu']}, {len(cores)} CPUs",
        cpus=len(cores),
        threads_per_core=per_core,
        cores_per_socket=per_socket,
        smt_percent=SMT_PERCENT,
        costs=presets() | costs(runs, cores),
    )


def text(found: Machine, title: str, runs: int) -> str:
    """The file of a machine, with what was measured."""
    lines = [
        "# SPDX-License-Identifier: MIT",
        f"# Written by `overlock sim calibrate`: medians of {runs} runs of overlock-costs.",
        f"title = {json.dumps(title)}",
        f"cpus = {found.cpus}",
        f"threads_per_core = {found.threads_per_core}",
        f"cores_per_socket = {found.cores_per_socket}",
    ]
    known_costs = lists.load().costs
    for name, cost in found.costs.items():
        if cost.source.startswith(MEASURED):
            lines += [
                "",
                f"[costs.{name}] # {known_costs[name].what}",
                f"ns = {cost.ns:.2f}",
                *([f"range = [{cost.range[0]:.2f}, {cost.range[1]:.2f}]"] if cost.range else []),
                f"source = {json.dumps(cost.source)}",
            ]
    return "\n".join(lines) + "\n"
