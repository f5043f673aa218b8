# SPDX-License-Identifier: MIT
"""What is to be measured, in which order, and how long it takes."""

import datetime
import hashlib
import random
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from overlock_tools.core.model import paper_settings, stats
from overlock_tools.core.model.workloads import Workload
from overlock_tools.core.system.errors import Fail

# Of the same time many short cells tell most, for what disturbs a machine lasts longer than a cell:
# docs/measuring.md, Statistics.
ROUNDS = 22
SECONDS = 0.1
LIMIT_SECONDS = 300.0  # of fixed work, where no native time is known
# What a cell takes beside its time: warm-up, start and end, and the last waiters' way out.
WARM_UP = 0.1
OVERHEAD_SECONDS = 0.06
# What a budget may be cut down to before it is refused.
LEAST_ROUNDS = stats.rounds_needed()
LEAST_SECONDS = 0.05
# Beyond this a cell measures the kernel's handling of threads rather than locks.
MOST_THREADS = 10_000


@dataclass(frozen=True)
class Place:
    variant: str
    threads: int


@dataclass(frozen=True)
class Plan:
    workload: Workload
    variants: list[str]
    threads: list[int]
    baseline: str
    seed: int
    rounds: int = ROUNDS
    seconds: float = SECONDS
    turns: int | None = None  # fixed work of each thread; `seconds` is its limit then
    parameters: dict[str, Any] = field(default_factory=dict)  # of the workload, all of them
    cell: dict[str, Any] = field(default_factory=dict)  # copies, phases, slice_us
    scenario: dict[str, Any] = field(default_factory=dict)  # as the options say it
    headers: dict[str, Path] = field(default_factory=dict)  # locks from outside the tree
    cflags: str = ""  # with which those are compiled
    cpus: int | None = None
    counters: bool = False
    latency: bool = True
    pilot: bool = False
    field: int | None = None  # so many of the baseline's rivals go on after round 1
    always: tuple[str, ...] = ()  # go on after round 1, whatever they did
    as_in: str | None = None
    otherwise: str = ""  # than that paper: "0.3 s"
    statistic: str = "median"
    knowledge: str | None = None  # sources of it, if not the usual ones
    trace: Path | None = None  # that is replayed

    @property
    def title(self) -> str:
        but = f", but {self.otherwise}" if self.otherwise else ""
        as_in = f", as in {paper_settings.CITED[self.as_in]}{but}" if self.as_in else ""
        return self.workload.title + as_in

    @property
    def places(self) -> list[Place]:
        return [Place(variant, n) for n in self.threads for variant in self.variants]

    @property
    def cells(self) -> int:
        return len(self.places) * self.rounds

    def order(self, round_number: int) -> list[Place]:
        """Of a round; the same whenever it is asked, so that a result can be taken up again."""
        places = self.places
        draw = random.Random(f"{self.seed} {round_number}")  # noqa: S311 - no secret
        draw.shuffle(places)
        return places

    def line(self, round_number: int, place: Place, seconds: float) -> dict[str, object]:
        """The request for a cell, to overlock-bench."""
        told: dict[str, object] = {
            "workload": self.workload.name,
            "variant": place.variant,
            "threads": place.threads,
            "seconds": f"{seconds:g}",
            "seed": (self.seed + round_number) % 2**32,  # one for all contenders of a round
        }
        if self.turns:
            told["turns"] = self.turns
        if not self.latency:
            told["measure"] = 0
        return {**told, **self.parameters, **self.cell}

    def settings(self, cpus: int) -> dict[str, Any]:
        """For the result; what must be the same for it to be taken up again."""
        return {
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "cpus": cpus,
            "rounds": self.rounds,
            "seconds": self.seconds,
            "turns": self.turns,
            "seed": self.seed,
            "pilot": self.pilot,
            "field": self.field,
            "latency": self.latency,
            "counters": self.counters,
            "as_in": self.as_in,
            "otherwise": self.otherwise,
            "loaded": {name: _digest(header) for name, header in self.headers.items()},
            **({"cflags": self.cflags} if self.cflags else {}),
            **({"trace": _digest(self.trace)} if self.trace else {}),
        }

    def command(self) -> str:
        """Measures the same again."""
        what = ["--replay", self.trace] if self.trace else [self.workload.name]
        words: list[object] = ["overlock", "bench", *what, "--locks", self._locks()]
        if not self.trace:
            words += ["--threads", ",".join(map(str, self.threads))]
        words += ["--baseline", self.baseline]
        words += ["--rounds", self.rounds, "--seconds", f"{self.seconds:g}", "--seed", self.seed]
        words += ["--turns", self.turns] if self.turns else []
        words += ["--as-in", self.as_in] if self.as_in else []
        if self.cpus:
            words += ["--cpus", self.cpus]
        for parameter in self.workload.parameters:
            words += [parameter.option, self.parameters[parameter.name]]
        for name, value in self.scenario.items():
            words += [f"--{name}", value]
        words += ["--knowledge", self.knowledge] if self.knowledge else []
        words += [f"--cflags={self.cflags}"] if self.cflags else []
        words += ["--pilot" if self.pilot else "--no-pilot"]
        words += ["--field", self.field] if self.field else []
        words += ["--counters"] if self.counters else []
        words += [] if self.latency else ["--no-latency"]
        return shlex.join(map(str, words))

    def _locks(self) -> str:
        def named(variant: str) -> str:
            name, at, settings = variant.partition("@")
            return f"{self.headers[name]}{at}{settings}" if name in self.headers else variant

        return ",".join(map(named, self.variants))


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def cell_seconds(seconds: float) -> float:
    """How long a cell takes, about."""
    return seconds * (1 + WARM_UP) + OVERHEAD_SECONDS


def fitting(places: int, budget_seconds: float) -> tuple[int, float]:
    """Rounds and seconds per cell with which so many places end in time.

    Fewer rounds first, then shorter cells: both cost certainty, but rounds are what intervals are
    made of.
    """
    rounds = int(budget_seconds / (places * cell_seconds(SECONDS)))
    if rounds >= LEAST_ROUNDS:
        return min(rounds, ROUNDS), SECONDS
    each = budget_seconds / (places * LEAST_ROUNDS)
    seconds = (each - OVERHEAD_SECONDS) / (1 + WARM_UP)
    if seconds < LEAST_SECONDS:
        least = places * LEAST_ROUNDS * cell_seconds(LEAST_SECONDS) / 60
        raise Fail(
            f"--budget {budget_seconds / 60:g}: {places} cells per round need at least "
            f"{least:.0f} minutes; increase it, or give fewer --locks or --threads"
        )
    return LEAST_ROUNDS, round(seconds, 3)


def in_words(seconds: float) -> str:
    """A time to wait, roughly."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def parse_threads(text: str, cpus: int) -> list[int]:
    """`4,8` or, as multiples of the CPUs, `1x,2x`."""
    threads = set()
    for word in _words(text):
        number = word.removesuffix("x")
        if not (number.isascii() and number.isdigit()):
            raise Fail(f"--threads {text}: {word!r} is neither a number nor a multiple such as 2x")
        threads.add(int(number) * (cpus if word.endswith("x") else 1))
    if not threads or min(threads) < 1 or max(threads) > MOST_THREADS:
        raise Fail(f"--threads {text}: expected 1 to {MOST_THREADS} threads, as in 4,8,16 or 1x,2x")
    return sorted(threads)


def _words(text: str) -> Iterable[str]:
    return filter(None, (word.strip() for word in text.split(",")))
