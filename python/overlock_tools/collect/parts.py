# SPDX-License-Identifier: MIT
"""What is measured, in this order, and which part of the time each may take."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from overlock_tools.core.system import native
from overlock_tools.core.system.errors import FAILED, Fail

# Locks that collapse, locks that do not, and the C library's own.
LOCKS = "ticket,mcs,qspin,tas,tas_yield,paced,rota,pv_byte,pthread_mutex"
CELL_S = 0.3  # of a measurement: its time, and what starting it takes
MEASURED_S = 0.25
MOST_ROUNDS = 22
# Of programs: a lock that collapses and two that do not; natively, they are measured anyway.
APPS_LOCKS = "ticket,tas_yield,paced"
APP_LEAST_S = 90.0
APP_SET_UP_S = 15.0
# Four threads that want Python's lock: what a profile of them says is known.
CONTENDS = (
    "import threading, time; end = time.time() + {seconds}\n"
    "def work():\n"
    "    while time.time() < end: sum(range(1000))\n"
    "threads = [threading.Thread(target=work) for _ in range(4)]\n"
    "[thread.start() for thread in threads]; [thread.join() for thread in threads]"
)


@dataclass(frozen=True)
class Around:
    """The machine, and what was asked for."""

    cpus: int
    name: str
    apps: tuple[str, ...] = ()

    def threads(self) -> list[int]:
        """From one to four for each CPU."""
        wanted = (1, 2, self.cpus // 2, self.cpus, 2 * self.cpus, 4 * self.cpus)
        return sorted({n for n in wanted if n})


@dataclass(frozen=True)
class Part:
    name: str
    file: str  # that the result has
    share: float  # of the time
    words: Callable[[Around, float], list[str]]  # after `overlock`; within so many seconds
    needs: tuple[str, ...] = ()  # native programs
    prints: bool = False  # the file is what it prints
    codes: tuple[int, ...] = (0,)  # with which the file is whole
    least_s: float = 0.0

    def missing(self) -> str:
        """Why it cannot be measured here; empty: it can."""
        for program in self.needs:
            try:
                native.file(program)
            except Fail as error:
                return error.message
        return ""


def _sections(*options: str) -> Callable[[Around, float], list[str]]:
    def words(around: Around, seconds: float) -> list[str]:
        threads = around.threads()
        cells = (LOCKS.count(",") + 1) * len(threads)
        rounds = max(3, min(MOST_ROUNDS, int(seconds / (cells * CELL_S))))
        return [
            *("bench", "sections", "--locks", LOCKS, "--threads", ",".join(map(str, threads))),
            *("--rounds", str(rounds), "--seconds", str(MEASURED_S), "--json", "{file}", *options),
        ]

    return words


def _profile(_: Around, seconds: float) -> list[str]:
    code = CONTENDS.format(seconds=min(3.0, seconds / 4))
    return ["profile", "--json", "{file}", "--", sys.executable, "-c", code]


def _calibrate(around: Around, _: float) -> list[str]:
    return ["sim", "calibrate", "--title", around.name, "-o", "{file}"]


def _validate(*_: object) -> list[str]:
    return ["sim", "validate", "--machine", "machine.toml", "-o", "{file}"]


def _app(name: str) -> Callable[[Around, float], list[str]]:
    def words(_: Around, seconds: float) -> list[str]:
        minutes = f"{(seconds - APP_SET_UP_S) / 60:.2f}"
        measured = ("--locks", APPS_LOCKS, "--warm-up", "0.2", "--budget", minutes)
        return ["apps", "run", name, *measured, "-o", "apps"]

    return words


PARTS = (
    Part("doctor", "doctor.json", 0.03, lambda *_: ["doctor", "--json"], prints=True),
    Part("sections", "bench-sections.json", 0.3, _sections(), ("overlock-bench",)),
    Part(
        "long-sections",
        "bench-long-sections.json",
        0.2,
        _sections("--cs-ns", "5000", "--ncs-ns", "20000"),
        ("overlock-bench",),
    ),
    Part("profile", "profile.json", 0.05, _profile),
    Part("calibrate", "machine.toml", 0.1, _calibrate, ("overlock-costs",)),
    Part(
        "validate",
        "validation.json",
        0.3,
        _validate,
        ("overlock-sim", "overlock-bench"),
        codes=(0, FAILED),  # its verdict may be that the simulator is wrong
        least_s=120,
    ),
)


def chosen(only: str | None, apps: tuple[str, ...]) -> list[Part]:
    every = {part.name: part for part in PARTS} | {
        name: Part(name, f"bench-{name}.json", 0.2, _app(name), least_s=APP_LEAST_S)
        for name in apps
    }
    names = [*only.split(","), *apps] if only else [*every]
    if unknown := [name for name in names if name not in every]:
        raise Fail(f"--only: there is no part {unknown[0]}; the parts are {', '.join(every)}")
    return [every[name] for name in names]


def times(parts: list[Part], budget_s: float) -> Mapping[str, float]:
    whole = sum(part.share for part in parts)
    return {part.name: budget_s * part.share / whole for part in parts}
