# SPDX-License-Identifier: MIT
"""Scenarios that do not do what they say: the proofs must say so."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from overlock_tools.bench.conditions import cgroup, hogs
from overlock_tools.bench.conditions.hogs import Kind


def no_quota() -> None:
    """The group is made, but nobody writes the quota."""
    cgroup.V1.limit = lambda *_: None  # type: ignore[method-assign]


def nobody_inside() -> None:
    """The quota is written, but the process stays outside."""
    honest = cgroup.write

    def write(file: Path, text: str | int) -> None:
        if file.name != "cgroup.procs":
            honest(file, text)

    cgroup.write = write


def told(**wrong: Any) -> Callable[[], None]:
    """Hogs that are told something else."""

    def plant() -> None:
        honest = Kind.arguments

        def arguments(self: Kind) -> list[str]:
            return honest(Kind(**{**vars(self), **wrong}))

        Kind.arguments = arguments  # type: ignore[method-assign]

    return plant


def too_few() -> None:
    """One hog fewer than were asked for, of the same name."""
    honest = hogs.running
    hogs.running = lambda count, *rest: honest(count - 1, *rest)


FAULTS = {
    "no quota": no_quota,
    "nobody inside": nobody_inside,
    "sleepy hogs": told(busy_ms=0.2, period_ms=1000),
    "polite hogs": told(policy="other"),
    "too few hogs": too_few,
    "hogs with other slices": told(slice_ms=20),
}
