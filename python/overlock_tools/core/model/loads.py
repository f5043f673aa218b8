# SPDX-License-Identifier: MIT
"""The loads by which `rota` is judged: a workload each, with the values of its options."""

from dataclasses import dataclass
from typing import Any

from overlock_tools.core.model import defs


@dataclass(frozen=True)
class Load:
    name: str
    what: str
    workload: str
    options: dict[str, Any]  # by what click calls their values


def _sections(name: str, what: str, **options: Any) -> Load:
    return Load(name, what, "sections", options)


LOADS = (
    _sections("A", "short sections", cs_ns=70, ncs_ns=330),
    _sections("B", "short and rare", cs_ns=70, ncs_ns=3000),
    _sections("C", "always contended", cs_ns=1000, ncs_ns=0),
    _sections("D", "two processes of A", cs_ns=70, ncs_ns=330, neighbours="2"),
    _sections("E", "long sections", cs_ns=20000, ncs_ns=20000),
    _sections("M", "many locks, in pairs", lock_count=1000, zipf=0.99, nested=1),
    Load("V", "producers and consumers", "conditions", {}),
)
BY_NAME = {load.name: load for load in LOADS}


def chosen(names: str) -> list[Load]:
    """`A,C` or `all`."""
    words = [word.strip() for word in names.split(",") if word.strip()]
    if words == ["all"]:
        return list(LOADS)
    there = f"expected all, or some of {', '.join(BY_NAME)}"
    return [defs.known(BY_NAME, word, "load", there) for word in dict.fromkeys(words)]
