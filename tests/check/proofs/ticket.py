# SPDX-License-Identifier: MIT
"""The ticket lock's word, for locks that wait in different ways: ticket, ticket_backoff, twa.

`tail` and `head` are counted without end; the lock has their last 16 bits. Assumed is that fewer
than 2^16 contexts wait and hold at once.
"""

import z3

from tests.check.proofs.system import Expr, State, Step, System

HALF = 1 << 16
OUT, IN = ("line", "holds", "releases"), ("holds", "releases")


def half(n: Expr) -> Expr:
    return n % HALF


def grant(s: State, c: Expr, mine: Expr, waits: tuple[str, ...] = ("line",)) -> State:
    """Context c gets the lock with this ticket: it passes all that wait with an earlier one."""
    passed = s.passed
    return s.of(c, pc="holds", mine=mine).each(
        passed=lambda d: z3.If(
            z3.And(d != c, s.at(d, *waits), s.mine(d) < mine), passed(d) + 1, passed(d)
        )
    )


def system(
    name: str,
    draw: str,
    poll: tuple[str, ...],
    release: tuple[str, str],
    elsewhere: tuple[str, ...] = (),
) -> System:
    """Of a lock whose lines these are; a release is a load and a store."""
    t = System(
        name,
        headers=("ticket.h",) if name == "ticket" else ("ticket.h", f"{name}.h"),
        places=("out", "takes", "line", "holds", "releases"),
        inside=IN,
        shared={"tail": z3.IntSort(), "head": z3.IntSort()},
        own={
            "mine": z3.IntSort(),
            "seen_tail": z3.IntSort(),
            "seen_head": z3.IntSort(),
            "passed": z3.IntSort(),
            "owner": z3.IntSort(),
        },
        ghosts=("passed", "owner"),
        elsewhere=elsewhere,
        start=lambda: values(z3.Int("first")),
        seed=lambda word: values(z3.IntVal(word & 0xFFFF)),
        word=lambda s: half(s.tail) * HALF + half(s.head),
    )

    def values(first: Expr) -> dict[str, Expr]:
        same = dict.fromkeys(t.own, z3.IntVal(0))
        return same | {"tail": first, "head": first}

    @t.assumption
    def fewer_than_65536_wait_or_hold(s: State) -> Expr:
        return s.tail - s.head < HALF

    # Steps. A context that is out may be anywhere before its ticket: so it may do more than the
    # lock has it do.

    @t.action("load", "uint32_t idle = ol_load_lo_relaxed(&l->word) * 0x10001u;")
    def sees_the_head(s: State, c: Expr) -> Step:
        seen = half(s.head)
        return s.at(c, "out"), s.of(c, pc="takes", seen_tail=seen, seen_head=seen)

    @t.action("load", "uint32_t w = ol_load_relaxed(&l->word);")
    def sees_it_free(s: State, c: Expr) -> Step:
        free = half(s.tail) == half(s.head)
        seen = s.of(c, pc="takes", seen_tail=half(s.tail), seen_head=half(s.head))
        return z3.And(s.at(c, "out"), free), seen

    @t.action("load", "uint32_t w = ol_load_relaxed(&l->word);")
    def sees_it_taken(s: State, c: Expr) -> Step:
        return z3.And(s.at(c, "out", "holds"), half(s.tail) != half(s.head)), s

    def as_seen(s: State, c: Expr) -> Expr:
        return z3.And(half(s.tail) == s.seen_tail(c), half(s.head) == s.seen_head(c))

    cas = (
        "ol_cas_acquire(&l->word, idle, idle + (1u << 16))",
        "ol_cas_acquire(&l->word, w, w + (1u << 16))",
    )

    @t.action("cas", *cas)
    def takes_it(s: State, c: Expr) -> Step:
        after = grant(s, c, s.tail).of(s.tail, owner=c).but(tail=s.tail + 1)
        return z3.And(s.at(c, "takes"), as_seen(s, c)), after

    @t.action("cas", *cas)
    def fails_to_take_it(s: State, c: Expr) -> Step:
        return z3.And(s.at(c, "takes"), z3.Not(as_seen(s, c))), s.of(c, pc="out")

    @t.action("add", draw)
    def draws_a_ticket(s: State, c: Expr) -> Step:
        after = s.of(c, pc="line", mine=s.tail, passed=0).of(s.tail, owner=c)
        return s.at(c, "out"), after.but(tail=s.tail + 1)

    @t.action("load", *poll)
    def is_not_served(s: State, c: Expr) -> Step:
        return s.at(c, "line"), s

    @t.action("load", poll[0])
    def is_served(s: State, c: Expr) -> Step:
        served = half(s.head) == half(s.mine(c))
        return z3.And(s.at(c, "line"), served), grant(s, c, s.mine(c))

    @t.action("load", release[0])
    def begins_to_release(s: State, c: Expr) -> Step:
        return s.at(c, "holds"), s.of(c, pc="releases", seen_head=s.head)

    @t.action("store", release[1])
    def releases(s: State, c: Expr) -> Step:
        return s.at(c, "releases"), s.of(c, pc="out").but(head=s.seen_head(c) + 1)

    # Why it is right.

    @t.invariant
    def tickets_are_drawn_before_they_are_served(s: State) -> Expr:
        return s.head <= s.tail

    @t.invariant
    def tickets_are_of_this_round(s: State, x: Expr) -> Expr:
        return z3.Implies(s.at(x, *OUT), z3.And(s.head <= s.mine(x), s.mine(x) < s.tail))

    @t.invariant
    def tickets_differ(s: State, x: Expr, y: Expr) -> Expr:
        return z3.Implies(z3.And(s.at(x, *OUT), s.at(y, *OUT), x != y), s.mine(x) != s.mine(y))

    @t.invariant
    def what_takes_it_saw_it_free(s: State, x: Expr) -> Expr:
        return z3.Implies(s.at(x, "takes"), s.seen_tail(x) == s.seen_head(x))

    @t.invariant
    def a_holder_is_served(s: State, x: Expr) -> Expr:
        return z3.Implies(s.at(x, *IN), s.mine(x) == s.head)

    @t.invariant
    def only_the_holder_writes_the_head(s: State, x: Expr) -> Expr:
        return z3.Implies(s.at(x, "releases"), s.seen_head(x) == s.head)

    @t.invariant
    def nobody_is_passed(s: State, x: Expr) -> Expr:
        return z3.Implies(s.at(x, "line"), s.passed(x) == 0)

    @t.invariant
    def each_ticket_has_an_owner(s: State, k: Expr) -> Expr:
        c = s.owner(k)
        return z3.Implies(z3.And(s.head <= k, k < s.tail), z3.And(s.at(c, *OUT), s.mine(c) == k))

    @t.property
    def mutual_exclusion(s: State, x: Expr, y: Expr) -> Expr:
        return z3.Implies(z3.And(s.at(x, *IN), s.at(y, *IN)), x == y)

    @t.property
    def no_overtakes(s: State, x: Expr) -> Expr:
        return z3.Implies(s.at(x, "line"), s.passed(x) == 0)

    @t.property
    def first_come_first_served(s: State, x: Expr, y: Expr) -> Expr:
        return z3.Implies(z3.And(s.at(x, *IN), s.at(y, "line")), s.mine(x) < s.mine(y))

    @t.property
    def each_ticket_is_another_context(s: State, k: Expr, j: Expr) -> Expr:
        """So the assumption holds where there are fewer than 2^16 contexts."""
        out = z3.And(s.head <= k, k < j, j < s.tail)
        return z3.Implies(out, s.owner(k) != s.owner(j))

    # What must not be provable.

    @t.broken_action("is_served")
    def is_served_early(s: State, c: Expr) -> Step:
        near = half(s.mine(c)) - half(s.head) <= 1
        return z3.And(s.at(c, "line"), near), grant(s, c, s.mine(c))

    @t.broken_action("releases")
    def releases_two(s: State, c: Expr) -> Step:
        return s.at(c, "releases"), s.of(c, pc="out").but(head=s.seen_head(c) + 2)

    @t.broken_action("takes_it")
    def takes_it_by_the_head_alone(s: State, c: Expr) -> Step:
        after = grant(s, c, s.tail).of(s.tail, owner=c).but(tail=s.tail + 1)
        return z3.And(s.at(c, "takes"), half(s.head) == s.seen_head(c)), after

    @t.broken_invariant("a_holder_is_served")
    def a_holder_may_be_served(s: State, x: Expr) -> Expr:
        return z3.Implies(s.at(x, *IN), s.mine(x) >= s.head)

    t.left_out("fewer_than_65536_wait_or_hold", "tickets_differ", "only_the_holder_writes_the_head")
    return t


RELEASE = "ol_bump_lo_release(&l->word, 1)"
DRAW, POLL = "w = ol_add_hi_relaxed(&l->word, 1);", "while (ol_load_lo_acquire(&l->word) != mine)"
SYSTEMS = [
    system("ticket", DRAW, (POLL,), (RELEASE, RELEASE)),
    system(
        "ticket_backoff",
        "w = ol_add_hi_relaxed(word, 1);",
        ("while ((ahead = (uint16_t)(mine - ol_load_lo_acquire(word))))",),
        (RELEASE, RELEASE),
        elsewhere=(DRAW, POLL),
    ),
    system(
        "twa",
        "w = ol_add_hi_relaxed(&l->line.word, 1);",
        (
            "while (ol_load_lo_acquire(&l->line.word) != mine)",
            "if ((uint16_t)(mine - ol_load_lo_relaxed(&l->line.word)) <= ol_tune(long_term))",
        ),
        (
            "uint16_t next = (uint16_t)(ol_load_lo_relaxed(&l->line.word) + 1);",
            "ol_store_lo_release(&l->line.word, next);",
        ),
        elsewhere=(
            DRAW,
            POLL,
            RELEASE,
            "ol_load_acquire(slot)",
            "ol_load_relaxed(slot)",
            "ol_twa_slot",
        ),
    ),
]
