# SPDX-License-Identifier: MIT
"""Loads that are drawn, so that a lock is judged on loads that nobody tuned it on.

Load K of a seed is the same on every machine and with every Python: the generator is seeded by the
text SEED/K, only its random() is used, and powers are Decimal's, which are exact to the last digit.

Odd loads are for judging. Whoever changes a lock looks at even ones only. Of three digits of the
section (of the rest, if there is none), the last is odd in odd loads: no load is in both halves.

Ranges, and why:

- Mean section 20 ns to 50 µs, four in five below 2 µs. 20 ns is a counter or a pointer; sections of
  allocators, queues and caches take 50 ns to 1 µs; few programs hold a mutex for longer than some
  microseconds, and beyond 50 µs a lock takes less than a percent of the time.
- Mean rest between sections: none in one of ten, else 10 ns to 50 µs. So some loads are saturated
  by two threads, and in others the lock is nearly always free.
- Threads: one and two in a twelfth each, for what a lock costs alone and what two pass to each
  other; else 1 to 32 for each CPU, because servers start tens of threads for each CPU of a
  container.
- One lock in half of the loads, else 2 to 10,000: from a striped table to a lock in each object. A
  Zipf exponent of 0.99 is YCSB's; 0.5 and 1.2 are around it. Half of these loads nest two locks.
- Two processes in 15 %, which divide the threads: waiters of one cannot see those of the other.
- `conditions` in 15 %: locks are also taken by threads that sleep for other reasons. These always
  have a rest: without one they would differ in the number of threads only.
"""

import random
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from enum import StrEnum
from typing import Any

from overlock_tools.core.model import quantities
from overlock_tools.core.model.loads import Load
from overlock_tools.core.model.plan import MOST_THREADS
from overlock_tools.core.system.errors import Fail

SECTION_NS, SHORT_NS, SHORT_SHARE = (20, 50_000), 2_000, 0.8
REST_NS, NO_REST_SHARE = (10, 50_000), 0.1
SHAPES = ("fixed", "uniform", "exponential", "pareto")
FEW_SHARE = 1 / 12  # of one thread, and of two
PER_CPU = (1, 32)
ONE_LOCK_SHARE = 0.5
LOCKS = (2, 10_000)
SKEWS = (0, 0.5, 0.99, 1.2)
NESTED_SHARE = 0.5
PROCESSES, PROCESSES_SHARE = 2, 0.15
CONDITIONS_SHARE = 0.15
EXACT = Context(prec=28)


class Half(StrEnum):
    TUNING = "tuning"
    JUDGING = "judging"
    ALL = "all"


def half_of(number: int) -> Half:
    """What a load may be used for: by its number, so that no one chooses."""
    return Half.JUDGING if number % 2 else Half.TUNING


@dataclass(frozen=True)
class DrawnLoad:
    seed: int
    number: int
    workload: str
    parameters: dict[str, Any]  # by what click calls the options' values
    processes: int
    few: int | None  # threads, however many CPUs there are
    per_cpu: float  # else

    def threads(self, cpus: int, most: int = MOST_THREADS) -> int:
        """Of each process, for so many CPUs; at most `most` of all together."""
        every = min(self.few or round(self.per_cpu * cpus), most)
        least = 2 if self.workload == "conditions" else 1  # a producer and a consumer
        return max(least, every // self.processes)

    def at(self, cpus: int, most: int = MOST_THREADS) -> Load:
        """The load for so many CPUs, as `overlock bench` takes it."""
        options = {"threads": str(self.threads(cpus, most)), **self.parameters}
        if self.processes > 1:
            options["neighbours"] = str(self.processes)
        return Load(str(self.number), self.what, self.workload, options)

    @property
    def what(self) -> str:
        """As `sections 1.2 µs / 310 ns pareto, 64 locks (Zipf 0.99, nested), 2 processes`."""
        said = self.parameters
        parts = [f"{self.workload} {_lengths(said)}"]
        if said.get("lock_count", 1) > 1:
            nested = ", nested" if said["nested"] else ""
            parts.append(f"{said['lock_count']:,} locks (Zipf {said['zipf']:g}{nested})")
        if self.processes > 1:
            parts.append(f"{self.processes} processes")
        return ", ".join(parts)


def _lengths(said: dict[str, Any]) -> str:
    rest = quantities.duration(said["ncs_ns"]) if said["ncs_ns"] else "0"
    if "cs_ns" not in said:
        return rest
    return f"{quantities.duration(said['cs_ns'])} / {rest} {said['shape']}"


def command(load: Load, locks: Sequence[str], baseline: str) -> str:
    """Measures these locks under the load."""
    words = ["overlock", "bench", load.workload, "--locks", ",".join(locks)]
    for key, value in load.options.items():
        words += [f"--{key.replace('_', '-')}", str(value)]
    return shlex.join([*words, "--baseline", baseline])


def chosen(seed: int, half: Half, count: int, only: str | None = None) -> list[DrawnLoad]:
    """The first `count` loads of a half, or those of `only`: `3,17`."""
    if only is not None:
        return [drawn(seed, number) for number in _numbers(only, half)]
    step = 1 if half is Half.ALL else 2
    first = 1 if half is Half.JUDGING else 0
    return [drawn(seed, first + step * i) for i in range(count)]


def _numbers(only: str, half: Half) -> list[int]:
    found: dict[int, None] = {}
    for word in filter(None, (word.strip() for word in only.split(","))):
        if not (word.isascii() and word.isdigit()):
            raise Fail(f"--only {only}: {word!r} is not the number of a load; as in --only 3,17")
        if half not in (Half.ALL, half_of(int(word))):
            of = half_of(int(word))
            raise Fail(f"--only {only}: load {int(word)} is for {of}; give --half {of}, or all")
        found[int(word)] = None
    if not found:
        raise Fail("--only names no load; give numbers, as in --only 3,17")
    return list(found)


def drawn(seed: int, number: int) -> DrawnLoad:
    draw = random.Random(f"{seed}/{number}").random  # noqa: S311 - no secret
    conditions = draw() < CONDITIONS_SHARE
    short = draw() < SHORT_SHARE
    lengths = (SECTION_NS[0], SHORT_NS) if short else (SHORT_NS, SECTION_NS[1])
    section = _three_digits(_between(draw(), *lengths), number % 2)
    no_rest = draw() < NO_REST_SHARE and not conditions
    rest = _three_digits(_between(draw(), *REST_NS), number % 2)
    shape = _one_of(SHAPES, draw())
    who = draw()
    few = 1 if who < FEW_SHARE else 2 if who < 2 * FEW_SHARE else None
    per_cpu = _between(draw(), *PER_CPU)
    one_lock = draw() < ONE_LOCK_SHARE
    locks = _between(draw(), *LOCKS)
    skew, nested = _one_of(SKEWS, draw()), int(draw() < NESTED_SHARE)
    processes = PROCESSES if draw() < PROCESSES_SHARE else 1
    parameters: dict[str, Any] = {"ncs_ns": 0 if no_rest else rest}
    if not conditions:
        parameters = {"cs_ns": section, **parameters, "shape": shape}
        if not one_lock:
            parameters |= {"lock_count": round(locks), "zipf": skew, "nested": nested}
    workload = "conditions" if conditions else "sections"
    return DrawnLoad(seed, number, workload, parameters, processes, few, per_cpu)


def _one_of(values: Sequence[Any], part: float) -> Any:
    return values[int(part * len(values))]


def _between(part: float, low: int, high: int) -> float:
    """Equal shares of each doubling."""
    ratio = EXACT.ln(EXACT.divide(Decimal(high), Decimal(low)))
    return float(EXACT.multiply(Decimal(low), EXACT.exp(EXACT.multiply(ratio, Decimal(part)))))


def _three_digits(value: float, odd: int) -> float:
    """The last of them odd, or even."""
    digits, _, power = f"{value:.2e}".partition("e")
    whole = int(digits.replace(".", ""))
    found = Decimal(whole - whole % 2 + odd).scaleb(int(power) - 2)
    return int(found) if found == int(found) else float(found)
