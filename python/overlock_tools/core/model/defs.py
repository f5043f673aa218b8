# SPDX-License-Identifier: MIT
"""The lists of locks, peers, events and tunables, as the build wrote them to defs.json."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any, TypeVar

from overlock_tools.core.ordinary import wrapping
from overlock_tools.core.system import native
from overlock_tools.core.system.errors import Fail, say

ORDINARY = (
    "only `overlock check` and `overlock bench` take a lock with functions of its own; others need "
    "one for the platform layer: `overlock new mine` writes mine.h"
)
T = TypeVar("T")
MEETS = "rounds"  # the workload whose subjects are barriers
ELIDES = "rtm"  # the family of peers that elide by transactions


@dataclass(frozen=True)
class Lock:
    id: str
    gives_up: str  # "timed" or "waits"
    traits: tuple[str, ...]
    size: int
    no_spinlock: str  # why it cannot be a pthread_spinlock_t; empty if it can
    source: str
    what: str


@dataclass(frozen=True)
class Peer:
    """Somebody else's lock: bench/peers.def."""

    id: str
    family: str
    package: str  # Debian's, to build it with
    source: str
    what: str


@dataclass(frozen=True)
class Barrier:
    """A subject of the workload `rounds`: bench/workload/barriers.def."""

    id: str
    simulated: bool  # it can be
    source: str
    what: str


@dataclass(frozen=True)
class Event:
    name: str
    what: str


UNITS = {
    "ns": "a time in ns",
    "finite": "a time in ns",
    "count": "a number",
    "power": "a power of two",
}


@dataclass(frozen=True)
class Tunable:
    name: str
    unit: str  # "ns", "finite": without inf, "count", or "power": of two
    default: int
    least: int
    most: int
    when: str  # "any" time, or only while nobody waits: "idle"
    source: str  # of the default
    what: str

    @property
    def is_time(self) -> bool:
        return self.unit in ("ns", "finite")

    @property
    def option(self) -> str:
        """The option of `overlock run`."""
        return f"--{self.name.replace('_', '-')}" + ("-ns" if self.is_time else "")

    @property
    def range(self) -> str:
        return f"{self.least} to {self.most}" + (" or inf" if self.unit == "ns" else "")

    @property
    def variable(self) -> str:
        """The environment variable the library reads it from."""
        return f"OVERLOCK_{self.name.upper()}" + ("_NS" if self.is_time else "")

    def check(self, text: str) -> str:
        """`text` as the library takes it; refuses what the library would refuse."""
        if self.unit == "ns" and text == "inf":
            return text
        digits = text.lstrip("0") or text[:1]  # Python refuses to read thousands
        if digits.isascii() and digits.isdigit() and len(digits) < 20 and self.allows(int(digits)):
            return digits
        raise Fail(f"{self.name}={text} is not {UNITS[self.unit]} from {self.range}")

    def allows(self, value: int) -> bool:
        fits = self.unit != "power" or value & (value - 1) == 0
        return fits and self.least <= value <= self.most


@dataclass(frozen=True)
class Option:
    """Of `overlock run`: run/options.def says what each has."""

    name: str
    kind: str
    argument: str
    preset: str
    variable: str
    what: str

    @property
    def word(self) -> str:
        return f"--{self.name.replace('_', '-')}"

    @property
    def unset(self) -> Any:
        """Its value where it is not given."""
        return {"FLAG": False, "SWITCH": True, "TEXTS": ()}.get(self.kind, self.preset or None)


@dataclass(frozen=True)
class Defs:
    abi: int
    version: str
    locks: dict[str, Lock]
    aliases: dict[str, str]  # names that locks had, and those locks
    peers: dict[str, Peer]
    barriers: dict[str, Barrier]
    events: dict[str, Event]
    tunables: dict[str, Tunable]
    variables: dict[str, str]  # what `overlock run` tells the preloaded library, and what it means
    options: dict[str, Option]  # of `overlock run`
    sources: dict[str, str]  # of knowledge of preemption, and what they know
    live: dict[str, int]  # where the counters are in a file of OVERLOCK_LIVE

    def lock(self, name: str) -> Lock:
        return known(self.locks, name, "lock", "`overlock locks` lists them")

    def tunable(self, name: str) -> Tunable:
        return known(self.tunables, name, "tunable", "`overlock tunables` lists them")


def known(table: Mapping[str, T], name: str, kind: str, where: str) -> T:
    """The entry of that name, or one line that says which name is nearest."""
    if kind.endswith("lock"):
        name = now_called(name, table)
    if name in table:
        return table[name]
    if kind.endswith("lock") and wrapping.is_ordinary(name):
        raise Fail(f"{name}: {ORDINARY}")
    near = get_close_matches(name, table, 1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise Fail(f"unknown {kind} {name!r}; {hint}{where}")


def now_called(variant: str, locks: Mapping[str, Any]) -> str:
    """With the name that its lock has now; a use of the old one is said once."""
    name, now = (words.partition("@")[0] for words in (variant, renamed(variant)))
    if name in locks or now not in locks:
        return variant
    say_renamed(name, now)
    return renamed(variant)


def renamed(variant: str) -> str:
    """The same, unsaid, of what older results have; as it is where nothing is built."""
    name, at, settings = variant.partition("@")
    try:
        return load().aliases.get(name, name) + at + settings
    except Fail:
        return variant


@cache
def say_renamed(name: str, now: str) -> None:
    say(f"the lock {name} is called {now} now; use the new name")


def checked_variant(variant: str, locks: Mapping[str, Any], where: str) -> str:
    """`preemptable_ticket@tau=0`, its name and its settings known to exist and in range."""
    name, *settings = now_called(variant, locks).split("@")
    if name not in locks and name in load().locks:
        raise Fail(f"{name} is a lock, and here a barrier is expected, as {next(iter(locks))}")
    if name not in locks and name in load().barriers:
        raise Fail(f"{name} is a barrier, which only the workload {MEETS} takes")
    known(locks, name, "lock", where)
    checked = [name]
    for setting in settings:
        tunable, equals, value = setting.partition("=")
        if not equals:
            raise Fail(f"{variant}: expected NAME=VALUE after @, as in preemptable_ticket@tau=0")
        checked.append(f"{tunable}={load().tunable(tunable).check(value)}")
    return "@".join(checked)


@cache
def raw_lists() -> dict[str, Any]:
    """All that defs.json has."""
    found: dict[str, Any] = json.loads(native.file("defs.json").read_text())
    return found


@cache
def load() -> Defs:
    raw = raw_lists()
    locks = [Lock(**{**entry, "traits": tuple(entry["traits"])}) for entry in raw["locks"]]
    return Defs(
        raw["abi"],
        raw["version"],
        {lock.id: lock for lock in locks},
        {entry["name"]: entry["id"] for entry in raw["aliases"]},
        {entry["id"]: Peer(**entry) for entry in raw["peers"]},
        {entry["id"]: Barrier(**entry) for entry in raw["barriers"]},
        {entry["name"]: Event(**entry) for entry in raw["events"]},
        {entry["name"]: Tunable(**entry) for entry in raw["tunables"]},
        {entry["name"]: entry["what"] for entry in raw["variables"]},
        {entry["name"]: Option(**entry) for entry in raw["options"]},
        {entry["name"]: entry["what"] for entry in raw["sources"]},
        raw["live"],
    )
