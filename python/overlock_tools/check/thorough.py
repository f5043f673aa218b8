# SPDX-License-Identifier: MIT
"""What `overlock check LOCK` explores of what is not chosen: models, sizes, scenarios, roles."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from overlock_tools.check import capabilities
from overlock_tools.check.job import DPOR, LOCKS, Size, Subject

ALL = "all"
SECONDS = 60.0
CHOICES = ("scenarios", "models", "sizes", "contexts", "acquisitions")
OTHERS = ("weaken", "weaken_line", "replay")
# Which of them is the lock's use, at sizes that find most mistakes. Each other one costs little.
MAIN = (LOCKS, "count", "wait")
SIZES = (Size(2, 2), Size(3, 1))
SMALL = Size(2, 1)
# Letters of --roles that mean something in one scenario only.
OF_WAIT, OF_COUNT = set("sbSB"), set("du")


class Cell(NamedTuple):
    scenario: str
    model: str
    size: Size
    roles: str


def is_asked_for(options: Mapping[str, Any]) -> bool:
    chosen = any(options[name] not in (None, ()) for name in CHOICES)
    other = any(options[name] for name in OTHERS) or options["search"] != DPOR
    every = any(ALL in words.split(",") for words in options["locks"])
    return bool(options["locks"]) and not (chosen or other or every)


def cells(subject: Subject, given: str) -> list[Cell]:
    """The cheap ones that find mistakes first."""
    apply, first = _apply(subject, given), main(subject, given)
    at = [(name, size) for size in SIZES for name in first]
    at += [(name, SMALL) for name in apply if name not in first]
    return [
        Cell(name, model, size, letters)
        for name, size in at
        for letters in roles(subject, name, size, given)
        for model in capabilities.load().models
    ]


def main(subject: Subject, given: str) -> list[str]:
    """The scenarios that are the subject's use, with these --roles."""
    if waits := capabilities.of_wait(subject):
        return [waits[0]]
    apply = _apply(subject, given)
    return [name for name in MAIN if name in apply]


def roles(subject: Subject, scenario: str, size: Size, given: str) -> list[str]:
    """None first; then readers and broadcasts, if the lock has them."""
    can = capabilities.supported(subject)
    if given:
        return [given]
    if scenario == LOCKS and can.readers:
        return ["", *_with_readers(size.contexts)]
    if scenario == "wait" and can.broadcasts and size.contexts > 2:
        return ["", "w" * (size.contexts - 1) + "b"]
    return [""]


def _with_readers(contexts: int) -> list[str]:
    """One reader among writers, and one writer among readers."""
    if contexts < 2:
        return []
    mixed = ("w" * (contexts - readers) + "r" * readers for readers in (1, contexts - 1))
    return list(dict.fromkeys(mixed))


def _apply(subject: Subject, given: str) -> list[str]:
    if waits := capabilities.of_wait(subject):
        return list(waits)
    can = capabilities.supported(subject).scenarios & _meant(given)
    return [name for name in capabilities.load().scenarios if name in can]


def _meant(roles: str) -> frozenset[str]:
    """The scenarios in which these letters say something."""
    explored = capabilities.load().explored
    if OF_WAIT & set(roles):
        return frozenset({"wait"})
    if OF_COUNT & set(roles):
        return frozenset({"count"})
    return explored - {"wait", "count"} if roles else explored
