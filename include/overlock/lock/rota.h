/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_LOCK_ROTA_H
#define OL_LOCK_ROTA_H
/*
 * Test-and-set lock whose waiters sleep in turns. Our own.
 *
 * A running context may take the lock whenever it is free, so a hand-over never waits for a context without
 * a CPU. A waiter polls for `prompt`, then sleeps. While contexts sleep, those that compete take turns with them:
 * impl/turns.h says who leaves, who is woken, and how many compete.
 *
 * A competitor that goes to sleep for something else, as on a condition variable, gives its place to a sleeper.
 *
 * A waiter that was woken and did not get the lock for a `lease`, or that slept past its turn, claims the
 * lock: then no other context may take it. A holder may keep the lock so long that a waiter sees no release.
 * That waiter sets W, and the next release wakes a sleeper.
 *
 * Sleepers also look again by the clock: a wake-up that is lost, or goes to another lock's sleeper, costs time
 * only. While the lock is not released they look less and less often; a sleeper that then gets the lock wakes
 * the next one when it releases it. All state but the word is a hint in slots that locks share.
 *
 *   31                19 18 17 16 15                 1  0
 *  +--------------------+--+--+--+--------------------+--+
 *  |      sleepers      |W |L |C |      releases      |H |
 *  +--------------------+--+--+--+--------------------+--+
 *
 *  H: held; C: claimed, only the claimant may take it; L: one is to leave; W: a release is to wake one
 *
 *  L is set, and W cleared, by the holder before its release, which is its last access. The release is a store to the
 *  lower half, which nobody else writes while the lock is held. An atomic operation would wait until all that the
 *  section wrote has left the store buffer; with many locks that is a cache miss each time. The price: a waiter that sets
 *  C or W after the holder looked is not woken by that release. So who has just claimed the lock polls before it sleeps.
 *
 *  Pairing: [A] acquires from [R], the previous holder's release. All else is relaxed: a hint read too early or too
 *  late costs time, as a lost wake-up does.
 */
#include <overlock/port.h>

typedef struct OL_CAPABILITY ol_rota {
	uint32_t word;
} ol_rota_t;

#define OL_ROTA_INIT		{ 0 }
#define OL_ROTA_HELD		1u
#define OL_ROTA_RELEASE		2u
#define OL_ROTA_RELEASES	0x7fffu
#define OL_ROTA_COUNTED		(OL_ROTA_RELEASES * OL_ROTA_RELEASE)
#define OL_ROTA_CLAIMED		0x10000u
#define OL_ROTA_LEAVES		0x20000u
#define OL_ROTA_WAKE		0x40000u
#define OL_ROTA_SLEEPER		0x80000u
#define OL_ROTA_SLEEPERS	0xfff80000u /* if there are more, they are not seen, and claim the lock in time */

static inline bool ol_rota_is_locked(const ol_rota_t *l)
{
	return (ol_load_relaxed(&l->word) & OL_ROTA_HELD) != 0;
}

static inline bool ol_rota_is_contended(const ol_rota_t *l)
{
	return (ol_load_relaxed(&l->word) & (OL_ROTA_CLAIMED | OL_ROTA_SLEEPERS)) != 0;
}

static inline bool ol_rota_take(ol_rota_t *l, uint32_t unless)
{
	uint32_t w = ol_load_relaxed(&l->word);

	return !(w & unless) && ol_cas_acquire(&l->word, w, w | OL_ROTA_HELD); /* [A] */
}

static inline bool ol_rota_trylock(ol_rota_t *l)
{
	return ol_rota_take(l, OL_ROTA_HELD | OL_ROTA_CLAIMED);
}

static inline uint32_t ol_rota_releases(uint32_t w)
{
	return w / OL_ROTA_RELEASE & OL_ROTA_RELEASES;
}

/* Waking. */

/*
 * In slots of the waiting array: TURN, see impl/turns.h; and two words, first the number of wake-ups, on which
 * sleepers park, and CALLED if the last one was called, then the leaver.
 */
enum { OL_ROTA_TURN, OL_ROTA_WORDS };
#define OL_ROTA_CALLED		0x80000000u

/* Keys of those who park. */
#define OL_ROTA_CLAIMANT	1u
#define OL_ROTA_IN_LINE		(~OL_ROTA_CLAIMANT)

static inline uint64_t *ol_rota_slot(const ol_rota_t *l, unsigned which)
{
	return ol_wait_slot((size_t)l + which); /* locks are four bytes apart */
}

static inline uint32_t *ol_rota_wakes(const ol_rota_t *l)
{
	return (uint32_t *)ol_rota_slot(l, OL_ROTA_WORDS);
}

/* The key of sleepers that had this CPU last, or one that shares its bit: a wake-up leads them back to it. */
static inline uint32_t ol_rota_key_here(void)
{
	return OL_ROTA_CLAIMANT << (1 + ol_cpu() % 31);
}

static OL_COLD void ol_rota_wake(const ol_rota_t *l, uint32_t key, uint32_t called)
{
	uint32_t *wakes = ol_rota_wakes(l);

	ol_add_relaxed(wakes, (called ^ (ol_load_relaxed(wakes) & OL_ROTA_CALLED)) + 1);
	ol_count(OL_KICK);
	ol_kick(wakes, key, 1);
}

#include <overlock/lock/impl/turns.h>

/* Waiting. */

#define OL_ROTA_LOOKS	8u	/* at most 256 leases between them: 64 ms */
#define OL_ROTA_RARE	3u	/* so many in vain: the others may look as rarely, and have to be woken */

struct ol_rota_waiter {
	uint32_t claim; /* OL_ROTA_CLAIMED once we claim the lock */
	uint32_t slept; /* OL_ROTA_SLEEPER once we are one of the sleepers */
	uint32_t then;	/* releases at `since` */
	uint32_t seen;	/* releases since then, at the last look */
	uint32_t lost;	/* looks that found the lock released and taken again */
	uint32_t looks; /* in vain, one after another: the lock was held all the time */
	bool woken, called;
	ol_ticks_t since, tired, turn, fair;
};

static inline void ol_rota_start(const ol_rota_t *l, struct ol_rota_waiter *me)
{
	me->since = ol_now();
	me->tired = ol_later(me->since, 1, ol_tune(prompt));
	me->then = ol_rota_releases(ol_load_relaxed(&l->word));
	me->seen = me->lost = 0;
}

static inline uint32_t ol_rota_releases_since(uint32_t w, const struct ol_rota_waiter *me)
{
	return (ol_rota_releases(w) - me->then) & OL_ROTA_RELEASES;
}

static inline bool ol_rota_is_free(uint32_t w, const struct ol_rota_waiter *me)
{
	return !(w & OL_ROTA_HELD) && (me->claim || !(w & OL_ROTA_CLAIMED));
}

static inline bool ol_rota_try(ol_rota_t *l, const struct ol_rota_waiter *me, uint32_t w)
{
	uint32_t taken = ((w | OL_ROTA_HELD) & ~me->claim) - me->slept;

	if (me->called && (taken & OL_ROTA_SLEEPERS))
		taken |= OL_ROTA_WAKE;
	return ol_cas_acquire(&l->word, w, taken); /* [A] */
}

#define OL_ROTA_LOST	5u /* pauses of at most twice `pace` */

static inline void ol_rota_pause(ol_ticks_t until)
{
	do {
		ol_relax_until(until);
	} while (!ol_passed(until));
}

/* Each look takes the line from who uses it: the more looks found that others were first, the rarer they are. */
static inline void ol_rota_poll(uint32_t w, struct ol_rota_waiter *me, ol_ticks_t until)
{
	uint32_t releases = ol_rota_releases_since(w, me);

	if (releases != me->seen) {
		me->seen = releases;
		me->lost += me->lost < OL_ROTA_LOST;
		if (me->lost > 1) {
			ol_rota_pause(
				ol_earlier(ol_after(1u << me->lost, ol_tune(pace) / 16), until));
			return;
		}
	}
	ol_relax_until(until);
}

/* When a sleeper that sees `w` looks again: its holder may sleep, too, and wakes one when it releases. */
static inline ol_ticks_t ol_rota_next_look(struct ol_rota_waiter *me, uint32_t w)
{
	bool still = (w & OL_ROTA_HELD) && !ol_rota_releases_since(w, me);

	me->looks = still ? me->looks + (me->looks < OL_ROTA_LOOKS) : 0;
	me->then = ol_rota_releases(w);
	return ol_after(1u << me->looks, ol_tune(lease));
}

/* Another one's claim is ours, too, if it left the lock free for a lease: it has no CPU, or is no more. */
static inline void ol_rota_claim(ol_rota_t *l, struct ol_rota_waiter *me)
{
	uint32_t w = ol_or_relaxed(&l->word, OL_ROTA_CLAIMED);

	if (!(w & OL_ROTA_CLAIMED) || (!(w & OL_ROTA_HELD) && !ol_rota_releases_since(w, me)))
		me->claim = OL_ROTA_CLAIMED;
	else
		me->turn = ol_rota_next_look(me, w);
}

static inline void ol_rota_count_in(ol_rota_t *l, struct ol_rota_waiter *me)
{
	uint32_t sleepers;

	if (me->slept)
		return;
	sleepers = (ol_add_relaxed(&l->word, OL_ROTA_SLEEPER) & OL_ROTA_SLEEPERS) / OL_ROTA_SLEEPER;
	me->slept = OL_ROTA_SLEEPER;
	me->turn = ol_after(8 + 2 * sleepers, ol_tune(lease));
}

/* Sleeps once, unless the lock is free for us. */
static inline void ol_rota_park(ol_rota_t *l, struct ol_rota_waiter *me, uint32_t asks,
				ol_ticks_t until)
{
	uint32_t seen = ol_load_relaxed(ol_rota_wakes(l)), now;
	ol_ticks_t again = me->claim ? ol_rota_next_look(me, ol_load_relaxed(&l->word)) : me->turn;

	if (!(asks & OL_ROTA_LEAVES) &&
	    ol_rota_is_free(ol_or_relaxed(&l->word, asks & OL_ROTA_WAKE), me))
		return;
	ol_count(OL_PARK);
	ol_park(ol_rota_wakes(l), seen, me->claim ? OL_ROTA_CLAIMANT : ol_rota_key_here(),
		ol_earlier(again, until));
	now = ol_load_relaxed(ol_rota_wakes(l));
	me->woken = !me->claim && now != seen;
	me->called = me->looks >= OL_ROTA_RARE || (me->woken && (now & OL_ROTA_CALLED));
}

/* `asks` LEAVES not to look whether the lock is free, or WAKE to call. */
static OL_COLD void ol_rota_sleep(ol_rota_t *l, struct ol_rota_waiter *me, uint32_t asks,
				  ol_ticks_t until)
{
	ol_rota_count_in(l, me);
	while (!ol_passed(until)) {
		if (!me->claim && ol_passed(me->turn)) {
			ol_rota_claim(l, me);
			asks = 0;
			if (me->claim) /* a release that has begun does not wake us */
				break;
		}
		ol_rota_park(l, me, asks, until);
		if (me->woken ||
		    (!(asks & OL_ROTA_LEAVES) && ol_rota_is_free(ol_load_relaxed(&l->word), me)))
			break;
	}
	if (me->woken && !me->called && ol_rota_watch(l, until)) {
		me->woken = false;
		ol_rota_claim(l, me);
	}
	ol_rota_start(l, me);
	ol_rota_was_preempted(me->since); /* sleeping is not that */
	me->fair = ol_later(me->since, 1, ol_tune(lease));
}

/* After `prompt` in vain. */
static inline void ol_rota_tire(ol_rota_t *l, struct ol_rota_waiter *me, uint32_t w,
				ol_ticks_t until)
{
	uint32_t releases = ol_rota_releases_since(w, me);

	if (!me->woken || (w & OL_ROTA_CLAIMED) || !releases) {
		ol_rota_sleep(l, me, releases <= 1 ? OL_ROTA_WAKE : 0, until);
		return;
	}
	if (ol_passed(me->fair)) {
		me->woken = false;
		ol_rota_claim(l, me);
	}
	ol_rota_start(l, me);
}

static OL_COLD bool ol_rota_lock_slow(ol_rota_t *l, ol_ticks_t until)
{
	struct ol_rota_waiter me;
	uint32_t w = ol_load_relaxed(&l->word);

	me.claim = me.slept = 0;
	me.then = ol_rota_releases(w);
	me.looks = 0;
	me.woken = me.called = false;
	if ((w & OL_ROTA_LEAVES) && ol_rota_leaves(l, w))
		ol_rota_sleep(l, &me, OL_ROTA_LEAVES, until);
	else if (ol_rota_take(l, OL_ROTA_HELD | OL_ROTA_CLAIMED))
		return true;
	ol_count(OL_SLOW_PATH);
	ol_rota_start(l, &me);
	for (;;) {
		w = ol_load_relaxed(&l->word);
		if (ol_rota_is_free(w, &me)) {
			if (ol_rota_try(l, &me, w))
				return true;
			continue;
		}
		if (ol_passed(until))
			break;
		if (ol_passed(me.tired))
			ol_rota_tire(l, &me, w, until);
		else
			ol_rota_poll(w, &me, ol_earlier(me.tired, until));
	}
	if (me.claim)
		ol_and_relaxed(&l->word, ~OL_ROTA_CLAIMED);
	if (me.slept)
		ol_add_relaxed(&l->word, 0u - OL_ROTA_SLEEPER);
	return false;
}

static inline bool ol_rota_timedlock(ol_rota_t *l, ol_ticks_t until)
{
	return ol_rota_take(l, OL_ROTA_HELD | OL_ROTA_CLAIMED | OL_ROTA_LEAVES) ||
	       ol_rota_lock_slow(l, until);
}

static inline void ol_rota_lock(ol_rota_t *l)
{
	if (OL_UNLIKELY(!ol_rota_take(l, OL_ROTA_HELD | OL_ROTA_CLAIMED | OL_ROTA_LEAVES)))
		ol_rota_lock_slow(l, OL_NEVER);
}

/* Releasing. */

/* Whom a waiter has asked us to wake, or whose turn it is. */
static inline struct ol_rota_turn ol_rota_asked(const ol_rota_t *l, uint32_t w)
{
	struct ol_rota_turn turn = { 0, w & OL_ROTA_CLAIMED ? OL_ROTA_CLAIMANT : OL_ROTA_IN_LINE,
				     0 };

	if (w & (OL_ROTA_CLAIMED | OL_ROTA_WAKE))
		turn.called = w & OL_ROTA_CLAIMED ? 0 : OL_ROTA_CALLED;
	else
		turn = ol_rota_whose_turn(l, w);
	return turn;
}

static inline void ol_rota_release(ol_rota_t *l, uint32_t w)
{
	ol_store_lo_release(&l->word, (uint16_t)(w + OL_ROTA_HELD)); /* [R] */
}

static OL_COLD void ol_rota_unlock_slow(ol_rota_t *l, uint32_t w)
{
	struct ol_rota_turn turn = ol_rota_asked(l, w);

	ol_compete(ol_rota_wakes(l));
	if (w & OL_ROTA_WAKE)
		ol_and_relaxed(&l->word, ~OL_ROTA_WAKE);
	else if (turn.leaves & ~w)
		ol_or_relaxed(&l->word, OL_ROTA_LEAVES);
	ol_rota_release(l, w);
	if (turn.wakes)
		ol_rota_wake(l, turn.wakes, turn.called);
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
