# SPDX-License-Identifier: MIT
"""What a rule is, and the facts that it asks for."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from math import inf, nan
from typing import Any

from overlock_tools.doctor.fact import Known


class Answer(Enum):
    """To: does preemption hurt? The first that some rule gives is the verdict's."""

    YES = "Yes, now"
    LIKELY = "Probably"
    POSSIBLE = "Possibly"
    BLIND = "Unknown"
    NO = "No sign of it"
    NOTE = "Note"  # never a verdict


class Scope(Enum):
    """Whom a rule speaks of: the verdict on a process is not given by what its machine could do."""

    BOTH = "both"
    MACHINE = "machine"
    PROCESS = "process"


class Values:
    """Facts by their ids. What is unknown compares with nothing, so no rule fires for it."""

    def __init__(self, known: list[Known]) -> None:
        self.known = {one.fact.id: one for one in known}

    def __getitem__(self, id_: str) -> Any:
        one = self.known.get(id_)
        return nan if one is None or one.why_not is not None else one.value

    def part(self, id_: str, name: str) -> Any:
        """Of a fact with several values; not a number where it has none of that name."""
        value = self[id_]
        return value.get(name, nan) if isinstance(value, dict) else nan

    def some(self, id_: str, name: str) -> bool:
        """Of a fact with a list of entries: whether it holds for one."""
        value = self[id_]
        return isinstance(value, list) and any(entry[name] for entry in value)

    def unknown(self, id_: str) -> bool:
        return id_ in self.known and self.known[id_].why_not is not None

    @property
    def is_guest(self) -> bool:
        return not self.unknown("hypervisor") and self["hypervisor"] not in ("none", nan)

    @property
    def cpus(self) -> float:
        """That its threads get at the most: those it may use, or what its quota pays for."""
        return float(min(self["cpus_usable"], self["quota"] or inf))

    @property
    def texts(self) -> dict[str, str]:
        return {id_: one.why_not or one.text for id_, one in self.known.items()}


@dataclass(frozen=True)
class Rule:
    id: str
    answer: Answer
    scope: Scope
    when: Callable[[Values], bool]
    verdict: str  # {fact} is that fact's text, here and in the advice
    advice: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    rule: Rule
    verdict: str
    advice: tuple[str, ...]


def finding(rule: Rule, values: Values) -> Finding:
    verdict, *advice = (text.format_map(values.texts) for text in (rule.verdict, *rule.advice))
    return Finding(rule, verdict, tuple(advice))
