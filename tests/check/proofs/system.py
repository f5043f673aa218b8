# SPDX-License-Identifier: MIT
"""Transition systems of any number of contexts, and inductive invariants of them.

A state has shared values, and functions: of contexts (what each of them keeps) and of numbers (for
ghosts: what is said about tickets). Contexts are integers, so there is no bound on their number.
An invariant is a formula about any contexts and numbers. Z3 refutes its negation after a step from
a state in which all invariants hold for the contexts and numbers at hand. These instances have no
quantifiers, so Z3 decides them, and an answer does not depend on heuristics.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any

import z3

Expr = Any  # z3 has no types
Function = Callable[[Expr], Expr]
CONTEXTS = ("x", "y")  # parameters of an invariant that are contexts; all others are numbers
SECONDS = 60  # ends only what does not belong here


class State:
    """Immutable. `s.tail` is a shared value, `s.mine(c)` a value of context c."""

    def __init__(self, places: dict[str, Expr], shared: dict[str, Expr], own: dict[str, Function]):
        self.places, self.shared, self.own = places, shared, own

    def __getattr__(self, name: str) -> Any:
        found = self.shared if name in self.shared else self.own
        if name not in found:
            raise AttributeError(name)
        return found[name]

    def at(self, c: Expr, *places: str) -> Expr:
        return z3.Or(*(self.pc(c) == self.places[place] for place in places))

    def but(self, **shared: Expr) -> "State":
        return State(self.places, self.shared | shared, self.own)

    def of(self, c: Expr, **values: Any) -> "State":
        """With these values of context (or number) c."""
        own = dict(self.own)
        for name, value in values.items():
            own[name] = updated(own[name], c, self.places[value] if name == "pc" else term(value))
        return State(self.places, self.shared, own)

    def each(self, **own: Function) -> "State":
        """With these functions."""
        return State(self.places, self.shared, self.own | own)


def term(value: Any) -> Expr:
    if isinstance(value, bool):
        return z3.BoolVal(value)
    return z3.IntVal(value) if isinstance(value, int) else value


def updated(old: Function, at: Expr, value: Expr) -> Function:
    def now(d: Expr) -> Expr:
        if z3.is_int_value(d) and z3.is_int_value(at):  # a replay has no variables
            return value if d.eq(at) else old(d)
        return z3.If(d == at, value, old(d))

    return now


Step = tuple[Expr, State]  # when it is possible, and what comes of it


@dataclass(frozen=True)
class Action:
    """One step of a context: an access to the lock, or none (`op` is empty)."""

    name: str
    op: str
    sources: tuple[str, ...]  # texts of the lines that make it
    step: Callable[[State, Expr], Step]


@dataclass(frozen=True)
class Fact:
    """A formula about a state, and about any contexts and numbers that it has as parameters."""

    name: str
    says: Callable[..., Expr]
    by_induction: bool = False  # on its first number, from the invariants

    def kinds(self) -> list[str]:
        return [
            "context" if parameter in CONTEXTS else "number"
            for parameter in list(inspect.signature(self.says).parameters)[1:]
        ]


@dataclass(frozen=True)
class Mutant:
    """A broken model, of which something must not be provable."""

    name: str
    action: Action | None = None  # in place of the one of this name
    fact: Fact | None = None  # the same
    without: str = ""  # the assumption or invariant that is left out


@dataclass
class System:
    name: str
    headers: tuple[str, ...]  # of include/overlock/lock
    places: tuple[str, ...]
    inside: tuple[str, ...]  # the places of a holder
    shared: dict[str, Any]  # sorts
    own: dict[str, Any]
    start: Callable[[], dict[str, Any]]  # values of all, the same for each context
    word: Callable[[State], Expr]
    seed: Callable[[int], dict[str, Any]]  # a state in which nobody acts, from the word
    ghosts: tuple[str, ...] = ()  # no step depends on them
    elsewhere: tuple[str, ...] = ()  # lines of the headers that do not access the word of this lock
    numbers: Callable[[State, list[Expr]], list[Expr]] = lambda s, contexts: []
    actions: list[Action] = field(default_factory=list)
    assumptions: list[Fact] = field(default_factory=list)
    invariants: list[Fact] = field(default_factory=list)
    lemmas: list[Fact] = field(default_factory=list)
    properties: list[Fact] = field(default_factory=list)
    mutants: list[Mutant] = field(default_factory=list)

    # What the modules of the locks say.

    def action(self, op: str, *sources: str) -> Callable[[Any], Any]:
        def add(step: Any) -> Any:
            self.actions.append(Action(step.__name__, op, sources, step))
            return step

        return add

    def assumption(self, says: Any) -> Any:
        self.assumptions.append(Fact(says.__name__, says))
        return says

    def invariant(self, says: Any) -> Any:
        self.invariants.append(Fact(says.__name__, says))
        return says

    def lemma(self, says: Any) -> Any:
        self.lemmas.append(Fact(says.__name__, says, by_induction=True))
        return says

    def property(self, says: Any) -> Any:
        self.properties.append(Fact(says.__name__, says))
        return says

    def broken_action(self, of: str) -> Callable[[Any], Any]:
        def add(step: Any) -> Any:
            one = next(action for action in self.actions if action.name == of)
            self.mutants.append(Mutant(step.__name__, action=replace(one, step=step)))
            return step

        return add

    def broken_invariant(self, of: str) -> Callable[[Any], Any]:
        def add(says: Any) -> Any:
            self.mutants.append(Mutant(says.__name__, fact=Fact(of, says)))
            return says

        return add

    def left_out(self, *names: str) -> None:
        self.mutants += [Mutant(f"without_{name}", without=name) for name in names]

    def mutated(self, mutant: Mutant) -> "System":
        """What is broken comes first: so it fails soon."""
        action, fact = mutant.action, mutant.fact

        def changed(facts: list[Fact]) -> list[Fact]:
            kept = [one for one in facts if one.name != mutant.without]
            if not fact or all(one.name != fact.name for one in kept):
                return kept
            return [fact, *(one for one in kept if one.name != fact.name)]

        others = [one for one in self.actions if not action or one.name != action.name]
        return replace(
            self,
            actions=[action, *others] if action else others,
            assumptions=changed(self.assumptions),
            invariants=changed(self.invariants),
        )

    # States.

    def pcs(self) -> dict[str, Expr]:
        if self.name not in SORTS:
            SORTS[self.name] = z3.EnumSort(f"place of {self.name}", list(self.places))
        return dict(zip(self.places, SORTS[self.name][1], strict=True))

    def any_state(self) -> State:
        pcs = self.pcs()
        own = {"pc": SORTS[self.name][0]} | self.own
        return State(
            pcs,
            {name: z3.Const(name, sort) for name, sort in self.shared.items()},
            {name: z3.Function(name, z3.IntSort(), sort) for name, sort in own.items()},
        )

    def first_state(self, values: dict[str, Any]) -> State:
        def constant(value: Any) -> Function:
            return value if callable(value) else lambda _: value

        places = self.pcs()
        own = {"pc": places[self.places[0]]} | {name: values[name] for name in self.own}
        return State(
            places,
            {name: values[name] for name in self.shared},
            {name: constant(value) for name, value in own.items()},
        )


SORTS: dict[str, Any] = {}


@dataclass(frozen=True)
class Obligation:
    name: str
    known: list[Expr]
    goal: Expr
    lemmas: Callable[[], list[Expr]] = list  # few need them

    def refuted(self) -> str | None:
        """Nothing if it is proven, else what speaks against it."""
        solver = z3.Solver()
        solver.set("timeout", SECONDS * 1000)
        solver.add(*self.known, z3.Not(self.goal))
        answer = solver.check()
        if answer != z3.unsat and (lemmas := self.lemmas()):
            solver.add(*lemmas)
            answer = solver.check()
        if answer == z3.unsat:
            return None
        return str(solver.model()) if answer == z3.sat else f"unknown: {solver.reason_unknown()}"


def variables(fact: Fact) -> list[Expr]:
    return [z3.Int(name) for name in list(inspect.signature(fact.says).parameters)[1:]]


def contexts_of(fact: Fact, values: list[Expr]) -> list[Expr]:
    return [value for kind, value in zip(fact.kinds(), values, strict=True) if kind == "context"]


def numbers_of(fact: Fact, values: list[Expr]) -> list[Expr]:
    return [value for kind, value in zip(fact.kinds(), values, strict=True) if kind == "number"]


def instances(facts: list[Fact], s: State, contexts: list[Expr], numbers: list[Expr]) -> list[Expr]:
    """Each of these facts about each of these contexts and numbers."""
    found = []
    for fact in facts:
        ranges = [contexts if kind == "context" else numbers for kind in fact.kinds()]
        found += [fact.says(s, *values) for values in product(*ranges)]
    return found


class Known:
    """Of a state: what its invariants say of some contexts and numbers, and what follows."""

    def __init__(self, system: System, s: State):
        self.system, self.s = system, s
        self.found: dict[str, list[Expr]] = {}

    def instances(
        self, which: str, facts: list[Fact], contexts: list[Expr], numbers: list[Expr]
    ) -> list[Expr]:
        key = f"{which} {contexts} {numbers}"
        if key not in self.found:
            numbers = numbers + self.system.numbers(self.s, contexts)
            self.found[key] = instances(facts, self.s, contexts, numbers)
        return self.found[key]

    def of(self, contexts: list[Expr], numbers: list[Expr]) -> list[Expr]:
        facts = self.system.assumptions + self.system.invariants
        return self.instances("invariants", facts, contexts, numbers)

    def lemmas(self, contexts: list[Expr], numbers: list[Expr]) -> list[Expr]:
        return self.instances("lemmas", self.system.lemmas, contexts, numbers)


def initiation(system: System) -> Iterator[Obligation]:
    s = system.first_state(system.start())
    for fact in system.invariants:
        yield Obligation(f"initially: {fact.name}", [], fact.says(s, *variables(fact)))


def consecution(system: System) -> Iterator[Obligation]:
    s, c = system.any_state(), z3.Int("c")
    known = Known(system, s)
    for action in system.actions:
        possible, after = action.step(s, c)
        for fact in system.invariants:
            values = variables(fact)
            terms = [c, *contexts_of(fact, values)], numbers_of(fact, values)
            given = [*known.of(*terms), *instances(system.assumptions, after, *terms), possible]
            lemmas = partial(known.lemmas, *terms)
            yield Obligation(
                f"{action.name}: {fact.name}", given, fact.says(after, *values), lemmas
            )


def induction(system: System) -> Iterator[Obligation]:
    """Each lemma, from 0 up, of any state in which the invariants and the lemmas before it hold."""
    s = system.any_state()
    for n, fact in enumerate(system.lemmas):
        values = variables(fact)
        k, rest = values[0], values[1:]
        known = Known(replace(system, lemmas=system.lemmas[:n]), s)
        terms = contexts_of(fact, values), [*numbers_of(fact, values), z3.IntVal(0)]
        given, lemmas = known.of(*terms), partial(known.lemmas, *terms)
        here = fact.says(s, *values)
        yield Obligation(f"below 0, at once: {fact.name}", [k < 0], here)
        yield Obligation(f"at 0: {fact.name}", given, fact.says(s, z3.IntVal(0), *rest), lemmas)
        step = [*given, k >= 0, here]
        yield Obligation(f"from k to k + 1: {fact.name}", step, fact.says(s, k + 1, *rest), lemmas)


def safety(system: System) -> Iterator[Obligation]:
    s = system.any_state()
    known = Known(system, s)
    for fact in system.properties:
        values = variables(fact)
        terms = contexts_of(fact, values), numbers_of(fact, values)
        lemmas = partial(known.lemmas, *terms)
        yield Obligation(f"always: {fact.name}", known.of(*terms), fact.says(s, *values), lemmas)


def obligations(system: System) -> Iterator[Obligation]:
    yield from initiation(system)
    yield from consecution(system)
    yield from induction(system)
    yield from safety(system)


def failures(system: System) -> Iterator[tuple[str, str]]:
    for one in obligations(system):
        if against := one.refuted():
            yield one.name, against
