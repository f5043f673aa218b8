# SPDX-License-Identifier: MIT
"""Guests in the place of overlock-bench: a cell is guests booted, loaded together, and gone."""

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from overlock_tools.bench.executor import Hung, Impossible
from overlock_tools.core.model.combine import Answer, together
from overlock_tools.core.model.results import Result
from overlock_tools.core.system.errors import FAILED, Fail
from overlock_tools.guest import loads, locks, slices, vm
from overlock_tools.guest.channel import Ended, Late
from overlock_tools.guest.loads import Boot, Load, Wrong
from overlock_tools.guest.placement import Placement
from overlock_tools.guest.vm import Booted, Spec, Told


@dataclass
class Used:
    """What the guests' vCPU threads had of the host's CPUs."""

    when: float
    cpu_seconds: float = 0.0
    voluntary: int = 0
    involuntary: int = 0
    stolen_seconds: float | None = None

    @classmethod
    def now(cls, guests: Sequence[Told]) -> "Used":
        used = cls(time.monotonic())
        for ran in (guest.ran() for guest in guests):
            used.cpu_seconds += ran.cpu_seconds
            used.voluntary += ran.voluntary
            used.involuntary += ran.involuntary
            if ran.stolen_seconds is not None:
                used.stolen_seconds = (used.stolen_seconds or 0.0) + ran.stolen_seconds
        return used

    def over(self, before: "Used", seconds: float) -> "Used":
        """As much of it as falls into so many seconds of that time."""
        share = seconds / max(self.when - before.when, seconds)
        return Used(
            self.when,
            (self.cpu_seconds - before.cpu_seconds) * share,
            round((self.voluntary - before.voluntary) * share),
            round((self.involuntary - before.involuntary) * share),
            self._stolen_since(before, share),
        )

    def _stolen_since(self, before: "Used", share: float) -> float | None:
        if self.stolen_seconds is None or before.stolen_seconds is None:
            return None
        return (self.stolen_seconds - before.stolen_seconds) * share


MOMENT_SECONDS = 10.0


class Broken(Exception):
    """A load ended with an error in its guest."""


class Died(Impossible):
    """The guest, or the machine beneath it, ended or fell silent under its load."""


class Boots(Protocol):
    """Guests up and listening, as vm.booted has them."""

    def __call__(
        self, specs: Sequence[Spec], where: Placement, *, tell: Callable[[str], None]
    ) -> AbstractContextManager[Booted]: ...


@dataclass
class Rig:
    """Boots what a cell asks for, and notes in the cell's result what it saw beside the answer."""

    spec: Callable[[str, int, Load], Spec]  # of a lock with so many vCPUs, for a load
    where: Placement
    tell: Callable[[str], None]
    boots: Boots = vm.booted
    tries: int = 1  # of a load; more where the machine beneath is not to be trusted
    loads: dict[str, Load] = field(default_factory=dict)  # by name
    parameters: dict[str, dict[str, str]] = field(default_factory=dict)  # by load
    results: dict[tuple[str, int], Result] = field(default_factory=dict)  # by load and guests
    pid: int = field(default_factory=os.getpid)

    def measure(self, cell: Mapping[str, object]) -> dict[str, Any]:
        load, vms = self.loads[str(cell["workload"])], int(str(cell["vms"]))
        lock, smp = str(cell["variant"]), int(str(cell["threads"]))
        seconds, seed = float(str(cell["seconds"])), int(str(cell["seed"]))
        asked = load.asked(lock, self.parameters[load.name])
        line = load.line(seconds, seed, asked)
        result = self.results[load.name, vms]
        specs = [self.spec(lock, smp, load)] * vms
        for left in reversed(range(self.tries)):
            try:
                with self.boots(specs, self.where, tell=self.tell) as up:
                    result.native["boots_failed"] += len(up.failures)
                    note(result, lock, load, up.guests)
                    answer = _loaded(up.guests, load, line, load.limit(seconds), smp)
                    note_slices(result, lock, up.guests)
                    if answer["slices"]:
                        result.native["slices_by"] = answer["slices"]
                    return answer
            except vm.NoBoot as error:
                result.native["boots_failed"] += vm.TRIES
                raise Impossible(str(error)) from error
            except Broken as error:
                if not left:
                    raise Fail(str(error), FAILED) from error
                self._again(result, error)
            except Died as error:
                if not left:
                    raise
                self._again(result, error)
        raise AssertionError

    def _again(self, result: Result, error: Exception) -> None:
        result.native["loads_failed"] = result.native.get("loads_failed", 0) + 1
        self.tell(f"{error}; trying again")


def note(result: Result, variant: str, load: Load, guests: Sequence[Told]) -> None:
    """Which lock counts is not what was asked for, but what the guests say."""
    notes, lock = result.native, locks.name_of(load.lock(variant))
    for guest in guests:
        runs, parking = guest.facts["lock"], guest.facts.get(load.parks)
        if lock != locks.NATIVE and locks.KINDS.get(lock, lock) != runs:
            kind = f" ({locks.KINDS[lock]})" if lock in locks.KINDS else ""
            raise Impossible(f"expected {lock}{kind}, but the guest runs {runs}")
        if guest.agent and guest.facts.get("slices") != slices.SOURCE:
            raise Impossible(f"the guest ignores its slice page: {guest.facts.get('slices')}")
        notes["in_force"][variant] = f"{runs} ({parking})" if parking else runs
        notes["kernel"] = guest.facts["kernel"]
        notes["clocksource"] = guest.facts["clocksource"]
        notes["slices_from"] = guest.facts.get("slices", "none")
    notes["vcpus"] = [[sorted(cpus) for cpus in guest.places] for guest in guests]
    if len(guests) > 1:
        seen = {"guests": len(guests), "vcpus": [guest.spec.smp for guest in guests]}
        words = f"{len(guests)} guests at once, measured over the same time"
        result.scenario["proof"] = {
            f"{len(guests)} guests": {
                "asked": {"guests": len(guests)},
                "seen": seen,
                "held": True,
                "words": words,
            }
        }


def note_slices(result: Result, lock: str, guests: Sequence[Told]) -> None:
    """The slices published to the last guest of that lock: their age at a read, and their error."""
    for guest in guests:
        if guest.facts.get("slices") in slices.NOBODY:
            continue
        lines: list[str] = []
        with contextlib.suppress(Late, Ended):  # it has done its work, and is not needed any more
            guest.tell(slices.ASK)
            lines, _ = guest.answer(vm.QEMU_SECONDS)
        if not guest.agent and not lines:
            continue  # its kernel does not count
        noted = result.native.setdefault("slices", {})
        noted[lock] = {
            "begun": guest.agent.begun if guest.agent else {},
            "ended": guest.agent.end() if guest.agent else {},
            "looked": slices.looked(lines),
        }


def _loaded(
    guests: Sequence[Told], load: Load, line: str, limit: float, threads: int
) -> dict[str, Any]:
    """All get the command at once; the answers wait in their sockets until they are read."""
    try:
        before = Used.now(guests)
        counts = bool(guests[0].facts.get("counts")) and not isinstance(load, Boot)
        for guest in guests:
            guest.tell(loads.counted(line) if counts else line)
        until = time.monotonic() + limit
        answers = [_answer(guest, load, limit, until) for guest in guests]
        used = Used.now(guests).over(before, max(answer.seconds for answer in answers))
    except Ended as error:
        raise Died("a guest ended under its load") from error
    except Late as error:
        raise Died("a guest's host stopped answering") from error
    except Wrong as error:
        raise Impossible(str(error)) from error
    return together(answers, used, threads)


def _answer(guest: Told, load: Load, limit: float, until: float) -> Answer:
    try:
        lines, code = guest.answer(max(0.0, until - time.monotonic()))
    except Late as error:
        answer = load.late(guest.heard, limit)
        if answer is None:
            raise Hung from error
        return answer
    if code:
        said = lines[-3:] + _complaints(guest)
        raise Broken(f"{load.name} failed in the guest: {' | '.join(said)}")
    return loads.answered(load, lines)


def _complaints(guest: Told) -> list[str]:
    """Of its kernel, if one made the load fail."""
    try:
        return guest.asked("dmesg | grep -m 3 -e BUG: -e Oops -e RIP: -e error:", MOMENT_SECONDS)[0]
    except (Late, Ended):
        return []
