# SPDX-License-Identifier: MIT
"""A guest's load: the line for its /init, and what its answer means."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from overlock_tools.core.model import defs
from overlock_tools.core.model.combine import Answer
from overlock_tools.core.system import reading
from overlock_tools.core.system.errors import Fail
from overlock_tools.guest import locks
from overlock_tools.guest.programs import RANDOM_BYTES

# Turns before and after the counted time, so that guests that begin some ms apart still compete
# through all of it.
LEAD_SECONDS = 0.3
# What a module may take to be inserted, and its threads to be out.
MORE_SECONDS = 60.0

Parameters = Mapping[str, str]


class Wrong(Exception):
    """The guest did not do it."""


class Load:
    """One that gets its duration, and ends by itself. Its variants are the guests' locks."""

    name: str
    what: str
    unit = "acquisitions"
    part = ""  # of parts.PARTS, that it needs in the guest
    archive: Path | None = None  # of its own, that the guest's kernel unpacks, too
    memory_mb = 512
    presets: ClassVar[Parameters] = {}
    free: ClassVar[
        tuple[str, ...]
    ] = ()  # what else the guest's own program can be asked, by prefix
    baseline = locks.NATIVE
    parks = "parking"  # the guest's fact that says how waiters do

    def checked(self, variant: str) -> str:
        return locks.checked(variant)

    def every(self) -> list[str]:
        return locks.every()

    def lock(self, variant: str) -> str:
        """With which its guests boot."""
        return variant

    def parameters(self, given: Parameters) -> dict[str, str]:
        for name in given:
            if name not in self.presets and not name.startswith(self.free or ("\0",)):
                known = ", ".join([*self.presets, *(f"{prefix}..." for prefix in self.free)])
                raise Fail(
                    f"{self.name} has no parameter {name}; its parameters: {known or 'none'}"
                )
        return {**self.presets, **given}

    def notes(self) -> dict[str, str]:
        """What else decides what is measured."""
        return {}

    def asked(self, _variant: str, parameters: Parameters) -> Parameters:
        """What its guests are asked to measure of that variant."""
        return parameters

    def line(self, seconds: float, seed: int, parameters: Parameters) -> str:
        raise NotImplementedError

    def limit(self, seconds: float) -> float:
        return seconds + 2 * LEAD_SECONDS + MORE_SECONDS

    def answer(self, lines: Sequence[str]) -> Answer:
        """Of a guest that has done it."""
        raise NotImplementedError

    def late(self, _lines: Sequence[str], _seconds: float) -> Answer | None:
        """Of one that has not in time; None if it is to be taken for hung."""
        return None


def _words(parameters: Parameters) -> str:
    return " ".join(f"{name}={value}" for name, value in parameters.items())


class Loop(Load):
    name = "loop"
    what = "acquisitions of one spinlock in the kernel, by one pinned thread per vCPU"
    presets: ClassVar[Parameters] = {
        "workload": "sections",
        "sections_cs": "70",
        "sections_ncs": "330",
        "sample": "8",
        "preemptions": "0",
        "stall_ns": "1000",
    }
    free: ClassVar[tuple[str, ...]] = (
        "sections_",
        "mutexbench_",
        "lockloop_",
        "fairness_",
        "stress_latency_",
    )

    def line(self, seconds: float, seed: int, parameters: Parameters) -> str:
        told = {
            "milliseconds": str(round(1000 * seconds)),
            "lead": str(round(1000 * LEAD_SECONDS)),
            "seed": str(seed),
            **parameters,
        }
        return f"loop {_words(told)}"

    def answer(self, lines: Sequence[str]) -> Answer:
        said = json.loads(lines[-1])
        return Answer(
            work=sum(said["per_thread"]),
            seconds=said["window_ns"] * 1e-9,
            per_thread=said["per_thread"],
            latency=said["wait"],
            handover=said["handover"],
            hold=said["hold"],
            gap_ns=said["gap_ns"],
            events=said.get("events", {}),
            slices=said.get("slices", ""),
            wait_ns=said.get("waited_ns"),
            queue=_queue(said),
            wrong=said["wrong"],
            drained=said["drained"],
            drain_seconds=said["drain_ns"] * 1e-9,
        )


def _queue(said: Mapping[str, Any]) -> dict[str, float]:
    seen = said.get("queue_seen", 0)
    return {"mean": said["queue_sum"] / seen, "max": said["queue_max"]} if seen else {}


class TortureDice2019(Loop):
    name = "torture-dice2019"
    what = "locktorture of Dice & Kogan 2019: 20 steps of mt19937 inside, up to 400 outside"
    presets: ClassVar[Parameters] = {
        "workload": "mutexbench",
        "mutexbench_cs_steps": "20",
        "mutexbench_ncs_range": "400",
        "sample": "8",
        "preemptions": "0",
        "stall_ns": "1000",
    }
    free: ClassVar[tuple[str, ...]] = ()


class Rounds(Loop):
    """Its variants are barriers; the spinlock is the kernel's own, which takes no part."""

    name = "rounds"
    what = "meetings at a barrier in the kernel, of one pinned thread per vCPU"
    unit = "arrivals"
    presets: ClassVar[Parameters] = {
        "workload": "rounds",
        "rounds_work": "1000",
        "sample": "8",
        "irqs_off": "0",
    }
    free: ClassVar[tuple[str, ...]] = ("rounds_",)
    baseline = "spin_barrier"
    parks = "waits"
    planted = "busted_barrier"  # to show that the check works: it opens too early

    def checked(self, variant: str) -> str:
        return locks.checked(variant, self._checked_name)

    def every(self) -> list[str]:
        return [barrier.id for barrier in defs.load().barriers.values() if barrier.simulated]

    def lock(self, variant: str) -> str:
        """Waits park beside the kernel's own lock if that is asked for: docs/kernel.md."""
        _, at, words = variant.partition("@")
        return f"{locks.NATIVE}@overlock.park=auto{at}{words}"

    def asked(self, variant: str, parameters: Parameters) -> Parameters:
        return {**parameters, "barrier": locks.name_of(variant)}

    def _checked_name(self, name: str) -> str:
        known = [*self.every(), self.planted]
        return defs.known(
            {barrier: barrier for barrier in known},
            name,
            "barrier of a kernel",
            f"expected one of {', '.join(known)}",
        )


class Locktorture(Load):
    """The kernel's module prints its totals each second; what lies between two of them counts."""

    name = "locktorture"
    what = "the kernel's locktorture on a spinlock, one writer per vCPU"
    presets: ClassVar[Parameters] = {"nwriters_stress": ""}
    total = re.compile(r"\[ *(\d+\.\d+)\].*Writes: +Total: (\d+) .*Fail: (\d+)")

    def line(self, seconds: float, seed: int, parameters: Parameters) -> str:
        given = {name: value for name, value in parameters.items() if value}
        return f"locktorture {max(1, round(seconds))} {_words(given)}".strip()

    def answer(self, lines: Sequence[str]) -> Answer:
        found = [match.groups() for match in map(self.total.search, lines) if match]
        if len(found) < 4:
            raise Wrong(f"locktorture printed {len(found)} totals: {' | '.join(lines[-2:])}")
        # The first second has the start in it, and the last two lines come when all have stopped.
        (began, before, _), (ended, after, _), (_, _, failed) = found[0], found[-3], found[-1]
        return Answer(
            work=int(after) - int(before),
            seconds=float(ended) - float(began),
            wrong=f"locktorture found {failed} violations of exclusion" if int(failed) else "",
        )


class Repeated(Load):
    """Something small, again and again; each time prints how long it took."""

    time = re.compile(r"^Time: (\d+\.\d+)")

    def each(self) -> float:
        """How much it is, in the load's unit."""
        raise NotImplementedError

    def answer(self, lines: Sequence[str]) -> Answer:
        times = self._times(lines)
        if not times:
            raise Wrong(f"{self.name} printed no time: {' | '.join(lines[-2:])}")
        return Answer(work=self.each() * len(times), seconds=sum(times), wrong=said_wrong(lines))

    def late(self, lines: Sequence[str], seconds: float) -> Answer:
        """What was begun is unfinished: its rate is at most as if it had just ended."""
        done = len(self._times(lines)) + 1
        return Answer(work=self.each() * done, seconds=seconds, cut=True)

    def _times(self, lines: Sequence[str]) -> list[float]:
        return [float(match[1]) for match in map(self.time.match, lines) if match]


def said_wrong(lines: Sequence[str]) -> str:
    """A load that checks what it did says so in a line of its own."""
    return next((line.partition(": ")[2] for line in lines if line.startswith("wrong: ")), "")


class Hackbench(Repeated):
    """A large one hardly ends under a lock that collapses."""

    name = "hackbench"
    what = "hackbench: 5 senders and 5 receivers on pipes or sockets, 200 messages to each"
    unit = "messages"
    presets: ClassVar[Parameters] = {"groups": "1", "fds": "5", "loops": "200"}

    def line(self, seconds: float, seed: int, parameters: Parameters) -> str:
        of = parameters
        self._messages = int(of["groups"]) * int(of["fds"]) ** 2 * int(of["loops"])
        return f"hackbench-for {seconds:g} -s100 -g{of['groups']} -f{of['fds']} -l{of['loops']}"

    def each(self) -> float:
        return self._messages


class Pbzip2(Repeated):
    name = "pbzip2"
    what = "pbzip2 compresses 1 MiB of random bytes in memory, one thread per vCPU"
    unit = "KiB"
    part = "pbzip2"
    presets: ClassVar[Parameters] = {"threads": "0"}

    def line(self, seconds: float, seed: int, parameters: Parameters) -> str:
        return f"pbzip2-for {seconds:g} {parameters['threads']}"

    def each(self) -> float:
        return RANDOM_BYTES / 1024


class Totals(Load):
    """Says now and then how much it has done; what lies between the first and the last counts."""

    total = re.compile(r"^at (\d+\.\d+) (\d+)$")
    command: str  # of guest/loads
    jobs: str  # the parameter that says how many; 0: two for each vCPU

    def line(self, seconds: float, seed: int, parameters: Parameters) -> str:
        return f"{self.command} {max(1, round(seconds))} {parameters[self.jobs]}"

    def _totals(self, lines: Sequence[str]) -> list[tuple[float, int]]:
        return [(float(m[1]), int(m[2])) for m in map(self.total.match, lines) if m]

    def answer(self, lines: Sequence[str]) -> Answer:
        totals = self._totals(lines)
        if len(totals) < 2:
            raise Wrong(f"{self.name} printed {len(totals)} totals: {' | '.join(lines[-2:])}")
        (began, before), (ended, after) = totals[0], totals[-1]
        return Answer(work=after - before, seconds=ended - began, wrong=said_wrong(lines))

    def late(self, lines: Sequence[str], seconds: float) -> Answer:
        totals = self._totals(lines)
        done = totals[-1][1] if totals else 0
        return Answer(work=done + 1, seconds=seconds, cut=True)


class Ebizzy(Totals):
    name = "ebizzy"
    what = "ebizzy's mix: map 256 KiB, copy, search, unmap; two threads per vCPU"
    unit = "records"
    part = "ebizzy"
    command = "ebizzy-for"
    jobs = "threads"
    presets: ClassVar[Parameters] = {"threads": "0"}


class Kernbench(Totals):
    name = "kernbench"
    what = "a small kernbench: tcc compiles the same C files, two jobs per vCPU"
    unit = "files"
    part = "kernbench"
    command = "kernbench"
    jobs = "jobs"
    presets: ClassVar[Parameters] = {"jobs": "0"}


class Pgbench(Load):
    name = "pgbench"
    what = "pgbench on PostgreSQL in memory, two clients per vCPU"
    unit = "transactions"
    part = "pgbench"
    memory_mb = 1024
    presets: ClassVar[Parameters] = {"clients": "0"}
    done = re.compile(r"number of transactions actually processed: (\d+)")
    rate = re.compile(r"^tps = (\d+\.\d+)")
    progress = re.compile(r"^progress: (\d+\.\d+) s, (\d+\.\d+) tps")

    def line(self, seconds: float, seed: int, parameters: Parameters) -> str:
        return f"pgbench-for {max(1, round(seconds))} {parameters['clients']}"

    def answer(self, lines: Sequence[str]) -> Answer:
        done = next((int(m[1]) for m in map(self.done.search, lines) if m), 0)
        rate = next((float(m[1]) for m in map(self.rate.match, lines) if m), 0.0)
        if not done or not rate:
            raise Wrong(f"pgbench printed no rate: {' | '.join(lines[-2:])}")
        return Answer(work=done, seconds=done / rate, wrong=said_wrong(lines))

    def late(self, lines: Sequence[str], seconds: float) -> Answer:
        rates = [float(m[2]) for m in map(self.progress.match, lines) if m]
        return Answer(work=sum(rates) + 1, seconds=seconds, cut=True)


def counted(line: str) -> str:
    """The same in a kernel that counts, with what it counted."""
    return f"counted {line}"


def is_counter(line: str) -> bool:
    return line.startswith("counter ")


@dataclass
class Counters:
    """A counting kernel's file: events, of some how many at each place, and times."""

    events: dict[str, int] = field(default_factory=dict)
    places: dict[str, list[int]] = field(default_factory=dict)
    hold: list[list[float]] = field(default_factory=list)  # [ns, how often]
    slices: str = ""
    seconds: float = 0.0

    @classmethod
    def of(cls, lines: Sequence[str]) -> "Counters":
        found = cls()
        for line in lines:
            if is_counter(line):
                found._read(*line.split()[1:])
        return found

    def _read(self, name: str, *values: str) -> None:
        if name == "slices":
            self.slices = values[0]
        elif name == "seconds":
            self.seconds = float(values[0])
        elif name == "hold":
            self.hold = [[float(part) for part in value.split(":")] for value in values]
        else:
            self.events[name] = int(values[0])
            self.places[name] = [int(value) for value in values[1:]]

    def into(self, answer: Answer) -> Answer:
        """Times of as long as the counted part of the load took; what a load knows itself stays."""
        if not self.events.get("ACQUIRE"):
            return answer  # the kernel's own lock, of which it counts nothing
        times = {name: self.events.pop(name, 0) for name in ("wait_ns", "spin_ns", "hold_ns")}
        share = answer.seconds / max(self.seconds, answer.seconds)
        if not answer.events:
            answer.events, answer.slices = self.events, self.slices
        if answer.wait_ns is None:
            answer.wait_ns = round(times["wait_ns"] * share)
            answer.spin_ns = round(times["spin_ns"] * share)
        answer.hold = answer.hold or self.hold
        return answer


class Boot(Load):
    """Nothing more: what a counting kernel has counted since it began."""

    name = "boot"
    what = "booting, up to the end of the kernel's counters"
    steals = ("STEAL", "STEAL_TRY")

    def line(self, _seconds: float, _seed: int, _parameters: Parameters) -> str:
        return "counters-since-boot"

    def answer(self, lines: Sequence[str]) -> Answer:
        counters = Counters.of(lines)
        if not counters.events.get("ACQUIRE"):
            raise Wrong("this kernel has no counters; give --variant counted, and a lock")
        answer = Answer(work=counters.events["ACQUIRE"], seconds=counters.seconds)
        counters.into(answer)
        for name in self.steals:
            for place, count in enumerate(counters.places.get(name, [])):
                answer.events[f"{name}@{place}"] = count
        return answer


def answered(load: Load, lines: Sequence[str]) -> Answer:
    """What its guest says, which may be anything; Wrong says why it is no answer."""
    try:
        if isinstance(load, Boot):
            return checked(load.answer(lines))
        own = [line for line in lines if not is_counter(line)]
        return checked(Counters.of(lines).into(checked(load.answer(own))))
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise Wrong(f"{load.name}: the guest's answer cannot be read: {error}") from error


def checked(answer: Answer) -> Answer:
    """A ValueError says what in it is no answer."""
    answer = reading.made(Answer, vars(answer), "the answer")
    counts = (*answer.per_thread, *answer.events.values(), answer.wait_ns or 0, answer.spin_ns or 0)
    if answer.seconds <= 0 or min(answer.work, *counts) < 0:
        raise ValueError("there is no time, or a count is below 0")
    pairs = [*answer.latency, *answer.handover, *answer.hold]
    if any(len(pair) != 2 or min(pair) < 0 for pair in pairs):
        raise ValueError("the times are no pairs of time and count")
    if answer.queue and answer.queue.keys() != {"mean", "max"}:
        raise ValueError("the queue has no mean or max")
    return answer


LOADS: dict[str, Load] = {
    load.name: load
    for load in (
        Loop(),
        TortureDice2019(),
        Rounds(),
        Locktorture(),
        Hackbench(),
        Ebizzy(),
        Kernbench(),
        Pbzip2(),
        Pgbench(),
        Boot(),
    )
}


def known(name: str) -> Load:
    return defs.known(LOADS, name, "load", f"expected one of {', '.join(LOADS)}")


def given(texts: Sequence[str]) -> dict[str, str]:
    """`sections_cs=300` and so on."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (equals and re.fullmatch(r"\w+", name) and re.fullmatch(r"[\w.]+", value)):
            raise Fail(f"--parameter {text}: expected NAME=VALUE, as in sections_cs=300")
        found[name] = value
    return found
