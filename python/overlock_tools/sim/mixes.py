# SPDX-License-Identifier: MIT
"""Mixes: what a program does with its locks, by distributions; from a name, a file or a table.

A file may be a trace of `overlock run --record`.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any

from overlock_tools.sim import schema
from overlock_tools.sim.scenario import MIX, Scenario, checked

GZIP = b"\x1f\x8b"  # a trace begins so
MIXES = Path(__file__).with_name("mixes")
WORDS = ("title", "unit", "source", "about")  # for people


def ready() -> dict[str, Path]:
    return {path.stem: path for path in sorted(MIXES.glob("*.toml"))}


def check(scenario: Scenario) -> None:
    for number, guest in enumerate(scenario.values["guest"]):
        if guest.get("workload") == MIX:
            of(scenario, number)


def of(scenario: Scenario, guest: int) -> dict[str, Any]:
    """The mix of a guest, as its file has it."""
    said, at = scenario.values["guest"][guest]["mix"], ("guest", guest, "mix")
    if isinstance(said, dict):
        return said
    if "/" in said or said.endswith((".toml", ".trace")):
        return read(scenario.file.parent / said)
    if said not in ready():
        scenario.refuse(at, f"there is no mix {said}{schema.suggestion(said, list(ready()))}")
    return read(ready()[said])


def unit(scenario: Scenario, guest: int) -> str:
    """What a turn does; empty: the guest has no mix."""
    if scenario.values["guest"][guest].get("workload") != MIX:
        return ""
    return str(of(scenario, guest).get("unit", "turns"))


def read(path: Path) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            is_trace = file.read(len(GZIP)) == GZIP
    except OSError:
        is_trace = False  # checked() says why
    return _of_trace(path, path.stat().st_mtime_ns) if is_trace else checked(path, "mix_file")


@lru_cache(maxsize=8)
def _of_trace(path: Path, _: int) -> dict[str, Any]:
    from overlock_tools.core.trace import format as traces  # with NumPy, which few scenarios need
    from overlock_tools.core.trace import mix

    return mix.of(traces.read(path))


def told(mix: dict[str, Any], think_percent: float) -> dict[str, Any]:
    """As overlock-sim takes it, all times between sections made longer or shorter."""
    found: dict[str, Any] = _without_words(mix)
    found["locks"] = found.pop("lock")
    found["think"] = _scaled(found["think"], think_percent / 100)
    return found


def _without_words(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_words(one) for one in value]
    if isinstance(value, dict):
        return {key: _without_words(of) for key, of in value.items() if key not in WORDS}
    return value


def _scaled(lengths: dict[str, Any], factor: float) -> dict[str, Any]:
    if "bins_ns" in lengths:
        bins = lengths["bins_ns"]
        return {"bins_ns": [[round(a * factor), round(b * factor), w] for a, b, w in bins]}
    return {**lengths, "mean_ns": round(lengths["mean_ns"] * factor)}
