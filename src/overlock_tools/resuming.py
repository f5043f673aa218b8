# SPDX-License-Identifier: MIT
"""Taking up an interrupted result: only where it is the same plan, on the same machine."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from overlock_tools import results
from overlock_tools.errors import Fail
from overlock_tools.plan import Plan
from overlock_tools.results import Result

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
        raise Fail("--resume: which result? give its file with --json")
    if not path.exists():
        raise Fail(f"--resume: there is no {path}; leave --resume out to begin it")
    return results.from_file(path)


def with_seed_of(plan: Plan, old: Result) -> Plan:
    return replace(plan, seed=old.settings.get("seed", plan.seed))


def check_same(path: Path, old: Result, new: Result) -> None:
    for what, had, asked in _differences(old, new):
        raise Fail(
            f"{path} was made with {what} {_text(had)}, not {_text(asked)}: resume it with its own "
            "options, or name another file"
        )
    for key, name in MACHINE.items():
        if old.machine.get(key) != new.machine.get(key):
            raise Fail(
                f"{path} was measured on another machine or kernel: its {name} was "
                f"{_text(old.machine.get(key))}, here it is {_text(new.machine.get(key))}; measure "
                "anew, into another file"
            )
    if old.settings.get("build") != new.settings.get("build"):
        raise Fail(
            f"{path} was measured with another build of overlock-bench; measure anew, into "
            "another file"
        )


def _differences(old: Result, new: Result) -> Iterator[tuple[str, Any, Any]]:
    """What the command line decides, by the options' names."""
    pairs: dict[str, tuple[Any, Any]] = {
        "workload": (old.kind, new.kind),
        "--locks": (old.variants, new.variants),
        "--threads": (old.threads, new.threads),
        "--baseline": (old.baseline, new.baseline),
    }
    for name in new.parameters.keys() | old.parameters.keys():
        pairs[f"parameter {name}"] = old.parameters.get(name), new.parameters.get(name)
    scenarios = old.scenario.get("settings", {}), new.scenario.get("settings", {})
    for name in scenarios[0].keys() | scenarios[1].keys():
        pairs[f"--{name}"] = scenarios[0].get(name), scenarios[1].get(name)
    for name in new.settings.keys() - {"build", "otherwise"}:
        option = f"--{name.replace('_', '-')}"
        pairs[option] = old.settings.get(name), new.settings.get(name)
    for name, (had, asked) in sorted(pairs.items()):
        if had != asked:
            yield name, had, asked


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    if isinstance(value, bool):
        return "on" if value else "off"
    return "none" if value is None else str(value)
