# SPDX-License-Identifier: MIT
"""Points, loads and numbers of the papers' claims in words."""

from math import isfinite
from typing import Any

from overlock_tools.core.model.quantities import factor, plain

LOADS = {
    "ouyang2013-fig5a": "hackbench",
    "ouyang2013-fig5b": "kernbench",
    "ouyang2013-fig5c": "ebizzy",
    "ouyang2013-fig6": "DVD Store",
}
CONTENDED = {"ouyang2013-fig6-contended": "a load that contends"}
UNNAMED = ("ouyang2013-hosts", "ouyang2013-features")
COUNTED = {
    "guest.vm.count": "VM",
    "machine.cpus": "CPU",
    "guest.vm.contexts": "vCPU",
    "guest.app.contexts": "thread",
}


def point_words(point: dict[str, Any]) -> str:
    """`2 VMs`, `8 CPUs`, `ple`, `ratelimit_us 1000`."""
    return ", ".join(_coordinate(path, value) for path, value in point.items())


def _coordinate(path: str, value: Any) -> str:
    if not isinstance(value, int):
        return _shown(value)
    if unit := COUNTED.get(path):
        return f"{value} {unit}{'' if value == 1 else 's'}"
    return f"{path.rpartition('.')[2]} {value}"


def _shown(value: Any) -> str:
    if isinstance(value, dict):  # features of a host, with what is not as usual
        named = [" ".join([name, *map(str, own)]) for name, own in value.items()]
        return " and ".join(named) or "no feature"
    return str(value).removeprefix("paper-")


def number(value: float) -> str:
    if not isfinite(value):
        return "∞"
    return factor(value) if value < 999.5 else plain(value).strip()
