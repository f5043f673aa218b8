# SPDX-License-Identifier: MIT
"""What stands in for overlock-bench measured: of each guest or copy of a program, and of all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


class Spent(Protocol):
    """What all of them together had of the CPUs."""

    cpu_seconds: float
    voluntary: int
    involuntary: int
    stolen_seconds: float | None


@dataclass
class Answer:
    """Of one of them."""

    work: float
    seconds: float
    per_thread: list[int] = field(default_factory=list)
    latency: list[list[float]] = field(default_factory=list)  # [ns, how often]
    handover: list[list[float]] = field(default_factory=list)
    hold: list[list[float]] = field(default_factory=list)
    gap_ns: float | None = None
    wrong: str = ""
    drained: bool = True
    drain_seconds: float = 0.0
    cut: bool = False
    events: dict[str, int] = field(default_factory=dict)  # of events.def, where they are counted
    wait_ns: int | None = None  # of all waits together, and of these what was not slept
    spin_ns: int | None = None
    queue: dict[str, float] = field(default_factory=dict)  # others waiting: mean and max
    slices: str = ""  # by what it is told that a vCPU had lost its CPU
    replay: dict[str, Any] = field(default_factory=dict)  # beside what was recorded


def together(answers: Sequence[Answer], used: Spent, threads: int) -> dict[str, Any]:
    """As overlock-bench answers: all of them as the copies of one program."""
    seconds = sum(answer.seconds for answer in answers) / len(answers)
    gaps = [answer.gap_ns for answer in answers if answer.gap_ns is not None]
    # Each over its own time, which can be some ms longer than another's.
    work = [answer.work * (seconds / answer.seconds) for answer in answers]
    return {
        "threads": threads,
        "acquisitions": sum(work),
        "seconds": seconds,
        "cpu_seconds": used.cpu_seconds,
        "voluntary": used.voluntary,
        "involuntary": used.involuntary,
        "steal_seconds": used.stolen_seconds,
        "per_thread": [n for answer in answers for n in answer.per_thread],
        "copies": [round(done) for done in work] if len(work) > 1 else [],
        "wrong": next((answer.wrong for answer in answers if answer.wrong), ""),
        "drained": all(answer.drained for answer in answers),
        "drain_seconds": max(answer.drain_seconds for answer in answers),
        "cut": any(answer.cut for answer in answers),
        "gap_ns": max(gaps, default=None),
        "latency": _times([pair for answer in answers for pair in answer.latency]),
        "handover": _times([pair for answer in answers for pair in answer.handover]),
        "hold": _times([pair for answer in answers for pair in answer.hold]),
        "events": _sums([answer.events for answer in answers]),
        "wait_ns": _sum([answer.wait_ns for answer in answers]),
        "spin_ns": _sum([answer.spin_ns for answer in answers]),
        "slices": next((answer.slices for answer in answers if answer.slices), ""),
        "queue": _queue([answer.queue for answer in answers if answer.queue]),
        "replays": [answer.replay for answer in answers if answer.replay],
    }


def _sums(tables: Sequence[Mapping[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, count in (item for table in tables for item in table.items()):
        found[name] = found.get(name, 0) + count
    return found


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _queue(seen: Sequence[Mapping[str, float]]) -> dict[str, float]:
    if not seen:
        return {}
    mean = sum(queue["mean"] for queue in seen) / len(seen)
    return {"mean": mean, "max": max(int(queue["max"]) for queue in seen)}


def _times(pairs: Sequence[Sequence[float]]) -> dict[str, list[float]]:
    return {"ns": [ns for ns, _ in pairs], "weight": [count for _, count in pairs]}
