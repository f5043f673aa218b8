# SPDX-License-Identifier: MIT
"""Locks beside glibc's mutex on the program itself, interleaved: is one proven to be faster?"""

import random
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from overlock_tools.core.model import defs, stats
from overlock_tools.core.model.stats import Ratio
from overlock_tools.core.system.errors import FAILED, Fail
from overlock_tools.core.system.repeated import Input
from overlock_tools.run import config


@dataclass(frozen=True)
class Program:
    """What is run, and what tells how long its work takes: its own end, or that of the load."""

    path: Path
    args: tuple[str, ...]
    code: int  # with which it has to end
    load: str | None
    given: Input = field(default_factory=Input)

    def seconds(self, variables: Mapping[str, str], launched: Sequence[str] = ()) -> float:
        """With what has to be started before it: what the user will start takes its time, too."""
        with self.given.run() as read:
            return self._seconds(variables, launched, read)

    def _seconds(self, variables: Mapping[str, str], launched: Sequence[str], read: int) -> float:
        began = time.perf_counter()
        child = subprocess.Popen(
            [*launched, *self.args],
            executable=launched[0] if launched else self.path.absolute(),
            env=variables,
            stdin=read,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            if self.load:
                apply(self.load)
            else:
                child.wait()
            taken, code = time.perf_counter() - began, child.poll()
        finally:
            child.terminate()
            child.wait()
        if code != (None if self.load else self.code):
            raise Fail(f"{self.path.name} {self._ended(code)}; give a command to repeat", FAILED)
        return taken

    def _ended(self, code: int | None) -> str:
        if self.load:
            return f"ended with {code} before the load did"
        return f"ended with {code}, and with {self.code} before"


def apply(load: str) -> None:
    done = subprocess.run(load, shell=True, stdout=subprocess.DEVNULL, check=False)  # noqa: S602
    if done.returncode:
        raise Fail(f"the load ended with {done.returncode}: {load}", FAILED)


@dataclass(frozen=True)
class Candidate:
    lock: str  # "glibc": without overlock
    tunables: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.lock} with these tunables" if self.tunables else self.lock

    @property
    def options(self) -> list[str]:
        """Of `overlock run`; the launcher understands all of them, so Python is not started."""
        known = defs.load()
        tuned = [
            word for name, value in self.tunables for word in (known.tunable(name).option, value)
        ]
        return ["run", "--lock", self.lock, *tuned, "--"]

    @property
    def choices(self) -> config.Choices:
        """glibc is no lock of `run --lock`: a rule for everything."""
        if self.lock == config.GLIBC:
            return config.Choices(None, {}, [config.Site("*", config.GLIBC)])
        return config.Choices(self.lock, dict(self.tunables))


GLIBC = Candidate(config.GLIBC)
CANDIDATES = 2  # beside glibc: the default of `overlock run`, and the proposal


@dataclass(frozen=True)
class Verdict:
    best: Candidate  # glibc, unless another is proven to be faster
    gains: Mapping[Candidate, Ratio]
    rounds: int

    @property
    def why(self) -> str:
        parts = [f"{candidate} {shown(gain)}" for candidate, gain in self.gains.items()]
        listed = f"speed beside glibc's mutex, {self.rounds} rounds: {', '.join(parts)}"
        return listed if self.best is not GLIBC else f"no lock is proven to be faster; {listed}"


def shown(gain: Ratio) -> str:
    if not gain.known:
        return f"{gain.value:.2f}× (too few rounds)"
    return f"{gain.value:.2f}× ({gain.low:.2f} to {gain.high:.2f})"


# Of each, so that all of them together hold at the usual one.
CONFIDENCE = 1 - (1 - stats.CONFIDENCE) / CANDIDATES
ROUNDS = stats.least_rounds(CONFIDENCE)


def compare(
    timed: Callable[[Candidate], float], candidates: list[Candidate], rounds: int
) -> Verdict:
    """Each round has all of them and glibc, in an order of its own."""
    everyone = [GLIBC, *candidates]
    speeds: dict[Candidate, list[float]] = {candidate: [] for candidate in everyone}
    order = random.Random(0)  # noqa: S311 - an order, no secret
    for _ in range(rounds):
        for candidate in order.sample(everyone, len(everyone)):
            speeds[candidate].append(1 / timed(candidate))
    gains = {c: stats.ratio(speeds[c], speeds[GLIBC], CONFIDENCE) for c in candidates}
    proven = [candidate for candidate in candidates if gains[candidate].above_one]
    best = max(proven, key=lambda c: gains[c].value, default=GLIBC)
    return Verdict(best, gains, rounds)
