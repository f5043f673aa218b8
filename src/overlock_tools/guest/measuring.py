# SPDX-License-Identifier: MIT
"""Guests in the place of overlock-bench: a cell is guests booted, loaded together, and gone."""

import contextlib
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from overlock_tools.errors import FAILED, Fail
from overlock_tools.guest import loads, locks, slices, vm
from overlock_tools.guest.channel import Ended, Late
from overlock_tools.guest.loads import Answer, Load, Wrong
from overlock_tools.guest.placement import Placement
from overlock_tools.guest.vm import Guest, Spec
from overlock_tools.results import Result
from overlock_tools.scenarios import proc
from overlock_tools.server import Hung, Impossible


@dataclass
class Used:
    """What the guests' vCPU threads had of the host's CPUs."""

    when: float
    cpu_seconds: float = 0.0
    voluntary: int = 0
    involuntary: int = 0

    @classmethod
    def now(cls, guests: Sequence[Guest]) -> "Used":
        used = cls(time.monotonic())
        for thread in (thread for guest in guests for thread in guest.threads):
            if ran := proc.Ran.of(thread):
                used.cpu_seconds += ran.on_cpu_s
            voluntary, involuntary = switches(thread)
            used.voluntary += voluntary
            used.involuntary += involuntary
        return used

    def over(self, before: "Used", seconds: float) -> "Used":
        """As much of it as falls into so many seconds of that time."""
        share = seconds / max(self.when - before.when, seconds)
        return Used(
            self.when,
            (self.cpu_seconds - before.cpu_seconds) * share,
            round((self.voluntary - before.voluntary) * share),
            round((self.involuntary - before.involuntary) * share),
        )


def switches(thread: int) -> tuple[int, int]:
    """A thread's voluntary and involuntary context switches since it began."""
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{thread}/status").read_text()
        found = re.findall(r"ctxt_switches:\s+(\d+)", text)
        return int(found[0]), int(found[1])
    return 0, 0


def together(answers: Sequence[Answer], used: Used, threads: int) -> dict[str, Any]:
    """As overlock-bench answers: all guests as the copies of one program."""
    seconds = sum(answer.seconds for answer in answers) / len(answers)
    gaps = [answer.gap_ns for answer in answers if answer.gap_ns is not None]
    # Each over its own time, which can be some ms longer than another's.
    work = [answer.work / answer.seconds * seconds for answer in answers]
    return {
        "threads": threads,
        "acquisitions": sum(work),
        "seconds": seconds,
        "cpu_seconds": used.cpu_seconds,
        "voluntary": used.voluntary,
        "involuntary": used.involuntary,
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
    }


def _times(pairs: Sequence[Sequence[float]]) -> dict[str, list[float]]:
    return {"ns": [ns for ns, _ in pairs], "weight": [count for _, count in pairs]}


@dataclass
class Rig:
    """Boots what a cell asks for, and notes in the cell's result what it saw beside the answer."""

    spec: Callable[[str, int], Spec]  # of a lock with so many vCPUs
    where: Placement
    tell: Callable[[str], None]
    parameters: dict[str, dict[str, str]] = field(default_factory=dict)  # by load
    results: dict[tuple[str, int], Result] = field(default_factory=dict)  # by load and guests
    pid: int = field(default_factory=os.getpid)

    def measure(self, cell: Mapping[str, object]) -> dict[str, Any]:
        load, vms = loads.known(str(cell["workload"])), int(str(cell["vms"]))
        lock, smp = str(cell["variant"]), int(str(cell["threads"]))
        seconds, seed = float(str(cell["seconds"])), int(str(cell["seed"]))
        line = load.line(seconds, seed, self.parameters[load.name])
        result = self.results[load.name, vms]
        try:
            specs = [self.spec(lock, smp)] * vms
            with vm.booted(specs, self.where, tell=self.tell) as up:
                result.native["boots_failed"] += len(up.failures)
                note(result, lock, up.guests)
                answer = _loaded(up.guests, load, line, load.limit(seconds), smp)
                note_slices(result, lock, up.guests)
                return answer
        except vm.NoBoot as error:
            result.native["boots_failed"] += vm.TRIES
            raise Impossible(str(error)) from error


def note(result: Result, lock: str, guests: Sequence[Guest]) -> None:
    """Which lock counts is not what was asked for, but what the guests say."""
    notes = result.native
    for guest in guests:
        runs, parking = guest.facts["lock"], guest.facts["parking"]
        if lock not in (locks.NATIVE, runs):
            raise Impossible(f"asked for {lock}, the guest runs {runs}")
        if guest.agent and guest.facts.get("slices") != slices.SOURCE:
            raise Impossible(f"its slice page was not taken: {guest.facts.get('slices')}")
        notes["in_force"][lock] = f"{runs} ({parking})" if parking else runs
        notes["kernel"] = guest.facts["kernel"]
        notes["clocksource"] = guest.facts["clocksource"]
    notes["vcpus"] = [[sorted(cpus) for cpus in guest.places] for guest in guests]
    if len(guests) > 1:
        seen = {"guests": len(guests), "vcpus": [len(guest.threads) for guest in guests]}
        words = f"{len(guests)} guests at once, counted over the same time"
        result.scenario["proof"] = {
            f"{len(guests)} guests": {
                "asked": {"guests": len(guests)},
                "seen": seen,
                "held": True,
                "words": words,
            }
        }


def note_slices(result: Result, lock: str, guests: Sequence[Guest]) -> None:
    """What the last guest of that lock was told, and how old it was when it looked."""
    for guest in guests:
        if not guest.agent:
            continue
        lines: list[str] = []
        with contextlib.suppress(Late, Ended):  # it has done its work, and is not needed any more
            guest.tell(slices.ASK)
            lines, _ = guest.answer(vm.QEMU_SECONDS)
        noted = result.native.setdefault("slices", {})
        noted[lock] = {
            "begun": guest.agent.begun,
            "ended": guest.agent.end(),
            "ages": slices.ages(lines),
        }


def _loaded(
    guests: Sequence[Guest], load: Load, line: str, limit: float, threads: int
) -> dict[str, Any]:
    """All are told at once; the answers wait in their sockets until they are read."""
    before = Used.now(guests)
    try:
        for guest in guests:
            guest.tell(line)
        until = time.monotonic() + limit
        answers = [_answer(guest, load, limit, until) for guest in guests]
    except Ended as error:
        raise Impossible("a guest ended under its load") from error
    except Wrong as error:
        raise Impossible(str(error)) from error
    used = Used.now(guests).over(before, max(answer.seconds for answer in answers))
    return together(answers, used, threads)


def _answer(guest: Guest, load: Load, limit: float, until: float) -> Answer:
    try:
        lines, code = guest.answer(max(0.0, until - time.monotonic()))
    except Late as error:
        answer = load.late(guest.heard, limit)
        if answer is None:
            raise Hung from error
        return answer
    if code:
        raise Fail(f"{load.name} failed in the guest: {' | '.join(lines[-3:])}", FAILED)
    return load.answer(lines)
