# SPDX-License-Identifier: MIT
"""Taking up an interrupted result: only where it is the same plan, on the same machine."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from overlock_tools.bench.conditions import SCENARIOS
from overlock_tools.core.model import results
from overlock_tools.core.model.plan import Plan
from overlock_tools.core.model.results import Result
from overlock_tools.core.system.errors import Fail

# What makes a machine another one, for cells to be compared.
MACHINE = {
    "cpu": "CPU",
    "architecture": "architecture",
    "cpus_online": "number of CPUs",
    "cpus_allowed": "CPUs that may be used",
    "quota_cpus": "CPU quota",
    "kernel": "kernel",
    "scheduler": "scheduler",
    "governor": "governor",
    "libc": "libc",
}


def kept(path: Path | None) -> Result:
    if not path:
        raise Fail("--resume needs the result's file; give --json FILE")
    if not path.exists():
        raise Fail(f"--resume: {path} does not exist; remove --resume to start a new result")
    return results.from_file(path)


def with_seed_of(plan: Plan, old: Result) -> Plan:
    return replace(plan, seed=old.settings.get("seed", plan.seed))


def check_same(path: Path, old: Result, new: Result) -> None:
    for what, had, asked in _differences(old, new):
        raise Fail(
            f"{path} was measured with {what} {_text(had)}, not {_text(asked)}; resume it with its "
            "own options, or give another file"
        )
    for key, name in MACHINE.items():
        had, here = old.machine.get(key), new.machine.get(key)
        if had != here:
            raise Fail(
                f"{path} was measured on another machine or kernel ({name} {_text(had)}, here "
                f"{_text(here)}); start a new measurement in another file"
            )
    for name in _other_code(old.settings, new.settings):
        raise Fail(
            f"{path} was measured with another {name}; start a new measurement in another file"
        )


def _differences(old: Result, new: Result) -> Iterator[tuple[str, Any, Any]]:
    """What the command line decides, by the options' names: what it was, and is to be."""
    before, now = _decided(old), _decided(new)
    for name in now:
        if before.get(name) != now[name]:
            yield name, before.get(name), now[name]


def _decided(result: Result) -> dict[str, Any]:
    settings = result.settings
    scenario = result.scenario.get("settings", {})
    return {
        "workload": result.kind,
        "--locks": result.variants,
        "--threads": result.threads,
        "--baseline": result.baseline,
        **{f"parameter {name}": value for name, value in result.parameters.items()},
        **{f"tunable {name}": value for name, value in result.native.get("tunables", {}).items()},
        **{f"--{s.name}": scenario.get(s.name) for s in SCENARIOS},
        **{f"--{name}": settings.get(name) for name in ("turns", "rounds", "seconds", "seed")},
        "--pilot": settings.get("pilot"),
        "--field": settings.get("field"),
        "--no-latency": not settings.get("latency"),
        "--counters": settings.get("counters"),
        "--cpus": settings.get("cpus"),
        "--as-in": settings.get("as_in"),
        "--cflags": settings.get("cflags"),
    }


def _other_code(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """What was compiled anew since."""
    if old.get("build") != new.get("build"):
        yield "build of overlock-bench"
    for name, digest in new["loaded"].items():
        if old.get("loaded", {}).get(name) != digest:
            yield f"{name}.h"
    for family, digest in new["plugins"].items():
        if old.get("plugins", {}).get(family) != digest:
            yield f"build of {family}'s locks"


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    return "none" if value is None else str(value)
