# SPDX-License-Identifier: MIT
"""One list of facts: each with its name, how it is found, and what it means."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from overlock_tools.core.system.kernel_files import Tree, Unknown
from overlock_tools.doctor.inside import Inside
from overlock_tools.doctor.probe import Probe
from overlock_tools.doctor.watch import Watch


@dataclass(frozen=True)
class World:
    """Everything that a fact is found in."""

    tree: Tree
    probe: Probe
    watch: Watch
    pid: int | None = None
    inside: Inside | None = None  # of the process

    @property
    def who(self) -> str:
        """The process whose group and CPUs are looked at, as /proc names it."""
        return str(self.pid or "self")


class Found(NamedTuple):
    value: Any
    text: str  # short, fit to stand within a sentence
    details: tuple[str, ...] = ()  # lines for `--verbose`


@dataclass(frozen=True)
class Fact:
    id: str
    group: str
    name: str
    how: str
    means: str
    find: Callable[[World], Found]


@dataclass(frozen=True)
class Known:
    """A fact and what was found: either a value or why there is none."""

    fact: Fact
    value: Any
    text: str
    why_not: str | None = None
    details: tuple[str, ...] = ()


FACTS: list[Fact] = []
Find = Callable[[World], Found]


def fact(id_: str, group: str, name: str, *, how: str, means: str) -> Callable[[Find], Find]:
    """Adds the fact that the function finds to the list."""

    def add(find: Find) -> Find:
        FACTS.append(Fact(id_, group, name, how, means, find))
        return find

    return add


def learn(one: Fact, world: World) -> Known:
    try:
        found = one.find(world)
    except Unknown as why:
        return Known(one, None, "unknown", str(why))
    except (ValueError, LookupError, ArithmeticError) as error:
        # A file that is there and is not what Linux writes: somebody put it in the kernel's place.
        return Known(one, None, "unknown", f"malformed data: {error!r}")
    return Known(one, found.value, found.text, details=found.details)
