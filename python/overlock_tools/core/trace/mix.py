# SPDX-License-Identifier: MIT
"""A trace as a mix of `overlock sim`: what its threads do, as one set of distributions."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from overlock_tools.core.trace import plan as plans
from overlock_tools.core.trace.format import Trace
from overlock_tools.core.trace.plan import ACQUIRE, NOTHING, Ops, Plan

ALONE = 16  # locks that have a row of their own: those that are held longest
PARTS = 10_000  # of the weights


@dataclass
class _Seen:
    held: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    think: list[int] = field(default_factory=list)
    sleeps: list[int] = field(default_factory=list)


def _see(ops: Ops, seen: _Seen) -> None:
    """Outermost sections: what is nested in one is a part of it."""
    depth = inside = outside = 0
    outer = -1
    columns = (ops[name].tolist() for name in ("idle_ns", "work_ns", "lock", "kind"))
    for idle, work, lock, kind in zip(*columns, strict=True):
        if depth:
            inside += work
        else:
            outside += work
            if idle and kind != NOTHING:  # the last is not the program's
                seen.sleeps.append(idle)
        if kind == ACQUIRE:
            if not depth:
                outer, inside = lock, 0
                seen.think.append(outside)
                outside = 0
            depth += 1
        elif kind != NOTHING:
            depth -= 1
            if not depth:
                seen.held[outer].append(inside)


def _bins(lengths: Iterable[int]) -> list[list[int]]:
    """By doublings; in parts of PARTS, and none that is there is left out."""
    counts = Counter(max(0, length).bit_length() for length in lengths)
    total = sum(counts.values())
    return [
        [(1 << bits) >> 1, max((1 << bits) - 1, 0), max(1, round(n / total * PARTS))]
        for bits, n in sorted(counts.items())
    ]


def _row(name: str, lengths: list[int], count: int, total: int, source: str) -> dict[str, Any]:
    return {
        "name": name,
        "count": count,
        "weight": max(1, round(len(lengths) / total * 1_000_000)),
        "section": {"bins_ns": _bins(lengths)},
        "source": source,
    }


def of(trace: Trace, made: Plan | None = None) -> dict[str, Any]:
    """Threads are taken as alike: which of them takes which lock is lost."""
    made = made or plans.of(trace)
    seen = _Seen()
    for ops in made.ops:
        _see(ops, seen)
    total = sum(map(len, seen.held.values()))
    longest = sorted(seen.held, key=lambda lock: (-sum(seen.held[lock]), lock))
    source = f"a trace of {trace.program}"
    rows = [_row(f"lock-{lock}", seen.held[lock], 1, total, source) for lock in longest[:ALONE]]
    if rest := longest[ALONE:]:
        lengths = [length for lock in rest for length in seen.held[lock]]
        rows.append(_row("others", lengths, len(rest), total, source))
    mix: dict[str, Any] = {
        "title": f"{trace.program}, recorded",
        "unit": "sections",
        "sections": 1,
        "lock": rows,
        "think": {"bins_ns": _bins(seen.think), "source": source},
    }
    if seen.sleeps:
        mix["wait"] = {
            "every": max(1, round(total / len(seen.sleeps))),
            "length": {"bins_ns": _bins(seen.sleeps)},
            "source": source,
        }
    return mix
