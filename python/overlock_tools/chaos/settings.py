# SPDX-License-Identifier: MIT
"""What `overlock chaos` is asked for, and how its library is told."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from overlock_tools.core.model import defs
from overlock_tools.core.system.errors import Fail

NS = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(ns|us|µs|ms|s)")
LONGEST_NS = 60 * NS["s"]
SITE = re.compile(r"[^,\n]+\+0x[0-9a-f]+:[a-z-]+")
BILLION = 1_000_000_000
FEWEST_MIXED = 3  # kinds, of which a seed may have some alone


def kinds() -> dict[str, str]:
    """The moments at which a thread may lose its CPU, and what they are."""
    return {one["name"].replace("_", "-"): one["what"] for one in defs.raw_lists()["chaos_kinds"]}


@dataclass(frozen=True)
class Length:
    """How long a thread is without a CPU."""

    least_ns: int
    most_ns: int

    @classmethod
    def parse(cls, text: str) -> "Length":
        parts = [TIME.fullmatch(part.strip()) for part in text.split("..", 1)]
        found = [round(float(p[1]) * NS[p[2]]) for p in parts if p]
        least, most = (found[0], found[-1]) if len(found) == len(parts) else (0, 0)
        if not 0 < least <= most <= LONGEST_NS:
            raise Fail(f"--length {text}: expected a time up to 60s, or two, as in 1ms..20ms")
        return cls(least, most)

    def __str__(self) -> str:
        ends = dict.fromkeys((self.least_ns, self.most_ns))
        return "..".join(map(_shown, ends))


def _shown(ns: int) -> str:
    """So that it is read as the same."""
    unit = next(unit for unit in ("s", "ms", "us", "ns") if ns % NS[unit] == 0)
    return f"{ns // NS[unit]}{unit}"


def checked_kinds(text: str) -> tuple[str, ...]:
    chosen = tuple(part.strip() for part in text.split(",") if part.strip())
    for name in chosen:
        defs.known(kinds(), name, "kind of site", f"the kinds are {', '.join(kinds())}")
    if not chosen:
        raise Fail(f"--at: expected some of {', '.join(kinds())}")
    return chosen


def checked_site(text: str) -> str:
    if not SITE.fullmatch(text) or text.rpartition(":")[2] not in kinds():
        raise Fail(f"--only {text}: expected OBJECT+0xOFFSET:KIND, as --bisect prints it")
    return text


@dataclass(frozen=True)
class Settings:
    seed: int
    rate: float
    length: Length
    at: tuple[str, ...] = ()  # all
    patterns: tuple[str, ...] = ()  # all
    only: tuple[str, ...] | None = None  # sites; None: all
    by: str = "nap"  # of by.WAYS

    def variables(self) -> dict[str, str]:
        told = {
            "SEED": str(self.seed),
            "RATE": str(round(self.rate * BILLION)),
            "LENGTH": f"{self.length.least_ns}-{self.length.most_ns}",
            "AT": ",".join(self.at),
            "SITES": "\n".join(self.patterns),
        }
        if self.only is not None:
            told["ONLY"] = ",".join(self.only)
        return {f"OVERLOCK_CHAOS_{name}": value for name, value in told.items()}

    def with_seed(self, seed: int) -> "Settings":
        """Each second seed has some of the kinds alone.

        A thread that is stopped at one site may hide what stopping it at another would show: one
        that is stopped with a lock starves others only while it is never stopped without it
        (swarm testing: Groce et al. 2012).
        """
        every = self.at or tuple(kinds())
        if seed % 2 or len(every) < FEWEST_MIXED or self.only is not None:
            return replace(self, seed=seed)
        draw = random.Random(seed)  # noqa: S311 - no secret
        chosen = [kind for kind in every if draw.random() < 0.5] or [draw.choice(every)]
        return replace(self, seed=seed, at=tuple(chosen))

    def with_only(self, sites: Sequence[str]) -> "Settings":
        return replace(self, only=tuple(sites))

    def options(self) -> list[str]:
        """On the command line, so that it repeats this."""
        words = ["--seed", str(self.seed), "--rate", f"{self.rate:g}", "--length", str(self.length)]
        if self.at:
            words += ["--at", ",".join(self.at)]
        if self.by != "nap":
            words += ["--by", self.by]
        for name, values in (("--sites", self.patterns), ("--only", self.only or ())):
            words += [word for value in values for word in (name, value)]
        return words


def without_ours(variables: dict[str, str]) -> dict[str, str]:
    """Without what an outer `overlock chaos` told."""
    return {k: v for k, v in variables.items() if not k.startswith("OVERLOCK_CHAOS_")}
