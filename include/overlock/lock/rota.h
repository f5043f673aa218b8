/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_LOCK_ROTA_H
#define OL_LOCK_ROTA_H
/*
 * Test-and-set lock whose waiters pause, yield, and sleep in turns. Our own.
 *
 * A running context may take the lock whenever it is free, so a hand-over never waits for a context without a CPU.
 * What a waiter does depends on what it sees:
 *
 *  - Others take the lock first: it looks after pauses that double, since each look takes the cache line from its user.
 *    After `prompt` it sleeps for its turn: one `lease`, and one for each other sleeper.
 *  - The lock is not released for `spin`: it yields, since the holder may have no CPU. If no yield lets others run, it
 *    sleeps after `prompt`; else it goes on for PATIENCE. It sets W, for the next release to wake a sleeper.
 *  - A yield took longer than a time slice: too many want the CPUs. It sleeps, and then sets L. The next that meets L
 *    sleeps for a turn, even if the lock is free, and sets L in its turn; one in 64 does not, in case there is room.
 *
 * A waiter that polled for `prompt` in vain after its turn, or that did not sleep and waits for longer than FAIR,
 * claims the lock: no other context may take it then.
 *
 * Sleepers look by the clock, too: a wake-up that is lost, or goes to another lock's sleeper, costs time only. While
 * the lock is not released, they look less and less often; one that was called, and gets the lock, sets W for the next.
 *
 *   31                19 18 17 16 15                 1  0
 *  +--------------------+--+--+--+--------------------+--+
 *  |      sleepers      |L |W |C |      releases      |H |
 *  +--------------------+--+--+--+--------------------+--+
 *
 *  H: held; C: claimed, only the claimant may take it; W: the next release wakes a sleeper; L: a waiter is to sleep
 *
 * A release is a store to the lower half, which nobody else writes while the lock is held. An atomic operation would
 * wait until all that the section wrote has left the store buffer; with many locks that is a cache miss each time.
 * The price: a waiter that sets C or W after the holder looked is not woken by that release. So who has just claimed
 * the lock polls before it sleeps.
 *
 * Pairing: [A] acquires from [R], the previous holder's release. All else is relaxed: a hint that is read too early or
 * too late costs time, as a lost wake-up does.
 */
#include <overlock/port.h>

typedef struct OL_CAPABILITY ol_rota {
	uint32_t word;
} ol_rota_t;

#define OL_ROTA_INIT		{ 0 }
#define OL_ROTA_HELD		1u
#define OL_ROTA_RELEASE		2u
#define OL_ROTA_RELEASES	0xfffeu
#define OL_ROTA_CLAIMED		0x10000u
#define OL_ROTA_WAKE		0x20000u
#define OL_ROTA_LEAVES		0x40000u
#define OL_ROTA_SLEEPER		0x80000u
#define OL_ROTA_SLEEPERS	0xfff80000u /* if there are more, they are not seen, and claim the lock in time */

/* In leases, by default 250 us. */
#define OL_ROTA_SLICE		20u
#define OL_ROTA_PATIENCE	16u
#define OL_ROTA_FAIR		80u
#define OL_ROTA_LONGEST		256u /* between two looks of a sleeper */

static inline bool ol_rota_is_locked(const ol_rota_t *l)
{
	return (ol_load_relaxed(&l->word) & OL_ROTA_HELD) != 0;
}

static inline bool ol_rota_is_contended(const ol_rota_t *l)
{
	return (ol_load_relaxed(&l->word) & (OL_ROTA_CLAIMED | OL_ROTA_SLEEPERS)) != 0;
}

static inline bool ol_rota_trylock(ol_rota_t *l)
{
	uint32_t w = ol_load_relaxed(&l->word);

	return !(w & (OL_ROTA_HELD | OL_ROTA_CLAIMED)) &&
	       ol_cas_acquire(&l->word, w, w | OL_ROTA_HELD); /* [A] */
}

/* Sleepers park on a number of wake-ups, in a slot that locks share, with one of these keys. */
enum { OL_ROTA_CLAIMANT = 1, OL_ROTA_CALLED = 2, OL_ROTA_IN_TURN = 4 };

static inline uint32_t *ol_rota_wakes(const ol_rota_t *l)
{
	return (uint32_t *)ol_wait_slot((size_t)l);
}

static OL_COLD void ol_rota_wake(const ol_rota_t *l, uint32_t key)
{
	uint32_t *wakes = ol_rota_wakes(l);

	ol_add_relaxed(wakes, 1u);
	ol_count(OL_KICK);
	ol_kick(wakes, key, 1);
}

struct ol_rota_waiter {
	uint32_t claim;		       /* OL_ROTA_CLAIMED once we claim the lock */
	uint32_t slept;		       /* OL_ROTA_SLEEPER once we are one of the sleepers */
	uint32_t seen;		       /* releases at the last look */
	uint32_t lost;		       /* looks that found the lock released and taken again */
	uint32_t leases;	       /* between our looks while we sleep */
	bool called;		       /* we slept until a release; others may do so, too */
	bool crowded;		       /* others want this CPU */
	bool starved;		       /* they had it for longer than a time slice */
	ol_ticks_t still, tired, turn; /* when to yield, to sleep, to claim */
};

static inline void ol_rota_start(const ol_rota_t *l, struct ol_rota_waiter *me)
{
	ol_ticks_t now = ol_now();

	me->still = ol_later(now, 1, ol_tune(spin));
	me->tired = ol_later(now, 1, ol_tune(prompt));
	me->crowded = false;
	me->seen = ol_load_relaxed(&l->word) & OL_ROTA_RELEASES;
	me->lost = 0;
}

static inline bool ol_rota_is_free(uint32_t w, const struct ol_rota_waiter *me)
{
	return !(w & OL_ROTA_HELD) && (me->claim || !(w & OL_ROTA_CLAIMED));
}

static inline bool ol_rota_try(ol_rota_t *l, struct ol_rota_waiter *me, uint32_t w)
{
	uint32_t taken = ((w | OL_ROTA_HELD) & ~me->claim) - me->slept;

	if (me->called && (taken & OL_ROTA_SLEEPERS))
		taken |= OL_ROTA_WAKE;
	me->seen = ~0u; /* if another one was first, that is one loss more */
	return ol_cas_acquire(&l->word, w, taken); /* [A] */
}

/* Twice as long after each loss, and at most four times `pace`. */
static inline void ol_rota_pause(uint32_t lost, ol_ticks_t until)
{
	uint32_t n = 1u << (lost < 6 ? lost : 6);
	ol_ticks_t again = ol_earlier(ol_after(n, ol_tune(pace) / 16), until);

	do {
		ol_relax_until(again);
	} while (!ol_passed(again));
}

/* Time without a CPU is not time that we polled in vain. */
static inline void ol_rota_yield(struct ol_rota_waiter *me)
{
	ol_ticks_t since = ol_now();
	uint64_t slice = ol_slice_id();
	bool long_ago;

	ol_count(OL_YIELD);
	ol_yield();
	long_ago = ol_passed(ol_later(since, 1, ol_tune(prompt) / 8));
	if (!long_ago && slice == ol_slice_id()) {
		me->still = ol_after(1, ol_tune(spin));
		return;
	}
	if (me->lost > 1 || me->slept)
		me->tired = long_ago ? ol_after(1, ol_tune(prompt)) : me->tired;
	else if (!me->crowded)
		me->tired = ol_after(OL_ROTA_PATIENCE, ol_tune(lease));
	me->crowded = true;
	me->starved = !me->claim && ol_passed(ol_later(since, OL_ROTA_SLICE, ol_tune(lease)));
}

static inline void ol_rota_poll(uint32_t w, struct ol_rota_waiter *me, ol_ticks_t until)
{
	uint32_t releases = w & OL_ROTA_RELEASES;

	if (releases != me->seen) {
		me->seen = releases;
		me->still = ol_after(1, ol_tune(spin));
		if (++me->lost > 1)
			ol_rota_pause(me->lost, until);
		if (me->lost == 2)
			me->tired = ol_after(1, ol_tune(prompt));
	} else if (ol_passed(me->still)) {
		ol_rota_yield(me);
	} else {
		ol_relax_until(ol_earlier(me->still, until));
	}
}

/* When a sleeper that sees `w` looks again: its holder may sleep, too, and wakes one when it releases. */
static inline ol_ticks_t ol_rota_next_look(struct ol_rota_waiter *me, uint32_t w)
{
	bool still = (w & OL_ROTA_HELD) && (w & OL_ROTA_RELEASES) == me->seen;

	me->leases = !still ? 1 : me->leases < OL_ROTA_LONGEST ? 2 * me->leases : me->leases;
	me->seen = w & OL_ROTA_RELEASES;
	return ol_after(me->leases, ol_tune(lease));
}

/* Another one's claim is ours, too, if it left the lock free while we polled: it has no CPU, or is no more. */
static inline void ol_rota_claim(ol_rota_t *l, struct ol_rota_waiter *me)
{
	uint32_t w = ol_or_relaxed(&l->word, OL_ROTA_CLAIMED);

	if (!(w & OL_ROTA_CLAIMED) ||
	    (!(w & OL_ROTA_HELD) && !me->lost && (w & OL_ROTA_RELEASES) == me->seen))
		me->claim = OL_ROTA_CLAIMED;
	else
		me->turn = ol_rota_next_look(me, w);
	ol_rota_start(l, me);
}

/* For a turn, or until the lock is released: `asks` is WAKE then, and else 0. */
static OL_COLD void ol_rota_sleep(ol_rota_t *l, struct ol_rota_waiter *me, uint32_t asks,
				  ol_ticks_t until)
{
	uint32_t seen = ol_load_relaxed(ol_rota_wakes(l)), key = OL_ROTA_IN_TURN, w;
	ol_ticks_t again = me->turn;

	if (!me->slept) {
		w = ol_add_relaxed(&l->word, OL_ROTA_SLEEPER);
		me->slept = OL_ROTA_SLEEPER;
		again = me->turn = ol_after(1 + w / OL_ROTA_SLEEPER, ol_tune(lease));
	}
	if (asks || me->claim) {
		w = ol_or_relaxed(&l->word, asks);
		if (ol_rota_is_free(w, me))
			return;
		key = me->claim ? OL_ROTA_CLAIMANT : OL_ROTA_CALLED;
		again = ol_rota_next_look(me, w);
	}
	ol_count(OL_PARK);
	ol_park(ol_rota_wakes(l), seen, key, ol_earlier(again, until));
	me->called = key == OL_ROTA_CALLED;
	ol_rota_start(l, me);
}

/* Whether L is set, and this waiter is the one that has to sleep. */
static inline bool ol_rota_leaves(ol_rota_t *l, const struct ol_rota_waiter *me, uint32_t w)
{
	return (w & OL_ROTA_LEAVES) && !me->slept &&
	       (ol_and_relaxed(&l->word, ~OL_ROTA_LEAVES) & OL_ROTA_LEAVES);
}

static OL_COLD void ol_rota_leave(ol_rota_t *l, struct ol_rota_waiter *me, ol_ticks_t until)
{
	ol_rota_sleep(l, me, me->starved ? OL_ROTA_WAKE : 0, until);
	me->starved = false;
	if (me->seen & 63 * OL_ROTA_RELEASE)
		ol_or_relaxed(&l->word, OL_ROTA_LEAVES);
}

static OL_COLD bool ol_rota_lock_slow(ol_rota_t *l, ol_ticks_t until)
{
	struct ol_rota_waiter me;
	uint32_t w;

	me.claim = me.slept = 0;
	me.leases = 1;
	me.called = me.starved = false;
	me.turn = ol_after(OL_ROTA_FAIR, ol_tune(lease));
	ol_count(OL_SLOW_PATH);
	ol_rota_start(l, &me);
	for (;;) {
		w = ol_load_relaxed(&l->word);
		if (me.starved || ol_rota_leaves(l, &me, w)) {
			ol_rota_leave(l, &me, until);
		} else if (ol_rota_is_free(w, &me)) {
			if (ol_rota_try(l, &me, w))
				return true;
		} else if (ol_passed(until)) {
			break;
		} else if (!me.claim && ol_passed(me.turn) && (!me.slept || ol_passed(me.tired))) {
			ol_rota_claim(l, &me);
		} else if (ol_passed(me.tired)) {
			ol_rota_sleep(l, &me, me.lost > 1 ? 0 : OL_ROTA_WAKE, until);
		} else {
			ol_rota_poll(w, &me, ol_earlier(me.tired, until));
		}
	}
	if (me.claim)
		ol_and_relaxed(&l->word, ~OL_ROTA_CLAIMED);
	if (me.slept)
		ol_add_relaxed(&l->word, 0u - OL_ROTA_SLEEPER);
	return false;
}

static inline bool ol_rota_timedlock(ol_rota_t *l, ol_ticks_t until)
{
	return ol_rota_trylock(l) || ol_rota_lock_slow(l, until);
}

static inline void ol_rota_lock(ol_rota_t *l)
{
	if (OL_UNLIKELY(!ol_rota_trylock(l)))
		ol_rota_lock_slow(l, OL_NEVER);
}

static inline void ol_rota_release(ol_rota_t *l, uint32_t w)
{
	ol_store_lo_release(&l->word, (uint16_t)(w + OL_ROTA_HELD)); /* [R] */
}

static OL_COLD void ol_rota_unlock_slow(ol_rota_t *l, uint32_t w)
{
	if (w & OL_ROTA_SLEEPERS)
		ol_compete(ol_rota_wakes(l));
	if (w & OL_ROTA_WAKE)
		ol_and_relaxed(&l->word, ~OL_ROTA_WAKE);
	ol_rota_release(l, w);
	if (w & OL_ROTA_CLAIMED)
		ol_rota_wake(l, OL_ROTA_CLAIMANT);
	if (w & OL_ROTA_WAKE)
		ol_rota_wake(l, OL_ROTA_CALLED);
}

static inline void ol_rota_unlock(ol_rota_t *l)
{
	uint32_t w = ol_load_relaxed(&l->word);

	if (OL_UNLIKELY(w & (OL_ROTA_SLEEPERS | OL_ROTA_CLAIMED | OL_ROTA_WAKE)))
		ol_rota_unlock_slow(l, w);
	else
		ol_rota_release(l, w);
}
#endif
