# SPDX-License-Identifier: MIT
"""The word of pv_ticket and oticket: tickets, and a flag that says that some may sleep.

`tail` and `head` are counted without end; the lock has their last 15 bits. Assumed is that fewer
than 2^15 contexts wait and hold at once.
"""

import z3

from tests.check.proofs.system import Expr, State, Step, System
from tests.check.proofs.ticket import grant

ROUND = 1 << 15
WAITS = ("line", "tires")
IN = ("serves", "settles", "holds")


LOOK = "uint32_t w = ol_load_relaxed(&l->word);"


def seen(s: State, c: Expr, place: str) -> State:
    return s.of(c, pc=place, seen_tail=s.tail, seen_head=s.head, seen_flag=s.flag)


def as_seen(s: State, c: Expr) -> Expr:
    same = [s.tail % ROUND == s.seen_tail(c) % ROUND, s.head % ROUND == s.seen_head(c) % ROUND]
    return z3.And(*same, s.flag == s.seen_flag(c))


def granted(s: State, c: Expr, mine: Expr, place: str) -> State:
    return grant(s, c, mine, WAITS).of(c, pc=place)


def free(s: State) -> Expr:
    return s.tail % ROUND == s.head % ROUND


def served(s: State, c: Expr) -> Expr:
    return s.head % ROUND == s.mine(c) % ROUND


def system(lock: str) -> System:
    line = "line." if lock == "oticket" else ""
    integer, boolean = z3.IntSort(), z3.BoolSort()
    t = System(
        lock,
        headers=("pv_ticket.h",) if lock == "pv_ticket" else ("pv_ticket.h", "oticket.h"),
        places=("out", "takes", *WAITS, *IN),
        inside=("holds",),
        shared={"tail": integer, "head": integer, "flag": boolean},
        own={"mine": integer, "seen_tail": integer, "seen_head": integer, "seen_flag": boolean}
        | {"passed": integer, "owner": integer},
        ghosts=("passed", "owner"),
        elsewhere=()
        if lock == "pv_ticket"
        else (
            "while (ol_pvt_head(ol_load_acquire(&l->word)) != mine)",
            "w = ol_add_hi_relaxed(&l->word, OL_PVT_ONE);",
            "uint16_t old = ol_add_lo_release(&l->word, OL_PVT_ONE);",
        ),
        start=lambda: values(z3.Int("first")),
        seed=lambda word: values(z3.IntVal((word & 0xFFFF) // 2)),
        word=lambda s: (s.tail % ROUND) * (1 << 17) + (s.head % ROUND) * 2 + z3.If(s.flag, 1, 0),
    )

    def values(first: Expr) -> dict[str, Expr]:
        none = {integer: z3.IntVal(0), boolean: z3.BoolVal(False)}
        same = {name: none[kind] for name, kind in (t.shared | t.own).items()}
        return same | {"tail": first, "head": first}

    @t.assumption
    def fewer_than_32768_wait_or_hold(s: State) -> Expr:
        return s.tail - s.head < ROUND

    _taking(t)
    _queue(t, line)
    _release(t, line)
    _invariants(t)
    _mutants(t)
    return t


def _taking(t: System) -> None:
    @t.action("load", LOOK)
    def sees_it_free(s: State, c: Expr) -> Step:
        return z3.And(s.at(c, "out"), free(s)), seen(s, c, "takes")

    @t.action("load", LOOK)
    def sees_it_taken(s: State, c: Expr) -> Step:
        return z3.And(s.at(c, "out", "holds"), z3.Not(free(s))), s

    take = "ol_cas_acquire(&l->word, w, (w & ~OL_PVT_SLEEPERS) + (OL_PVT_ONE << 16))"

    @t.action("cas", take)
    def takes_it(s: State, c: Expr) -> Step:
        after = granted(s, c, s.tail, "holds").of(s.tail, owner=c)
        after = after.but(tail=s.tail + 1, flag=z3.BoolVal(False))
        return z3.And(s.at(c, "takes"), as_seen(s, c)), after

    @t.action("cas", take)
    def fails_to_take_it(s: State, c: Expr) -> Step:
        return z3.And(s.at(c, "takes"), z3.Not(as_seen(s, c))), s.of(c, pc="out")


def _queue(t: System, line: str) -> None:
    @t.action("add", f"w = ol_add_hi_relaxed(&l->{line}word, OL_PVT_ONE);")
    def draws_a_ticket(s: State, c: Expr) -> Step:
        after = s.of(c, pc="line", mine=s.tail, passed=0).of(s.tail, owner=c)
        return s.at(c, "out"), after.but(tail=s.tail + 1)

    poll = ("ol_pvt_head(ol_load_acquire(&l->word)) != mine",)
    if line:
        poll = ("head = ol_pvt_head(ol_load_acquire(&l->line.word));",)

    @t.action("load", *poll)
    def is_served(s: State, c: Expr) -> Step:
        after = granted(s, c, s.mine(c), "serves")
        return z3.And(s.at(c, "line", "tires"), served(s, c)), after

    @t.action("load", *poll)
    def is_not_served(s: State, c: Expr) -> Step:
        return z3.And(s.at(c, "line", "tires"), z3.Not(served(s, c))), s.of(c, pc="line")

    @t.action("load", *poll)
    def tires(s: State, c: Expr) -> Step:
        return z3.And(s.at(c, "line", "tires"), z3.Not(served(s, c))), s.of(c, pc="tires")

    @t.action("or", "uint32_t w = ol_or_relaxed(&l->word, OL_PVT_SLEEPERS) | OL_PVT_SLEEPERS;")
    def says_that_it_sleeps(s: State, c: Expr) -> Step:
        return s.at(c, "tires"), s.of(c, pc="line").but(flag=z3.BoolVal(True))


def _release(t: System, line: str) -> None:
    @t.action("load", LOOK)
    def sees_no_reason_to_settle(s: State, c: Expr) -> Step:
        return s.at(c, "serves"), s.of(c, pc="holds")

    @t.action("load", LOOK)
    def sees_no_others(s: State, c: Expr) -> Step:
        alone = z3.And(s.flag, s.tail % ROUND == (s.mine(c) + 1) % ROUND)
        return z3.And(s.at(c, "serves"), alone), seen(s, c, "settles")

    settle = "ol_cas_relaxed(&l->word, w, w & ~OL_PVT_SLEEPERS)"

    @t.action("cas", settle)
    def settles(s: State, c: Expr) -> Step:
        after = s.of(c, pc="holds").but(flag=z3.BoolVal(False))
        return z3.And(s.at(c, "settles"), as_seen(s, c)), after

    @t.action("cas", settle)
    def fails_to_settle(s: State, c: Expr) -> Step:
        return z3.And(s.at(c, "settles"), z3.Not(as_seen(s, c))), s.of(c, pc="holds")

    @t.action("add", f"uint16_t old = ol_add_lo_release(&l->{line}word, OL_PVT_ONE);")
    def releases(s: State, c: Expr) -> Step:
        return s.at(c, "holds"), s.of(c, pc="out").but(head=s.head + 1)


# Why it is right.


def _invariants(t: System) -> None:
    out = (*WAITS, *IN)

    @t.invariant
    def tickets_are_drawn_before_they_are_served(s: State) -> Expr:
        return s.head <= s.tail

    @t.invariant
    def tickets_are_of_this_round(s: State, x: Expr) -> Expr:
        return z3.Implies(s.at(x, *out), z3.And(s.head <= s.mine(x), s.mine(x) < s.tail))

    @t.invariant
    def tickets_differ(s: State, x: Expr, y: Expr) -> Expr:
        return z3.Implies(z3.And(s.at(x, *out), s.at(y, *out), x != y), s.mine(x) != s.mine(y))

    @t.invariant
    def what_takes_it_saw_it_free(s: State, x: Expr) -> Expr:
        same = s.seen_tail(x) % ROUND == s.seen_head(x) % ROUND
        return z3.Implies(s.at(x, "takes"), same)

    @t.invariant
    def a_holder_is_served(s: State, x: Expr) -> Expr:
        return z3.Implies(s.at(x, *IN), s.mine(x) == s.head)

    @t.invariant
    def nobody_is_passed(s: State, x: Expr) -> Expr:
        return z3.Implies(s.at(x, *WAITS), s.passed(x) == 0)

    @t.invariant
    def each_ticket_has_an_owner(s: State, k: Expr) -> Expr:
        waits = z3.And(s.at(s.owner(k), *out), s.mine(s.owner(k)) == k)
        return z3.Implies(z3.And(s.head <= k, k < s.tail), waits)

    @t.property
    def mutual_exclusion(s: State, x: Expr, y: Expr) -> Expr:
        return z3.Implies(z3.And(s.at(x, *IN), s.at(y, *IN)), x == y)

    @t.property
    def no_overtakes(s: State, x: Expr) -> Expr:
        return z3.Implies(s.at(x, *WAITS), s.passed(x) == 0)

    @t.property
    def first_come_first_served(s: State, x: Expr, y: Expr) -> Expr:
        return z3.Implies(z3.And(s.at(x, *IN), s.at(y, *WAITS)), s.mine(x) < s.mine(y))

    @t.property
    def each_ticket_is_another_context(s: State, k: Expr, j: Expr) -> Expr:
        both = z3.And(s.head <= k, k < j, j < s.tail)
        return z3.Implies(both, s.owner(k) != s.owner(j))


# What must not be provable.


def _mutants(t: System) -> None:
    @t.broken_action("tires")
    def trusts_the_kick(s: State, c: Expr) -> Step:
        return s.at(c, "tires"), granted(s, c, s.mine(c), "serves")

    @t.broken_action("takes_it")
    def takes_it_by_the_head_alone(s: State, c: Expr) -> Step:
        after = granted(s, c, s.tail, "holds").of(s.tail, owner=c).but(tail=s.tail + 1)
        return z3.And(s.at(c, "takes"), s.head % ROUND == s.seen_head(c) % ROUND), after

    @t.broken_invariant("a_holder_is_served")
    def a_holder_may_be_served(s: State, x: Expr) -> Expr:
        return z3.Implies(s.at(x, *IN), s.mine(x) >= s.head)

    t.left_out("fewer_than_32768_wait_or_hold", "tickets_differ")


SYSTEMS = [system("pv_ticket"), system("oticket")]
