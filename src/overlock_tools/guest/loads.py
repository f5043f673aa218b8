# SPDX-License-Identifier: MIT
"""What a guest is given to do: the line its /init is told, and what its answer means."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from overlock_tools import defs
from overlock_tools.errors import Fail

# Turns before and after the counted time, so that guests that begin some ms apart still compete
# through all of it.
LEAD_SECONDS = 0.3
# What a module may take to be inserted, and its threads to be out.
MORE_SECONDS = 60.0

Parameters = Mapping[str, str]


class Wrong(Exception):
    """The guest did not do it."""


@dataclass
class Answer:
    """Of one guest."""

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


class Load:
    """One that is told for how long, and ends by itself."""

    name: str
    what: str
    unit = "acquisitions"
    presets: ClassVar[Parameters] = {}
    free: ClassVar[
        tuple[str, ...]
    ] = ()  # what else the guest's own program can be asked, by prefix

    def parameters(self, given: Parameters) -> dict[str, str]:
        for name in given:
            if name not in self.presets and not name.startswith(self.free or ("\0",)):
                known = ", ".join([*self.presets, *(f"{prefix}..." for prefix in self.free)])
                raise Fail(f"{self.name} has no parameter {name}; there are {known or 'none'}")
        return {**self.presets, **given}

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
    what = "turns at one spinlock in the kernel, a bound thread on each vCPU"
    presets: ClassVar[Parameters] = {
        "workload": "sections",
        "sections_cs": "70",
        "sections_ncs": "330",
        "sample": "8",
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
            wrong=said["wrong"],
            drained=said["drained"],
            drain_seconds=said["drain_ns"] * 1e-9,
        )


class Shape004(Loop):
    name = "torture-004"
    what = "004's locktorture: 20 steps of mt19937 inside, up to 400 outside"
    presets: ClassVar[Parameters] = {
        "workload": "mutexbench",
        "mutexbench_cs_steps": "20",
        "mutexbench_ncs_range": "400",
        "sample": "8",
    }
    free: ClassVar[tuple[str, ...]] = ()


class Locktorture(Load):
    """The kernel's module prints its totals each second; what lies between two of them counts."""

    name = "locktorture"
    what = "the kernel's locktorture on a spinlock, a writer on each vCPU"
    presets: ClassVar[Parameters] = {"nwriters_stress": ""}
    total = re.compile(r"\[ *(\d+\.\d+)\].*Writes: +Total: (\d+) .*Fail: (\d+)")

    def line(self, seconds: float, seed: int, parameters: Parameters) -> str:
        given = {name: value for name, value in parameters.items() if value}
        return f"locktorture {max(3, round(seconds))} {_words(given)}".strip()

    def answer(self, lines: Sequence[str]) -> Answer:
        found = [match.groups() for match in map(self.total.search, lines) if match]
        if len(found) < 3:
            raise Wrong(f"locktorture printed {len(found)} totals: {' | '.join(lines[-2:])}")
        # The first second has the start in it, and the last line comes when all have stopped.
        (began, before, _), (ended, after, _), (_, _, failed) = found[0], found[-2], found[-1]
        return Answer(
            work=int(after) - int(before),
            seconds=float(ended) - float(began),
            wrong=f"locktorture saw exclusion fail {failed} times" if int(failed) else "",
        )


class Hackbench(Load):
    """A small one again and again, for a large one hardly ends under a lock that collapses."""

    name = "hackbench"
    what = "hackbench: 5 senders and 5 receivers on pipes or sockets, 200 messages to each"
    unit = "messages"
    presets: ClassVar[Parameters] = {"groups": "1", "fds": "5", "loops": "200"}
    time = re.compile(r"^Time: (\d+\.\d+)")

    def line(self, seconds: float, seed: int, parameters: Parameters) -> str:
        of = parameters
        self._messages = int(of["groups"]) * int(of["fds"]) ** 2 * int(of["loops"])
        return f"hackbench-for {seconds:g} -s100 -g{of['groups']} -f{of['fds']} -l{of['loops']}"

    def answer(self, lines: Sequence[str]) -> Answer:
        times = self._times(lines)
        if not times:
            raise Wrong(f"hackbench printed no time: {' | '.join(lines[-2:])}")
        return Answer(work=self._messages * len(times), seconds=sum(times))

    def late(self, lines: Sequence[str], seconds: float) -> Answer:
        """What was begun is unfinished: its rate is at most as if it had just ended."""
        done = len(self._times(lines)) + 1
        return Answer(work=self._messages * done, seconds=seconds, cut=True)

    def _times(self, lines: Sequence[str]) -> list[float]:
        return [float(match[1]) for match in map(self.time.match, lines) if match]


LOADS: dict[str, Load] = {
    load.name: load for load in (Loop(), Shape004(), Locktorture(), Hackbench())
}


def known(name: str) -> Load:
    return defs.known(LOADS, name, "load", f"there are {', '.join(LOADS)}")


def given(texts: Sequence[str]) -> dict[str, str]:
    """`sections_cs=300` and so on."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (equals and re.fullmatch(r"\w+", name) and re.fullmatch(r"[\w.]+", value)):
            raise Fail(f"--parameter {text}: give NAME=VALUE, as in sections_cs=300")
        found[name] = value
    return found
