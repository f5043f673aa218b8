# SPDX-License-Identifier: MIT
"""Executions of a real lock in the checker, step by step as steps of its model."""

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import z3

from tests.check.proofs.system import Action, Expr, State, System
from tests.conftest import NATIVE, TOP

LOCKS = TOP / "include/overlock/lock"
FUNCTION = re.compile(r"^static .*?\b(ol_\w+)\(")
ACCESS = re.compile(r"\bol_(load|store|xchg|cas|add|or|and|bump)_\w*\(")
QUESTION = re.compile(r"_is_(locked|contended)$")  # no part of taking or leaving the lock
Event = dict[str, Any]
Where = tuple[str, int]
Facts = tuple[tuple[str, Any], ...]  # of a state: (name, value), or (name, values of each context)


def accesses(header: str) -> Iterator[tuple[Where, str, bool]]:
    """The lines with an access, and whether it may be a step of lock, unlock and the like."""
    within = ""
    for n, text in enumerate((LOCKS / header).read_text().splitlines(), 1):
        if begins := FUNCTION.match(text):
            within = begins[1]
        if ACCESS.search(text):
            yield (Path(header).name, n), text, not QUESTION.search(within)


def cited(system: System) -> dict[Where, list[Action]]:
    """The actions of each line."""
    found: dict[Where, list[Action]] = {}
    for header in system.headers:
        for where, text, is_step in accesses(header):
            if is_step:
                found[where] = [a for a in system.actions if any(s in text for s in a.sources)]
    return found


def questions(system: System) -> set[Where]:
    return {
        where for header in system.headers for where, _, is_step in accesses(header) if not is_step
    }


def plain(value: Expr) -> Any:
    value = z3.simplify(value)
    if z3.is_true(value) or z3.is_false(value):
        return z3.is_true(value)
    return value.as_long() if hasattr(value, "as_long") else str(value)


@dataclass
class Replay:
    system: System
    contexts: int
    actions: dict[Where, list[Action]] = field(init=False)
    known: dict[Any, list[tuple[str, Facts]]] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)  # actions that some execution took

    def __post_init__(self) -> None:
        self.actions = cited(self.system)

    def run(self, events: list[Event]) -> str | None:
        """What no step of the model explains, or nothing."""
        asked = questions(self.system)
        ours = [
            event
            for event in events
            if (event["mark"] or event.get("object") == "lock")
            and (event["file"], event["line"]) not in asked
        ]
        first = next((event for event in ours if event.get("op")), None)
        if first is None:
            return "no step"
        states = {self.facts(self.system.first_state(self.system.seed(int(first["old"], 0))))}
        for event in ours:
            after = set(self.after(states, event))
            if not after:
                place = f"{event['file']}:{event['line']}"
                return f"step {event['n']}, T{event['context']} at {place}: {event['what']}"
            states = after
        return None

    def after(self, states: set[Facts], event: Event) -> Iterator[Facts]:
        who = int(event["context"])
        for facts in states:
            if event["mark"]:
                inside = dict(facts)["pc"][who - 1] in self.system.inside
                if event["mark"] in ("holds", "released") and inside != (event["mark"] == "holds"):
                    continue
                yield facts
                continue
            key = (
                facts,
                who,
                event["line"],
                event["file"],
                event["op"],
                event["old"],
                event["new"],
            )
            if key not in self.known:
                self.known[key] = list(self.steps(facts, event, who))
            for name, found in self.known[key]:
                self.taken.add(name)
                yield found

    def steps(self, facts: Facts, event: Event, who: int) -> Iterator[tuple[str, Facts]]:
        state, mask = self.state(facts), (1 << 8 * event["width"]) - 1
        if plain(self.system.word(state)) & mask != int(event["old"], 0):
            return
        for action in self.actions.get((event["file"], event["line"]), []):
            if action.op != event["op"]:
                continue
            possible, after = action.step(state, z3.IntVal(who))
            if plain(possible) is not True:
                continue
            if plain(self.system.word(after)) & mask == int(event["new"], 0):
                yield action.name, self.facts(after)

    # States as plain values, without ghosts.

    def facts(self, s: State) -> Facts:
        own = [name for name in ("pc", *self.system.own) if name not in self.system.ghosts]
        shared = [name for name in self.system.shared if name not in self.system.ghosts]
        each = range(1, self.contexts + 1)
        return (
            *((name, plain(s.shared[name])) for name in shared),
            *((name, tuple(plain(s.own[name](z3.IntVal(c))) for c in each)) for name in own),
        )

    def state(self, facts: Facts) -> State:
        s = self.system.first_state(self.system.seed(0))
        places = self.system.pcs()
        for name, value in facts:
            if name in self.system.shared:
                s = s.but(**{name: self.term(name, value)})
                continue
            terms = [places[one] if name == "pc" else self.term(name, one) for one in value]
            s = s.each(**{name: self.owned(terms)})
        return s

    @staticmethod
    def owned(terms: list[Expr]) -> Callable[[Expr], Expr]:
        return lambda c: terms[c.as_long() - 1]

    def term(self, name: str, value: Any) -> Expr:
        sort = (self.system.shared | self.system.own)[name]
        if sort == z3.BoolSort():
            return z3.BoolVal(value)
        return z3.IntVal(value) if sort == z3.IntSort() else z3.BitVecVal(value, sort)


def executions(lock: str, *options: str) -> Iterator[list[Event]]:
    words = [str(NATIVE / "overlock-check"), "--lock", lock, *options, "--traces"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as checker:
        assert checker.stdout
        for line in checker.stdout:
            told = json.loads(line)
            if "execution" in told:
                yield told["execution"]
    assert checker.returncode in (0, 3), words
