# SPDX-License-Identifier: MIT
"""Which CPUs of the host a guest's vCPUs may run on."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from overlock_tools.core.system.errors import Fail

MODES = ("balanced", "free")


def parse_cpus(text: str, allowed: frozenset[int]) -> tuple[int, ...]:
    """`0-3,6` as numbers, each a CPU that we may use."""
    cpus: set[int] = set()
    for word in text.split(","):
        first, dash, last = word.strip().partition("-")
        if not (first.isascii() and first.isdigit() and (not dash or last.isdigit())):
            raise Fail(
                f"--pool {text}: {word.strip()!r} is not a CPU; expected numbers as in 0-3,6"
            )
        cpus.update(range(int(first), int(last or first) + 1))
    if missing := sorted(cpus - allowed):
        here = ",".join(map(str, sorted(allowed)))
        raise Fail(f"--pool {text}: CPU {missing[0]} is not usable; the usable CPUs are {here}")
    if not cpus:
        raise Fail(f"--pool {text}: no CPU; expected numbers as in 0-3,6")
    return tuple(sorted(cpus))


@dataclass(frozen=True)
class Placement:
    """`balanced`: each vCPU on one CPU, siblings on different ones as far as there are enough, and
    on each CPU as many vCPUs as on the others. `free`: the host's scheduler moves them."""

    mode: str
    pools: tuple[tuple[int, ...], ...]  # guest by guest, in turns

    def of(self, guest: int, vcpus: int) -> list[set[int]]:
        pool = self.pools[guest % len(self.pools)]
        if self.mode == "free":
            return [set(pool) for _ in range(vcpus)]
        before = guest // len(self.pools) * vcpus  # vCPUs that the pool already has
        return [{pool[(before + i) % len(pool)]} for i in range(vcpus)]

    @property
    def cpus(self) -> int:
        return len({cpu for pool in self.pools for cpu in pool})

    @property
    def emulated(self) -> str:
        cpus = "a CPU" if self.cpus == 1 else f"{self.cpus} CPUs"
        return f"{cpus} that QEMU emulates"

    @property
    def words(self) -> str:
        pools = "/".join(",".join(map(str, pool)) for pool in self.pools)
        kind = "each vCPU pinned to a CPU" if self.mode == "balanced" else "vCPUs free"
        return f"{kind}, of {pools}"


def chosen(mode: str, pools: Sequence[str]) -> Placement:
    allowed = frozenset(os.sched_getaffinity(0))
    listed = tuple(parse_cpus(text, allowed) for text in pools)
    return Placement(mode, listed or (tuple(sorted(allowed)),))


def apply(threads: Sequence[int], places: Sequence[set[int]]) -> None:
    for thread, cpus in zip(threads, places, strict=True):
        os.sched_setaffinity(thread, cpus)
