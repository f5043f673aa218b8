# SPDX-License-Identifier: MIT
"""The word of the lock rota, as 32 bits: no assumption about the number of contexts.

Who is woken, sleeps or leaves is up to hints and clocks, which the model lets be anything. It keeps
of each context only what goes into the word: whether it claims the lock, sleeps, or was called.

With claims taken over, a claimant is not alone, and may be passed by who took its claim over.
"""

import z3

from tests.check.proofs.system import Expr, State, Step, System

HELD, CLAIMED, WAKE, LEAVES, SLEEPER = 1, 0x10000, 0x20000, 0x40000, 0x80000
SLEEPERS, LOW = 0xFFF80000, 0xFFFF
ONES = 0xFFFFFFFF
IN = ("holds", "releases")


def has(w: Expr, bits: int) -> Expr:
    return w & bits != 0


def grant(s: State, c: Expr, word: Expr) -> State:
    """Context c takes the lock, and passes all others that claim it."""
    passed = s.passed
    ignores = z3.And(has(s.word, CLAIMED), z3.Not(s.claims(c)))
    return (
        s.but(word=word, claim_ignored=z3.Or(s.claim_ignored, ignores))
        .each(passed=lambda d: passed(d) + z3.If(z3.And(d != c, s.claims(d)), 1, 0))
        .of(c, pc="holds", claims=False, sleeps=False, called=False)
    )


def fresh(s: State, c: Expr) -> Expr:
    """It neither claims the lock nor sleeps: it may take it as everybody may."""
    return z3.And(s.at(c, "out"), z3.Not(z3.Or(s.claims(c), s.sleeps(c))))


def released(s: State, c: Expr) -> State:
    """It stores what follows from what it saw to the lower half; the upper half stays."""
    low = z3.Extract(15, 0, s.seen(c) + HELD)
    after = z3.Concat(z3.Extract(31, 16, s.word), low)
    count = z3.LShR(after & LOW, 1) == (z3.LShR(s.word & LOW, 1) + 1 & 0x7FFF)
    fields = z3.And(count, z3.Not(has(after, HELD)))
    return s.but(word=after, run_over=z3.Or(s.run_over, z3.Not(fields))).of(c, pc="out")


def system(taken_over: bool) -> System:
    boolean, word = z3.BoolSort(), z3.BitVecSort(32)
    t = System(
        "rota" if taken_over else "rota without claims taken over",
        headers=("rota.h",),
        places=("out", "takes", "tries", *IN),
        inside=IN,
        shared={"word": word, "claim_ignored": boolean, "run_over": boolean},
        own={"seen": word, "claims": boolean, "sleeps": boolean, "called": boolean}
        | {"passed": z3.IntSort()},
        ghosts=("claim_ignored", "run_over", "passed"),
        elsewhere=("ol_rota_wakes(l)", "(wakes"),
        start=lambda: values(z3.BitVecVal(0, 32)),
        seed=lambda w: values(z3.BitVecVal(w, 32)),
        word=lambda s: s.word,
    )

    def values(first: Expr) -> dict[str, Expr]:
        none = {word: z3.BitVecVal(0, 32), boolean: z3.BoolVal(False), z3.IntSort(): z3.IntVal(0)}
        return {name: none[kind] for name, kind in (t.shared | t.own).items()} | {"word": first}

    _taking(t)
    _waiting(t, taken_over)
    _release(t)
    _invariants(t)
    if not taken_over:
        _one_claimant(t)
    _mutants(t)
    return t


# Steps. Who is out may be about to lock, or anywhere in its wait.


def _taking(t: System) -> None:
    @t.action(
        "load",
        "uint32_t w = ol_load_relaxed(&l->word);",
        "w = ol_load_relaxed(&l->word);",
        "me->seen = ol_load_relaxed(&l->word) & OL_ROTA_RELEASES;",
    )
    def looks(s: State, c: Expr) -> Step:
        return s.at(c, "out"), s

    @t.action("load", "uint32_t w = ol_load_relaxed(&l->word);")
    def sees_it_free(s: State, c: Expr) -> Step:
        free = z3.And(fresh(s, c), z3.Not(has(s.word, HELD | CLAIMED)))
        return free, s.of(c, pc="takes", seen=s.word)

    @t.action("load", "uint32_t w = ol_load_relaxed(&l->word);")
    def tries_what_it_holds(s: State, c: Expr) -> Step:
        return z3.And(s.at(c, "holds"), has(s.word, HELD | CLAIMED)), s

    take = "ol_cas_acquire(&l->word, w, w | OL_ROTA_HELD)"

    @t.action("cas", take)
    def takes_it(s: State, c: Expr) -> Step:
        same = z3.And(s.at(c, "takes"), s.word == s.seen(c))
        return same, grant(s, c, s.seen(c) | HELD)

    @t.action("cas", take)
    def fails_to_take_it(s: State, c: Expr) -> Step:
        return z3.And(s.at(c, "takes"), s.word != s.seen(c)), s.of(c, pc="out")

    @t.action("load", "w = ol_load_relaxed(&l->word);")
    def sees_it_free_for_it(s: State, c: Expr) -> Step:
        free = z3.Not(has(s.word, HELD)), z3.Or(s.claims(c), z3.Not(has(s.word, CLAIMED)))
        return z3.And(s.at(c, "out"), *free), s.of(c, pc="tries", seen=s.word)

    @t.action("load", "w = ol_load_relaxed(&l->word);")
    def sees_it_free_and_was_called(s: State, c: Expr) -> Step:
        possible, after = sees_it_free_for_it(s, c)
        return possible, after.of(c, called=True)

    @t.action("cas", "ol_cas_acquire(&l->word, w, taken)")
    def tries_and_takes_it(s: State, c: Expr) -> Step:
        taken = (s.seen(c) | HELD) & z3.If(s.claims(c), z3.BitVecVal(ONES - CLAIMED, 32), ONES)
        taken = taken - z3.If(s.sleeps(c), z3.BitVecVal(SLEEPER, 32), 0)
        calls = z3.And(s.called(c), has(taken, SLEEPERS))
        taken = taken | z3.If(calls, z3.BitVecVal(WAKE, 32), 0)
        return z3.And(s.at(c, "tries"), s.word == s.seen(c)), grant(s, c, taken)

    @t.action("cas", "ol_cas_acquire(&l->word, w, taken)")
    def tries_in_vain(s: State, c: Expr) -> Step:
        return z3.And(s.at(c, "tries"), s.word != s.seen(c)), s.of(c, pc="out", called=False)


def _waiting(t: System, taken_over: bool) -> None:
    claim = "uint32_t w = ol_or_relaxed(&l->word, OL_ROTA_CLAIMED);"

    @t.action("or", claim)
    def claims_it(s: State, c: Expr) -> Step:
        free = z3.And(s.at(c, "out"), z3.Not(has(s.word, CLAIMED)))
        return free, s.of(c, claims=True, passed=0).but(word=s.word | CLAIMED)

    @t.action("or", claim)
    def finds_it_claimed(s: State, c: Expr) -> Step:
        return z3.And(s.at(c, "out"), has(s.word, CLAIMED)), s

    if taken_over:

        @t.action("or", claim)
        def takes_a_claim_over(s: State, c: Expr) -> Step:
            left = z3.And(has(s.word, CLAIMED), z3.Not(has(s.word, HELD)))
            return z3.And(s.at(c, "out"), left), s.of(c, claims=True, passed=0)

    @t.action("add", "w = ol_add_relaxed(&l->word, OL_ROTA_SLEEPER);")
    def is_a_sleeper(s: State, c: Expr) -> Step:
        awake = z3.And(s.at(c, "out"), z3.Not(s.sleeps(c)))
        return awake, s.of(c, sleeps=True).but(word=s.word + SLEEPER)

    look_or_call = "w = ol_or_relaxed(&l->word, asks);"

    @t.action("or", look_or_call)
    def looks_before_it_sleeps(s: State, c: Expr) -> Step:
        return s.at(c, "out"), s

    @t.action("or", look_or_call)
    def calls(s: State, c: Expr) -> Step:
        return s.at(c, "out"), s.but(word=s.word | WAKE)

    @t.action("and", "(ol_and_relaxed(&l->word, ~OL_ROTA_LEAVES) & OL_ROTA_LEAVES)")
    def leaves(s: State, c: Expr) -> Step:
        return s.at(c, "out"), s.but(word=s.word & (ONES - LEAVES))

    @t.action("or", "ol_or_relaxed(&l->word, OL_ROTA_LEAVES);")
    def another_one_is_to_leave(s: State, c: Expr) -> Step:
        return s.at(c, "out"), s.but(word=s.word | LEAVES)

    @t.action("and", "ol_and_relaxed(&l->word, ~OL_ROTA_CLAIMED);")
    def gives_its_claim_up(s: State, c: Expr) -> Step:
        after = s.of(c, claims=False).but(word=s.word & (ONES - CLAIMED))
        return z3.And(s.at(c, "out"), s.claims(c)), after

    @t.action("add", "ol_add_relaxed(&l->word, 0u - OL_ROTA_SLEEPER);")
    def is_no_sleeper(s: State, c: Expr) -> Step:
        after = s.of(c, sleeps=False).but(word=s.word - SLEEPER)
        return z3.And(s.at(c, "out"), s.sleeps(c)), after


def _release(t: System) -> None:
    @t.action("load", "uint32_t w = ol_load_relaxed(&l->word);")
    def begins_to_release(s: State, c: Expr) -> Step:
        return s.at(c, "holds"), s.of(c, pc="releases", seen=s.word)

    @t.action("store", "ol_store_lo_release(&l->word, (uint16_t)(w + OL_ROTA_HELD));")
    def releases(s: State, c: Expr) -> Step:
        return s.at(c, "releases"), released(s, c)

    @t.action("and", "ol_and_relaxed(&l->word, ~OL_ROTA_WAKE);")
    def ends_a_call(s: State, c: Expr) -> Step:
        called = z3.And(s.at(c, "releases"), has(s.seen(c), WAKE))
        return called, s.but(word=s.word & (ONES - WAKE))


# Why it is right.


def _invariants(t: System) -> None:
    @t.invariant
    def a_holder_has_set_the_bit(s: State, x: Expr) -> Expr:
        return z3.Implies(s.at(x, *IN), has(s.word, HELD))

    @t.invariant
    def there_is_one_holder(s: State, x: Expr, y: Expr) -> Expr:
        return z3.Implies(z3.And(s.at(x, *IN), s.at(y, *IN)), x == y)

    @t.invariant
    def what_takes_it_saw_it_free(s: State, x: Expr) -> Expr:
        return z3.Implies(s.at(x, "takes"), z3.Not(has(s.seen(x), HELD | CLAIMED)))

    @t.invariant
    def what_tries_saw_it_free_for_it(s: State, x: Expr) -> Expr:
        free = z3.Not(has(s.seen(x), HELD)), z3.Or(s.claims(x), z3.Not(has(s.seen(x), CLAIMED)))
        return z3.Implies(s.at(x, "tries"), z3.And(*free))

    @t.invariant
    def what_a_holder_saw(s: State, x: Expr) -> Expr:
        """Nobody else writes the lower half meanwhile."""
        return z3.Implies(s.at(x, "releases"), s.word & LOW == s.seen(x) & LOW)

    @t.invariant
    def no_field_ran_over(s: State) -> Expr:
        return z3.Not(s.run_over)

    @t.invariant
    def no_claim_was_ignored(s: State) -> Expr:
        return z3.Not(s.claim_ignored)

    @t.property
    def mutual_exclusion(s: State, x: Expr, y: Expr) -> Expr:
        return z3.Implies(z3.And(s.at(x, *IN), s.at(y, *IN)), x == y)

    @t.property
    def a_release_changes_only_its_fields(s: State) -> Expr:
        """The number of releases grows by one; sleepers and the claim stay."""
        return z3.Not(s.run_over)

    @t.property
    def only_a_claimant_takes_a_claimed_lock(s: State) -> Expr:
        return z3.Not(s.claim_ignored)


# What must not be provable.


def _mutants(t: System) -> None:
    @t.broken_action("takes_it")
    def takes_it_by_a_look(s: State, c: Expr) -> Step:
        return s.at(c, "takes"), grant(s, c, s.seen(c) | HELD)

    @t.broken_action("sees_it_free")
    def overlooks_the_claim(s: State, c: Expr) -> Step:
        free = z3.And(fresh(s, c), z3.Not(has(s.word, HELD)))
        return free, s.of(c, pc="takes", seen=s.word)

    @t.broken_action("calls")
    def writes_the_lower_half(s: State, c: Expr) -> Step:
        return s.at(c, "out"), s.but(word=s.word ^ 2)

    @t.broken_invariant("what_tries_saw_it_free_for_it")
    def what_tries_saw_something(s: State, x: Expr) -> Expr:
        return z3.BoolVal(True)

    t.left_out("there_is_one_holder", "what_a_holder_saw")


def _one_claimant(t: System) -> None:
    @t.invariant
    def there_is_one_claimant(s: State, x: Expr, y: Expr) -> Expr:
        return z3.Implies(z3.And(s.claims(x), s.claims(y)), x == y)

    @t.invariant
    def a_claim_is_in_the_word(s: State, x: Expr) -> Expr:
        return z3.Implies(s.claims(x), has(s.word, CLAIMED))

    @t.invariant
    def no_claimant_is_passed(s: State, x: Expr) -> Expr:
        return z3.Implies(s.claims(x), s.passed(x) == 0)

    @t.property
    def nobody_passes_a_claimant(s: State, x: Expr) -> Expr:
        return z3.Implies(s.claims(x), s.passed(x) == 0)


SYSTEMS = [system(True), system(False)]
