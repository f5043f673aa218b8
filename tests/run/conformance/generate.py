#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Expands table.toml into cases and what each must print.

generate.py                 what the table covers, and what it leaves blank and why
generate.py --cases native  the cases with glibc's answers, as a program under `run` must not differ
generate.py --cases ours    the same, but where `run` answers otherwise on purpose
"""

import argparse
import itertools
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

AXES = ("kinds", "states", "calls")
TABLE = Path(__file__).resolve().parent / "table.toml"


@dataclass(frozen=True)
class Case:
    family: str
    kind: str
    state: str
    call: str
    native: str | None  # null: glibc never answers
    ours: str | None
    why: str  # it is blank, or ours is not glibc's answer

    @property
    def name(self) -> str:
        return "/".join((self.family, self.kind, self.state, self.call))

    def asked(self, result: str) -> str:
        """As the program reads it."""
        return f"{self.name} waits" if result.startswith("waits") else self.name


def words(value: str | list[str], groups: dict[str, list[str]]) -> list[str]:
    """Patterns; `@name` is a group's."""
    patterns = value.split() if isinstance(value, str) else value
    return [p for pattern in patterns for p in groups.get(pattern.removeprefix("@"), [pattern])]


@dataclass(frozen=True)
class Rule:
    kinds: list[str]
    states: list[str]
    calls: list[str]
    says: dict[str, str]

    def matches(self, kind: str, state: str, call: str) -> bool:
        pairs = ((kind, self.kinds), (state, self.states), (call, self.calls))
        return all(any(fnmatchcase(word, p) for p in patterns) for word, patterns in pairs)


def rules(family: dict[str, Any]) -> list[Rule]:
    groups = family.get("groups", {})
    made = []
    for rule in family["rules"]:
        kinds, states, calls = (words(rule.get(axis, "*"), groups) for axis in AXES)
        says = {key: text for key, text in rule.items() if key not in AXES}
        if not says.keys() <= {"result", "native", "ours", "blank", "why"}:
            raise SystemExit(f"table.toml: {rule}: what does it say?")
        made.append(Rule(kinds, states, calls, says))
    return made


def judged(name: str, names: tuple[str, str, str], says: dict[str, str]) -> Case:
    if "blank" in says:
        return Case(name, *names, None, None, says["blank"])
    native, ours = (says.get(key, says.get("result")) for key in ("native", "ours"))
    return Case(name, *names, native, ours, says.get("why", ""))


@cache
def load(path: Path = TABLE) -> tuple[Case, ...]:
    return tuple(expand(tomllib.loads(path.read_text())))


def expand(table: dict[str, dict[str, Any]]) -> Iterator[Case]:
    """Each combination by the first rule that fits it; one that none fits is an error."""
    for name, family in table.items():
        all_rules = rules(family)
        used: set[int] = set()
        kinds, states, calls = (family[axis].split() for axis in AXES)
        for names in itertools.product(kinds, states, calls):
            fits = (i for i, rule in enumerate(all_rules) if rule.matches(*names))
            at = next(fits, None)
            if at is None:
                raise SystemExit(f"table.toml says nothing about {name}/{'/'.join(names)}")
            used.add(at)
            yield judged(name, names, all_rules[at].says)
        for i, rule in enumerate(all_rules):
            if i not in used:
                raise SystemExit(f"table.toml: no case of {name} is left for {rule}")


def summary(cases: tuple[Case, ...]) -> Iterator[str]:
    yield f"{'family':<8} {'cases':>6} {'blank':>6} {'not as glibc':>13}"
    for family in dict.fromkeys(case.family for case in cases):
        mine = [case for case in cases if case.family == family]
        asked = [case for case in mine if case.ours is not None]
        differ = [case for case in asked if case.native != case.ours]
        yield f"{family:<8} {len(asked):>6} {len(mine) - len(asked):>6} {len(differ):>13}"
    reasons = Counter((c.family, c.why) for c in cases if c.ours is None)
    yield "\nblank, and why:"
    yield from (f"{n:>6} {family}: {why}" for (family, why), n in reasons.items())
    others = Counter((c.family, c.why) for c in cases if c.ours is not None and c.native != c.ours)
    yield "\nnot as glibc, and why:"
    yield from (f"{n:>6} {family}: {why}" for (family, why), n in others.items())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", choices=("native", "ours"), help="print what must be said")
    options = parser.parse_args()
    cases = load()
    if not options.cases:
        print(*summary(cases), sep="\n")
        return 0
    for case in cases:
        if (result := getattr(case, options.cases)) is not None:
            print(f"{case.name}: {result}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
