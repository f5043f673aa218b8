# SPDX-License-Identifier: MIT
"""What follows from a runtime's counts in each situation: words such as `rounds up`."""

import math
from collections.abc import Callable, Mapping, Sequence

from overlock_tools.apps.runtimes import situations

# How a quota becomes a number, before it is bounded by what is counted without one.
ROUNDINGS: Mapping[str, Callable[[float], int]] = {
    "rounds quotas up": math.ceil,
    "rounds quotas down": math.floor,
    "rounds quotas to the nearest": lambda quota: math.floor(quota + 0.5),
    "rounds quotas up, at least to 2": lambda quota: max(math.ceil(quota), 2),
}
GROUPS = ("/proc/self/cgroup", "cgroup v1", "cgroup v2")  # of what it reads
Counts = Mapping[str, int]


def of_mask(counts: Counts) -> str:
    free, masked = counts.get(situations.FREE), counts.get(situations.MASK)
    if free is None or masked is None or free < 2 or masked == 1:
        return ""
    return "ignores masks" if masked == free else f"counts {masked} under a mask of 1"


def under(kind: str, counts: Counts) -> dict[float, int]:
    """By quota."""
    named = {cpus: f"{kind}-{cpus:g}" for cpus in situations.CPUS}
    return {cpus: counts[name] for cpus, name in named.items() if name in counts}


def rounding(told: Mapping[float, int], most: int | None) -> str:
    """All that fit: few CPUs do not tell them apart."""

    def number(way: Callable[[float], int], quota: float) -> int:
        least = max(way(quota), 1)
        return least if most is None else min(least, most)

    fitting = [
        words
        for words, way in ROUNDINGS.items()
        if all(n == number(way, quota) for quota, n in told.items())
    ]
    return " or ".join(fitting) + (", beyond the CPUs" if fitting and most is None else "")


def of_quotas(counts: Counts, reads: Sequence[str]) -> str:
    free = counts.get(situations.FREE)
    plain, contained = under(situations.QUOTA, counts), under(situations.CONTAINER, counts)
    told = contained or plain
    if free is None or free < 2 or not told:
        return ""
    if {*told.values(), *plain.values()} == {free}:
        looked = any(word in reads for word in GROUPS)
        return "looks for quotas, but none changes it" if looked else "ignores quotas"

    said = rounding(told, free) or rounding(told, None) or "has a way of its own with quotas"
    if contained and set(plain.values()) == {free}:
        return f"{said}, in containers only"
    return said


def of_nesting(counts: Counts) -> str:
    free, nested = counts.get(situations.FREE), counts.get(situations.NESTED)
    limited = counts.get(situations.QUOTA_ONE)
    if limited is None or nested is None or limited == free:
        return ""
    return "misses a parent's quota" if nested == free else ""


def of_changes(counts: Counts) -> str:
    """Whether it looks again, as far as it can be told: at what it sees when it starts."""
    later = {
        "masks": (situations.MASK, situations.MASK_LATER),
        "quotas": (situations.QUOTA_ONE, situations.QUOTA_LATER),
    }
    again = {}
    for what, (first, then) in later.items():
        if first in counts and then in counts and counts[first] != counts[situations.FREE]:
            again[what] = counts[then] == counts[first]
    if not again:
        return ""
    if all(again.values()):
        return "counts again"
    if not any(again.values()):
        return "counts once"
    return f"counts {next(what for what, yes in again.items() if yes)} again"


def words(counts: Counts, reads: Sequence[str]) -> str:
    said = (of_mask(counts), of_quotas(counts, reads), of_nesting(counts), of_changes(counts))
    return "; ".join(filter(None, said))
