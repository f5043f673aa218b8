/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_LOCK_OVERLOCK_H
#define OL_LOCK_OVERLOCK_H
/*
 * Test-and-set lock whose waiters sleep in turns. Our own.
 *
 * A running context may take the lock whenever it is free, so a hand-over never waits for a context without
 * a CPU. A waiter polls for `prompt`, then sleeps. While contexts sleep, those that compete take turns with them:
 * impl/turns.h says who leaves, who is woken, and how many compete.
 *
 * A competitor that goes to sleep for something else, as on a condition variable, gives its place to a sleeper.
 *
 * A waiter that was woken and did not get the lock for a `lease`, or that slept past its turn, claims it: then
 * nobody else takes it. If the lock was held for so long that a waiter saw no release, that waiter calls: the
 * next release wakes one.
 *
 * Sleepers look again by the clock, so a wake-up that is lost, or goes to another lock's sleeper, costs time
 * only. They look less and less often while nobody releases the lock; when one gets it then, its release wakes
 * the next. All state but the word is a hint in slots that locks share.
 *
 *   31       26 25                       4  3  2  1  0
 *  +-----------+--------------------------+--+--+--+--+
 *  | releases  |         sleepers         |W |L |C |H |
 *  +-----------+--------------------------+--+--+--+--+
 *
 *  H: held; C: claimed, only the claimant may take it; L: one is to leave; W: a release is to wake one
 *
 *  L is set, and W cleared, by the holder in its release, which is its last access.
 *
 *  Pairing: [A] acquires from [R], the previous holder's release. [S] is a read-modify-write of the word
 *  that [R] changes: either it finds the lock free, or [R] returns what the sleeper set before. All else is
 *  relaxed: a hint read too early or too late costs time, as a lost wake-up does.
 */
#include <overlock/port.h>

typedef struct OL_CAPABILITY ol_overlock {
	uint32_t word;
} ol_overlock_t;

#define OL_OVERLOCK_INIT	{ 0 }
#define OL_OVL_HELD		1u
#define OL_OVL_CLAIMED		2u
#define OL_OVL_LEAVES		4u
#define OL_OVL_WAKE		8u
#define OL_OVL_SLEEPER		16u
#define OL_OVL_SLEEPERS		0x03fffff0u
#define OL_OVL_RELEASE		0x04000000u
#define OL_OVL_RELEASES		63u
#define OL_OVL_COUNTED		(OL_OVL_RELEASES * OL_OVL_RELEASE)

static inline bool ol_overlock_is_locked(const ol_overlock_t *l)
{
	return (ol_load_relaxed(&l->word) & OL_OVL_HELD) != 0;
}

static inline bool ol_overlock_is_contended(const ol_overlock_t *l)
{
	return (ol_load_relaxed(&l->word) & (OL_OVL_CLAIMED | OL_OVL_SLEEPERS)) != 0;
}

static inline bool ol_ovl_take(ol_overlock_t *l, uint32_t unless)
{
	uint32_t w = ol_load_relaxed(&l->word);

	return !(w & unless) && ol_cas_acquire(&l->word, w, w | OL_OVL_HELD); /* [A] */
}

static inline bool ol_overlock_trylock(ol_overlock_t *l)
{
	return ol_ovl_take(l, OL_OVL_HELD | OL_OVL_CLAIMED);
}

static inline uint32_t ol_ovl_releases(uint32_t w)
{
	return w >> 26;
}

/* Waking. */

/*
 * In slots of the waiting array: TURN, see impl/turns.h; and two words, first the number of wake-ups, on which
 * sleepers park, and CALLED if the last one was called, then the leaver.
 */
enum { OL_OVL_TURN, OL_OVL_WORDS };
#define OL_OVL_CALLED	0x80000000u

/* Keys of those who park. */
#define OL_OVL_CLAIMANT	1u
#define OL_OVL_IN_LINE	(~OL_OVL_CLAIMANT)

static inline uint64_t *ol_ovl_slot(const ol_overlock_t *l, unsigned which)
{
	return ol_wait_slot((size_t)l + which); /* locks are four bytes apart */
}

static inline uint32_t *ol_ovl_wakes(const ol_overlock_t *l)
{
	return (uint32_t *)ol_ovl_slot(l, OL_OVL_WORDS);
}

/* The key of sleepers that had this CPU last, or one that shares its bit: a wake-up leads them back to it. */
static inline uint32_t ol_ovl_key_here(void)
{
	return OL_OVL_CLAIMANT << (1 + ol_cpu() % 31);
}

static OL_COLD void ol_ovl_wake(const ol_overlock_t *l, uint32_t key, uint32_t called)
{
	uint32_t *wakes = ol_ovl_wakes(l);

	ol_add_relaxed(wakes, (called ^ (ol_load_relaxed(wakes) & OL_OVL_CALLED)) + 1);
	ol_count(OL_KICK);
	ol_kick(wakes, key, 1);
}

#include <overlock/lock/impl/turns.h>

/* Waiting. */

#define OL_OVL_LOOKS	8u	/* at most 256 leases between them: 64 ms */
#define OL_OVL_RARE	3u	/* so many in vain: the others may look as rarely, and have to be woken */

struct ol_ovl_waiter {
	uint32_t claim; /* OL_OVL_CLAIMED once we claim the lock */
	uint32_t slept; /* OL_OVL_SLEEPER once we are one of the sleepers */
	uint32_t then;	/* releases at `since` */
	uint32_t seen;	/* what our looks found of releases, ored: their number wraps */
	uint32_t looks; /* in vain, one after another: the lock was held all the time */
	bool woken, called;
	ol_ticks_t since, tired, turn, fair;
};

static inline void ol_ovl_start(const ol_overlock_t *l, struct ol_ovl_waiter *me)
{
	me->since = ol_now();
	me->tired = ol_later(me->since, 1, ol_tune(prompt));
	me->then = ol_ovl_releases(ol_load_relaxed(&l->word));
	me->seen = 0;
}

static inline uint32_t ol_ovl_releases_since(uint32_t w, const struct ol_ovl_waiter *me)
{
	return (ol_ovl_releases(w) - me->then) & OL_OVL_RELEASES;
}

static inline bool ol_ovl_is_free(uint32_t w, const struct ol_ovl_waiter *me)
{
	return !(w & OL_OVL_HELD) && (me->claim || !(w & OL_OVL_CLAIMED));
}

static inline bool ol_ovl_try(ol_overlock_t *l, const struct ol_ovl_waiter *me, uint32_t w)
{
	uint32_t taken = ((w | OL_OVL_HELD) & ~me->claim) - me->slept;

	if (me->called && (taken & OL_OVL_SLEEPERS))
		taken |= OL_OVL_WAKE;
	return ol_cas_acquire(&l->word, w, taken); /* [A] */
}

/* Polls, rarely while the lock changes hands quickly: each look takes the line from who uses it. */
static inline void ol_ovl_poll(uint32_t w, struct ol_ovl_waiter *me, ol_ticks_t until)
{
	uint32_t releases = ol_ovl_releases_since(w, me);
	ol_ticks_t again = ol_earlier(ol_after(1, ol_tune(pace)), until);

	me->seen |= releases;
	if (releases > 1 && !ol_passed(ol_later(me->since, releases, ol_tune(pace))))
		do {
			ol_relax_until(again);
		} while (!ol_passed(again));
	else
		ol_relax_until(until);
}

/* When a sleeper that sees `w` looks again: its holder may sleep, too, and wakes one when it releases. */
static inline ol_ticks_t ol_ovl_next_look(struct ol_ovl_waiter *me, uint32_t w)
{
	bool still = (w & OL_OVL_HELD) && !ol_ovl_releases_since(w, me);

	me->looks = still ? me->looks + (me->looks < OL_OVL_LOOKS) : 0;
	me->then = ol_ovl_releases(w);
	return ol_after(1u << me->looks, ol_tune(lease));
}

/* Another one's claim is ours, too, if it left the lock free for a lease: it has no CPU, or is no more. */
static inline void ol_ovl_claim(ol_overlock_t *l, struct ol_ovl_waiter *me)
{
	uint32_t w = ol_or_relaxed(&l->word, OL_OVL_CLAIMED);

	if (!(w & OL_OVL_CLAIMED) || (!(w & OL_OVL_HELD) && !ol_ovl_releases_since(w, me)))
		me->claim = OL_OVL_CLAIMED;
	else
		me->turn = ol_ovl_next_look(me, w);
}

static inline void ol_ovl_count_in(ol_overlock_t *l, struct ol_ovl_waiter *me)
{
	uint32_t sleepers;

	if (me->slept)
		return;
	sleepers = (ol_add_relaxed(&l->word, OL_OVL_SLEEPER) & OL_OVL_SLEEPERS) / OL_OVL_SLEEPER;
	me->slept = OL_OVL_SLEEPER;
	me->turn = ol_after(8 + 2 * sleepers, ol_tune(lease));
}

/* Sleeps once, unless the lock is free for us. */
static inline void ol_ovl_park(ol_overlock_t *l, struct ol_ovl_waiter *me, uint32_t asks,
			       ol_ticks_t until)
{
	uint32_t seen = ol_load_relaxed(ol_ovl_wakes(l)), now;
	ol_ticks_t again = me->claim ? ol_ovl_next_look(me, ol_load_relaxed(&l->word)) : me->turn;

	if (!(asks & OL_OVL_LEAVES) &&
	    ol_ovl_is_free(ol_or_relaxed(&l->word, asks & OL_OVL_WAKE), me)) /* [S] */
		return;
	ol_count(OL_PARK);
	ol_park(ol_ovl_wakes(l), seen, me->claim ? OL_OVL_CLAIMANT : ol_ovl_key_here(),
		ol_earlier(again, until));
	now = ol_load_relaxed(ol_ovl_wakes(l));
	me->woken = !me->claim && now != seen;
	me->called = me->looks >= OL_OVL_RARE || (me->woken && (now & OL_OVL_CALLED));
}

/* `asks` LEAVES not to look whether the lock is free, or WAKE to call. */
static OL_COLD void ol_ovl_sleep(ol_overlock_t *l, struct ol_ovl_waiter *me, uint32_t asks,
				 ol_ticks_t until)
{
	ol_ovl_count_in(l, me);
	while (!ol_passed(until)) {
		if (!me->claim && ol_passed(me->turn)) {
			ol_ovl_claim(l, me);
			asks = 0;
		}
		ol_ovl_park(l, me, asks, until);
		if (me->woken ||
		    (!(asks & OL_OVL_LEAVES) && ol_ovl_is_free(ol_load_relaxed(&l->word), me)))
			break;
	}
	if (me->woken && !me->called && ol_ovl_watch(l, until)) {
		me->woken = false;
		ol_ovl_claim(l, me);
	}
	ol_ovl_start(l, me);
	ol_ovl_was_preempted(me->since); /* sleeping is not that */
	me->fair = ol_later(me->since, 1, ol_tune(lease));
}

/* After `prompt` in vain. */
static inline void ol_ovl_tire(ol_overlock_t *l, struct ol_ovl_waiter *me, uint32_t w,
			       ol_ticks_t until)
{
	uint32_t releases = ol_ovl_releases_since(w, me) | me->seen;

	if (!me->woken || (w & OL_OVL_CLAIMED) || !releases) {
		ol_ovl_sleep(l, me, releases <= 1 ? OL_OVL_WAKE : 0, until);
		return;
	}
	if (ol_passed(me->fair)) {
		me->woken = false;
		ol_ovl_claim(l, me);
	}
	ol_ovl_start(l, me);
}

static OL_COLD bool ol_overlock_lock_slow(ol_overlock_t *l, ol_ticks_t until)
{
	struct ol_ovl_waiter me;
	uint32_t w = ol_load_relaxed(&l->word);

	me.claim = me.slept = 0;
	me.then = ol_ovl_releases(w);
	me.looks = 0;
	me.woken = me.called = false;
	if ((w & OL_OVL_LEAVES) && ol_ovl_leaves(l, w))
		ol_ovl_sleep(l, &me, OL_OVL_LEAVES, until);
	else if (ol_ovl_take(l, OL_OVL_HELD | OL_OVL_CLAIMED))
		return true;
	ol_count(OL_SLOW_PATH);
	ol_ovl_start(l, &me);
	for (;;) {
		w = ol_load_relaxed(&l->word);
		if (ol_ovl_is_free(w, &me)) {
			if (ol_ovl_try(l, &me, w))
				return true;
			continue;
		}
		if (ol_passed(until))
			break;
		if (ol_passed(me.tired))
			ol_ovl_tire(l, &me, w, until);
		else
			ol_ovl_poll(w, &me, ol_earlier(me.tired, until));
	}
	if (me.claim)
		ol_and_relaxed(&l->word, ~OL_OVL_CLAIMED);
	if (me.slept)
		ol_add_relaxed(&l->word, 0u - OL_OVL_SLEEPER);
	return false;
}

static inline bool ol_overlock_timedlock(ol_overlock_t *l, ol_ticks_t until)
{
	return ol_ovl_take(l, OL_OVL_HELD | OL_OVL_CLAIMED | OL_OVL_LEAVES) ||
	       ol_overlock_lock_slow(l, until);
}

static inline void ol_overlock_lock(ol_overlock_t *l)
{
	if (OL_UNLIKELY(!ol_ovl_take(l, OL_OVL_HELD | OL_OVL_CLAIMED | OL_OVL_LEAVES)))
		ol_overlock_lock_slow(l, OL_NEVER);
}

/* Releasing. */

/* Whom to wake is told by the word as it was: a waiter may have claimed or called since it was read. */
static inline void ol_ovl_released(const ol_overlock_t *l, uint32_t w)
{
	if (w & OL_OVL_CLAIMED)
		ol_ovl_wake(l, OL_OVL_CLAIMANT, 0);
	else if (w & OL_OVL_WAKE)
		ol_ovl_wake(l, OL_OVL_IN_LINE, OL_OVL_CALLED);
}

static OL_COLD void ol_overlock_unlock_slow(ol_overlock_t *l, uint32_t w)
{
	struct ol_ovl_turn turn = { 0, 0 };

	ol_compete(ol_ovl_wakes(l));
	if (!(w & (OL_OVL_CLAIMED | OL_OVL_WAKE)))
		turn = ol_ovl_whose_turn(l, w);
	w = ol_add_release(&l->word, OL_OVL_RELEASE - OL_OVL_HELD - (w & OL_OVL_WAKE) +
					     (turn.leaves & ~w)); /* [R] */
	if (turn.wakes)
		ol_ovl_wake(l, turn.wakes, 0);
	else
		ol_ovl_released(l, w);
}

static inline void ol_overlock_unlock(ol_overlock_t *l)
{
	uint32_t w = ol_load_relaxed(&l->word);

	if (OL_UNLIKELY(w & (OL_OVL_SLEEPERS | OL_OVL_CLAIMED | OL_OVL_WAKE))) {
		ol_overlock_unlock_slow(l, w);
		return;
	}
	w = ol_add_release(&l->word, OL_OVL_RELEASE - OL_OVL_HELD); /* [R] */
	if (OL_UNLIKELY(w & (OL_OVL_CLAIMED | OL_OVL_WAKE)))
		ol_ovl_released(l, w);
}
#endif
