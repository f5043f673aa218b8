# SPDX-License-Identifier: MIT
"""The preemptable ticket lock's word: preemptable_ticket and pv_preemptable_ticket.

`tail` and `head` are counted without end; the lock has as many bits of them as its flags leave.
Exclusion is proven for any number of waiters, also of those that give up. The bound is for waiters
without deadlines, of whom at most MOST wait and hold at once: fewer than the bits can count.
"""

from dataclasses import dataclass

import z3

from tests.check.proofs.system import Expr, State, Step, System

HALF = 1 << 16
WAITS = ("line", "competes", "swaps", "flags")
IN = ("holds", "releases")
MOST = z3.Int("most_at_once")


@dataclass(frozen=True)
class Lines:
    """What differs between the two locks."""

    one: int  # a ticket's value; the bits below are flags
    name: str  # of that value
    release: tuple[str, str]  # a load, and what writes
    writes: str
    flag: str = ""  # sets the sleepers' flag


def sources(lock: str) -> Lines:
    if lock == "preemptable_ticket":
        bump = "ol_bump_lo_release(&l->word, 1)"
        return Lines(2, "OL_PT_ONE", (bump, bump), "store")
    release = ("ol_load_lo_relaxed(&l->word) | (OL_PVPT_ONE - 1)",)
    return Lines(
        4,
        "OL_PVPT_ONE",
        (*release, "ol_xchg_lo_release(&l->word, next)"),
        "xchg",
        "!ol_cas_relaxed(&l->word, w, flagged)",
    )


def count(held: Expr) -> Expr:
    return z3.If(held, 1, 0)


def grant(s: State, c: Expr, mine: Expr) -> State:
    """Context c gets the lock with this ticket, which is out of turn if it is not served yet."""
    passed, bound, before = s.passed, s.bound, s.served_below
    late = mine > s.head

    def is_passed(d: Expr) -> Expr:
        return z3.And(d != c, s.at(d, *WAITS), s.mine(d) < mine)

    return (
        s.of(c, pc="holds", mine=mine)
        .of(mine, served=True)
        .each(
            passed=lambda d: passed(d) + count(is_passed(d)),
            bound=lambda d: bound(d) + z3.If(z3.And(is_passed(d), late), MOST - 1, 0),
            served_below=lambda k: before(k) + count(k > mine),
        )
        .but(last=z3.If(mine > s.last, mine, s.last), held=z3.BoolVal(True))
    )


def seen(s: State, c: Expr, **more: object) -> State:
    return s.of(
        c,
        seen_tail=s.tail,
        seen_head=s.head,
        seen_held=s.held,
        seen_sleepers=s.sleepers,
        **more,
    )


def system(lock: str, deadlines: bool) -> System:
    """With deadlines: waiters may give up, and nothing is said of their order."""
    its = sources(lock)
    rounds = HALF // its.one
    integer, boolean = z3.IntSort(), z3.BoolSort()
    t = System(
        lock + (" with deadlines" if deadlines else ""),
        headers=("preemptable_ticket.h",) + (("pv_preemptable_ticket.h",) if its.flag else ()),
        places=("out", "takes", *WAITS, *IN),
        inside=IN,
        shared={"tail": integer, "head": integer, "held": boolean, "sleepers": boolean}
        | {"last": integer, "early": boolean},
        own={"mine": integer, "tired": boolean, "seen_tail": integer, "seen_head": integer}
        | {"seen_held": boolean, "seen_sleepers": boolean}
        | {"passed": integer, "bound": integer, "owner": integer}
        | {"served": boolean, "served_below": integer},
        ghosts=("passed", "bound", "owner", "served", "served_below", "last", "early"),
        elsewhere=() if deadlines else (f"-{its.name})",),
        start=lambda: values(z3.IntVal(0)),
        seed=lambda word: values(z3.IntVal((word & 0xFFFF) // its.one)),
        word=lambda s: (
            (s.tail * its.one % HALF) * HALF
            + (s.head * its.one + 2 * count(s.sleepers) + count(s.held)) % HALF
        ),
        numbers=lambda s, contexts: [
            s.head,
            s.last + 1,
            s.tail,
            *(s.mine(c) for c in contexts),
            *(s.mine(c) + 1 for c in contexts),
        ],
    )

    def values(first: Expr) -> dict[str, Expr]:
        kinds = t.shared | t.own
        none = {integer: z3.IntVal(0), boolean: z3.BoolVal(False)}
        return {name: none[kind] for name, kind in kinds.items()} | {
            "tail": first,
            "head": first,
            "last": first - 1,
        }

    def low_as_seen(s: State, c: Expr) -> Expr:
        flags = z3.And(s.held == s.seen_held(c), s.sleepers == s.seen_sleepers(c))
        return z3.And(flags, s.head % rounds == s.seen_head(c) % rounds)

    def as_seen(s: State, c: Expr) -> Expr:
        return z3.And(low_as_seen(s, c), s.tail % rounds == s.seen_tail(c) % rounds)

    def is_free(s: State) -> Expr:
        return z3.Not(z3.Or(s.held, s.sleepers, s.tail % rounds != s.head % rounds))

    # Steps.

    look = "uint32_t w = ol_load_relaxed(&l->word);"

    @t.action("load", look)
    def sees_it_free(s: State, c: Expr) -> Step:
        return z3.And(s.at(c, "out"), is_free(s)), seen(s, c, pc="takes")

    @t.action("load", look)
    def sees_it_taken(s: State, c: Expr) -> Step:
        return z3.And(s.at(c, "out", "holds"), z3.Not(is_free(s))), s

    take = f"ol_cas_acquire(&l->word, w, w + ({its.name} << 16) + OL_PT_HELD)"

    @t.action("cas", take)
    def takes_it(s: State, c: Expr) -> Step:
        after = grant(s, c, s.tail).of(s.tail, owner=c).but(tail=s.tail + 1)
        return z3.And(s.at(c, "takes"), as_seen(s, c)), after

    @t.action("cas", take)
    def fails_to_take_it(s: State, c: Expr) -> Step:
        return z3.And(s.at(c, "takes"), z3.Not(as_seen(s, c))), s.of(c, pc="out")

    @t.action("add", f"w = ol_add_hi_relaxed(&l->word, {its.name});")
    def draws_a_ticket(s: State, c: Expr) -> Step:
        mine = {"mine": s.tail, "tired": False, "passed": 0, "bound": 0}
        after = s.of(c, pc="line", **mine).of(s.tail, owner=c)
        return s.at(c, "out"), after.but(tail=s.tail + 1)

    def ahead(s: State, c: Expr) -> Expr:
        return z3.If(
            (s.mine(c) - s.head) % rounds < (s.tail - s.head) % rounds,
            (s.mine(c) - s.head) % rounds,
            0,
        )

    poll = "w = ol_load_relaxed(word);"

    @t.action("load", poll)
    def waits_in_line(s: State, c: Expr) -> Step:
        return z3.And(s.at(c, "line"), ahead(s, c) > 0), s

    @t.action("load", poll)
    def is_served_or_was_passed(s: State, c: Expr) -> Step:
        return z3.And(s.at(c, "line"), ahead(s, c) == 0), s.of(c, pc="competes")

    @t.action("load", poll)
    def times_out(s: State, c: Expr) -> Step:
        return z3.And(s.at(c, "line"), ahead(s, c) > 0), s.of(c, pc="competes", tired=True)

    @t.action("load", look)
    def finds_it_held(s: State, c: Expr) -> Step:
        return z3.And(s.at(c, "competes"), s.held), s

    @t.action("load", look)
    def finds_it_not_held(s: State, c: Expr) -> Step:
        return z3.And(s.at(c, "competes"), z3.Not(s.held)), seen(s, c, pc="swaps")

    swap = "ol_cas_lo_acquire(&l->word, low, low | OL_PT_HELD)"

    @t.action("cas", swap)
    def swaps_it(s: State, c: Expr) -> Step:
        return z3.And(s.at(c, "swaps"), low_as_seen(s, c)), grant(s, c, s.mine(c)).but(
            early=z3.Or(s.early, z3.And(s.mine(c) > s.head, z3.Not(s.tired(c))))
        )

    @t.action("cas", swap)
    def fails_to_swap_it(s: State, c: Expr) -> Step:
        return z3.And(s.at(c, "swaps"), z3.Not(low_as_seen(s, c))), s.of(c, pc="competes")

    if its.flag:

        @t.action("load", look)
        def finds_it_held_for_long(s: State, c: Expr) -> Step:
            tires = z3.And(s.at(c, "competes"), s.held, z3.Not(s.sleepers))
            return tires, seen(s, c, pc="flags")

        @t.action("cas", its.flag)
        def says_that_it_sleeps(s: State, c: Expr) -> Step:
            after = s.but(sleepers=z3.BoolVal(True)).of(c, pc="competes")
            return z3.And(s.at(c, "flags"), as_seen(s, c)), after

        @t.action("cas", its.flag)
        def fails_to_say_so(s: State, c: Expr) -> Step:
            return z3.And(s.at(c, "flags"), z3.Not(as_seen(s, c))), s.of(c, pc="competes")

    if deadlines:

        @t.action("add", f"ol_add_hi_relaxed(&l->word, -{its.name});")
        def gives_up(s: State, c: Expr) -> Step:
            return s.at(c, *WAITS), s.of(c, pc="out").but(tail=s.tail - 1)

    _release(t, its)
    _exclusion(t, bool(its.flag))
    if not deadlines:
        _bound(t, rounds)
    _mutants(t, deadlines)
    return t


def _release(t: System, its: Lines) -> None:
    @t.action("load", its.release[0])
    def begins_to_release(s: State, c: Expr) -> Step:
        return s.at(c, "holds"), seen(s, c, pc="releases")

    def released(s: State, c: Expr) -> State:
        """One more than was seen; or than that with all flags."""
        carries = z3.BoolVal(True) if its.flag else s.seen_held(c)
        after = s.but(head=s.seen_head(c) + count(carries), held=z3.Not(carries))
        return after.but(sleepers=z3.BoolVal(False)) if its.flag else after

    @t.action(its.writes, its.release[1])
    def releases(s: State, c: Expr) -> Step:
        return s.at(c, "releases"), released(s, c).of(c, pc="out")


def _exclusion(t: System, flagged: bool) -> None:
    @t.invariant
    def a_holder_has_set_the_bit(s: State, x: Expr) -> Expr:
        return z3.Implies(s.at(x, *IN), s.held)

    @t.invariant
    def there_is_one_holder(s: State, x: Expr, y: Expr) -> Expr:
        return z3.Implies(z3.And(s.at(x, *IN), s.at(y, *IN)), x == y)

    @t.invariant
    def what_takes_it_saw_the_bit_clear(s: State, x: Expr) -> Expr:
        return z3.Implies(s.at(x, "takes", "swaps"), z3.Not(s.seen_held(x)))

    @t.invariant
    def only_the_holder_writes_the_head(s: State, x: Expr) -> Expr:
        same = z3.And(s.seen_head(x) == s.head, s.seen_held(x))
        return z3.Implies(s.at(x, "releases"), same)

    @t.invariant
    def who_says_that_it_sleeps_saw_the_bit(s: State, x: Expr) -> Expr:
        return z3.Implies(s.at(x, "flags"), s.seen_held(x))

    @t.invariant
    def sleepers_are_told_of_only_while_it_is_held(s: State) -> Expr:
        return z3.Implies(s.sleepers, s.held) if flagged else z3.Not(s.sleepers)

    @t.property
    def mutual_exclusion(s: State, x: Expr, y: Expr) -> Expr:
        return z3.Implies(z3.And(s.at(x, *IN), s.at(y, *IN)), x == y)


def _bound(t: System, rounds: int) -> None:
    @t.assumption
    def few_wait_or_hold(s: State) -> Expr:
        return z3.And(s.tail - s.head <= MOST, MOST >= 1, rounds > MOST)

    def granted(s: State) -> Expr:
        return s.head + count(s.held)

    @t.invariant
    def tickets_are_drawn_before_they_are_served(s: State) -> Expr:
        return z3.And(s.head >= 0, granted(s) <= s.tail, s.last < s.tail, s.last >= -1)

    @t.invariant
    def a_ticket_is_drawn(s: State, x: Expr) -> Expr:
        drawn = z3.And(s.mine(x) >= 0, s.mine(x) < s.tail)
        return z3.Implies(s.at(x, *WAITS, *IN), drawn)

    @t.invariant
    def tickets_differ(s: State, x: Expr, y: Expr) -> Expr:
        both = z3.And(s.at(x, *WAITS, *IN), s.at(y, *WAITS, *IN), x != y)
        return z3.Implies(both, s.mine(x) != s.mine(y))

    @t.invariant
    def a_waiter_is_not_served(s: State, x: Expr) -> Expr:
        return z3.Implies(s.at(x, *WAITS), z3.Not(s.served(s.mine(x))))

    @t.invariant
    def each_ticket_has_an_owner(s: State, k: Expr) -> Expr:
        waits = z3.And(s.at(s.owner(k), *WAITS), s.mine(s.owner(k)) == k)
        return z3.Implies(z3.And(k >= 0, k < s.tail, z3.Not(s.served(k))), waits)

    @t.invariant
    def the_served_are_counted(s: State, k: Expr) -> Expr:
        more = s.served_below(k) + count(s.served(k))
        return z3.And(s.served_below(0) == 0, z3.Implies(k >= 0, s.served_below(k + 1) == more))

    @t.invariant
    def none_is_served_after_the_last(s: State, k: Expr) -> Expr:
        all_counted = z3.And(s.served_below(k) == granted(s), z3.Not(s.served(k)))
        return z3.Implies(z3.And(k >= 0, k > s.last), all_counted)

    @t.invariant
    def who_did_not_time_out_was_served(s: State, x: Expr) -> Expr:
        competes = z3.And(s.at(x, "competes", "swaps", "flags"), z3.Not(s.tired(x)))
        return z3.Implies(competes, s.mine(x) <= s.head)

    @t.invariant
    def nobody_was_early(s: State) -> Expr:
        return z3.Not(s.early)

    @t.invariant
    def those_that_pass_are_counted(s: State, x: Expr) -> Expr:
        later = granted(s) - s.served_below(s.mine(x) + 1)
        return z3.Implies(s.at(x, *WAITS), s.passed(x) == later)

    @t.invariant
    def the_last_is_within_the_bound(s: State, x: Expr) -> Expr:
        near = z3.And(s.bound(x) >= 0, s.last - s.mine(x) <= s.bound(x))
        return z3.Implies(s.at(x, *WAITS), near)

    @t.lemma
    def no_more_are_served_than_drawn(s: State, k: Expr) -> Expr:
        return z3.Implies(k >= 0, s.served_below(k) <= k)

    @t.lemma
    def one_that_waits_is_not_counted(s: State, k: Expr, j: Expr) -> Expr:
        waits = z3.And(j >= 0, j < k, z3.Not(s.served(j)))
        return z3.Implies(waits, s.served_below(k) <= k - 1)

    @t.lemma
    def counts_grow_by_one(s: State, k: Expr, j: Expr) -> Expr:
        grows = s.served_below(k) - s.served_below(j)
        return z3.Implies(z3.And(j >= 0, j <= k), z3.And(grows >= 0, grows <= k - j))

    @t.property
    def overtakes_are_bounded(s: State, x: Expr) -> Expr:
        """MOST - 1 for each grant, while x waits, to a later ticket that is not served yet."""
        return z3.Implies(s.at(x, *WAITS), s.passed(x) <= s.bound(x))

    @t.property
    def out_of_turn_only_after_a_timeout(s: State) -> Expr:
        return z3.Not(s.early)

    @t.property
    def each_waiting_ticket_is_another_context(s: State, k: Expr, j: Expr) -> Expr:
        both = z3.And(k >= 0, k < j, j < s.tail, z3.Not(s.served(k)), z3.Not(s.served(j)))
        return z3.Implies(both, s.owner(k) != s.owner(j))


def _mutants(t: System, deadlines: bool) -> None:
    @t.broken_action("swaps_it")
    def takes_it_if_the_bit_is_clear_when_seen(s: State, c: Expr) -> Step:
        return s.at(c, "swaps"), grant(s, c, s.mine(c))

    @t.broken_action("releases")
    def clears_the_bit_too_soon(s: State, c: Expr) -> Step:
        return s.at(c, "releases"), s.but(held=z3.BoolVal(False)).of(c, pc="holds")

    @t.broken_invariant("what_takes_it_saw_the_bit_clear")
    def what_takes_it_saw_it_once(s: State, x: Expr) -> Expr:
        return z3.Implies(s.at(x, "takes"), z3.Not(s.seen_held(x)))

    t.left_out("there_is_one_holder")
    if deadlines:
        return

    @t.broken_action("is_served_or_was_passed")
    def is_nearly_served(s: State, c: Expr) -> Step:
        return s.at(c, "line"), s.of(c, pc="competes")

    @t.broken_invariant("the_last_is_within_the_bound")
    def the_last_is_at_most_one_later(s: State, x: Expr) -> Expr:
        return z3.Implies(s.at(x, *WAITS), s.last - s.mine(x) <= 1)

    t.left_out("few_wait_or_hold", "the_served_are_counted", "only_the_holder_writes_the_head")


SYSTEMS = [
    system(lock, deadlines)
    for lock in ("preemptable_ticket", "pv_preemptable_ticket")
    for deadlines in (True, False)
]
