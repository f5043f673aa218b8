/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_LOCK_OVERLOCK_H
#define OL_LOCK_OVERLOCK_H
/*
 * Test-and-set lock whose waiters sleep in turns. Our own.
 *
 * Who runs may take the lock whenever it is free, so a hand-over never waits for a context without a
 * CPU. A waiter polls for `spin`, leaving the lock alone while it changes hands quickly (`pace`), and
 * then sleeps, until a release wakes it or its turn comes: one sleeper every `lease`. Then it claims the
 * lock. Nobody else takes a claimed lock; who comes meanwhile sleeps, so that as many contexts compete
 * afterwards as before, and one that gave up its CPU between sections is not preempted inside one.
 *
 * A release wakes a sleeper only if that is of use: not while a wake-up less than `lease` ago found that
 * the lock had been taken and released by others meanwhile.
 *
 *   31       26 25                            3  2  1  0
 *  +-----------+-------------------------------+--+--+--+
 *  | releases  |            sleepers           |W |C |H |
 *  +-----------+-------------------------------+--+--+--+
 *
 *  H: held; C: claimed, and only the claimant may take it; W: the claimant sleeps
 *
 *  Pairing: [A] acquires from [R], the previous holder's release.
 */
#include <overlock/port.h>

typedef struct OL_CAPABILITY ol_overlock {
	uint32_t word;
} ol_overlock_t;

#define OL_OVERLOCK_INIT	{ 0 }
#define OL_OVL_HELD		1u
#define OL_OVL_CLAIMED		2u
#define OL_OVL_CALLED		4u
#define OL_OVL_RELIEF		8u
#define OL_OVL_SLEEPER		16u
#define OL_OVL_SLEEPERS		0x03fffff0u
#define OL_OVL_RELEASE		0x04000000u

static inline bool ol_overlock_is_locked(const ol_overlock_t *l)
{
	return (ol_load_relaxed(&l->word) & (OL_OVL_HELD | OL_OVL_CLAIMED)) != 0;
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

/*
 * Shared by all locks: what is known of a lock. A slot may serve several, which costs time only.
 *
 *  PROBE: when a release may next see whether a wake-up is of use, and how often in a row it was not
 *  KICKED: when one was woken to see that; 0: it was woken to take another's place
 *  LEASE: when the next one shall leave its place to a sleeper
 *  KICKS, LEAVER: two words: number of wake-ups, and who is to leave
 */
enum { OL_OVL_PROBE, OL_OVL_KICKED, OL_OVL_LEASE, OL_OVL_KICKS };
#define OL_OVL_TRIES	15u

static inline uint64_t *ol_ovl_slot(const ol_overlock_t *l, unsigned which)
{
	return ol_wait_slot((size_t)l + which); /* locks are four bytes apart */
}

static inline uint32_t *ol_ovl_kicks(const ol_overlock_t *l)
{
	return (uint32_t *)ol_ovl_slot(l, OL_OVL_KICKS);
}

static inline uint32_t *ol_ovl_leaver(const ol_overlock_t *l)
{
	return (uint32_t *)ol_ovl_slot(l, OL_OVL_KICKS) + 1;
}

struct ol_ovl_waiter {
	uint32_t mine;	  /* OL_OVL_CLAIMED once we claim the lock */
	uint32_t counted; /* OL_OVL_SLEEPER while we are one of the sleepers */
	uint16_t then;
	bool woken; /* by another, in our turn */
	ol_ticks_t since, tired, turn;
};

static inline uint32_t ol_ovl_releases(uint32_t w)
{
	return w >> 26;
}

static inline bool ol_ovl_is_quick(uint32_t w, const struct ol_ovl_waiter *me)
{
	uint32_t releases = (ol_ovl_releases(w) - me->then) & 63;

	return releases > 1 && !ol_passed(ol_later(me->since, releases, ol_tune(pace)));
}

static inline void ol_ovl_pause(ol_ticks_t span, ol_ticks_t until)
{
	ol_ticks_t again = ol_earlier(ol_after(1, span), until);

	do {
		ol_relax_until(again);
	} while (!ol_passed(again));
}

static OL_COLD void ol_ovl_kick(ol_overlock_t *l, uint64_t when)
{
	ol_store_relaxed(ol_ovl_slot(l, OL_OVL_KICKED), when);
	ol_add_relaxed(ol_ovl_kicks(l), 1);
	ol_count(OL_KICK);
	ol_kick(ol_ovl_kicks(l), OL_ANY, 1);
}

static __thread uint64_t ol_ovl_slice;
static __thread ol_ticks_t ol_ovl_since; /* when this context was last woken */
static __thread enum { OL_OVL_STAYS, OL_OVL_HANDS, OL_OVL_QUITS } ol_ovl_leaves; /* to a sleeper; to nobody */

/* Whether this context lost its CPU since it last asked. */
static inline bool ol_ovl_was_preempted(void)
{
	uint64_t id = ol_slice_id(), then = ol_ovl_slice;

	ol_ovl_slice = id;
	return then && id != then;
}

/* Our turn, if nobody else's is now. */
static inline void ol_ovl_claim(ol_overlock_t *l, struct ol_ovl_waiter *me)
{
	if (ol_or_relaxed(&l->word, OL_OVL_CLAIMED) & OL_OVL_CLAIMED)
		me->turn = ol_after(1, ol_tune(lease));
	else
		me->mine = OL_OVL_CLAIMED;
}

/* We were woken. If that took long, no CPU was idle. */
static inline bool ol_ovl_is_useful(ol_overlock_t *l)
{
	ol_ticks_t kicked = ol_load_relaxed(ol_ovl_slot(l, OL_OVL_KICKED));
	uint64_t *probe = ol_ovl_slot(l, OL_OVL_PROBE);
	uint64_t tries = ol_load_relaxed(probe) & OL_OVL_TRIES;

	if (!kicked)
		return true;
	if (((ol_ovl_releases(ol_load_relaxed(&l->word)) - kicked) & 63) <= 2) {
		ol_store_relaxed(probe, (uint64_t)0);
		return true;
	}
	tries += tries < 3;
	ol_store_relaxed(probe, (ol_after(1u << tries, ol_tune(lease)) & ~(uint64_t)OL_OVL_TRIES) | tries);
	return false;
}

static inline void ol_ovl_count_in(ol_overlock_t *l, struct ol_ovl_waiter *me)
{
	uint32_t w;

	if (me->counted)
		return;
	w = ol_add_relaxed(&l->word, OL_OVL_SLEEPER);
	me->counted = OL_OVL_SLEEPER;
	me->turn = ol_after(4 + 2 * ((w & OL_OVL_SLEEPERS) / OL_OVL_SLEEPER), ol_tune(lease));
}

static inline void ol_ovl_call(ol_overlock_t *l, ol_ticks_t until)
{
	uint32_t w = ol_load_relaxed(&l->word);

	if ((w & OL_OVL_HELD) && ol_cas_relaxed(&l->word, w, w | OL_OVL_CALLED))
		ol_park(&l->word, w | OL_OVL_CALLED, OL_ANY, until);
}

static OL_COLD void ol_ovl_sleep(ol_overlock_t *l, struct ol_ovl_waiter *me, bool leaves, ol_ticks_t until)
{
	ol_ovl_count_in(l, me);
	if (me->mine)
		ol_ovl_call(l, until);
	while (!me->mine && !ol_passed(until)) {
		uint32_t seen = ol_load_relaxed(ol_ovl_kicks(l));

		if (ol_passed(me->turn)) {
			ol_ovl_claim(l, me);
			continue;
		}
		if (!leaves && !(ol_load_relaxed(&l->word) & (OL_OVL_HELD | OL_OVL_CLAIMED)))
			break;
		ol_count(OL_PARK);
		ol_park(ol_ovl_kicks(l), seen, OL_ANY, ol_earlier(me->turn, until));
		if (seen != ol_load_relaxed(ol_ovl_kicks(l))) {
			ol_ovl_is_useful(l);
			me->woken = true;
			break;
		}
	}
	ol_ovl_was_preempted();
	ol_ovl_since = me->since = ol_now();
	me->then = ol_ovl_releases(ol_load_relaxed(&l->word));
	me->tired = ol_later(me->since, 1, ol_tune(spin));
}

/* To a sleeper; or, if there are more of us than CPUs, to nobody. */
static OL_COLD void ol_ovl_leave(ol_overlock_t *l, struct ol_ovl_waiter *me, ol_ticks_t until)
{
	ol_and_relaxed(&l->word, ~OL_OVL_RELIEF);
	if (ol_ovl_leaves == OL_OVL_HANDS)
		ol_ovl_kick(l, 0);
	ol_ovl_leaves = OL_OVL_STAYS;
	ol_ovl_sleep(l, me, true, until);
}

static OL_COLD bool ol_overlock_lock_slow(ol_overlock_t *l, ol_ticks_t until)
{
	struct ol_ovl_waiter me = { .since = ol_now() };
	uint32_t w = ol_load_relaxed(&l->word);

	me.then = ol_ovl_releases(w);
	me.tired = ol_later(me.since, 1, ol_tune(spin));
	ol_count(OL_SLOW_PATH);
	if ((w & OL_OVL_RELIEF) && ol_ovl_leaves)
		ol_ovl_leave(l, &me, until);
	for (;;) {
		w = ol_load_relaxed(&l->word);
		if (!(w & OL_OVL_HELD) && (me.mine || !(w & OL_OVL_CLAIMED))) {
			uint32_t taken = (w | OL_OVL_HELD) - me.counted;

			if (me.mine)
				taken &= ~(OL_OVL_CLAIMED | OL_OVL_CALLED);
			if (ol_cas_acquire(&l->word, w, taken)) /* [A] */
				return true;
			continue;
		}
		if (ol_passed(until))
			break;
		if (ol_passed(me.tired) && me.woken && !(w & OL_OVL_CLAIMED)) {
			me.woken = false;
			ol_ovl_claim(l, &me);
			me.tired = ol_after(1, ol_tune(spin));
		} else if (ol_passed(me.tired))
			ol_ovl_sleep(l, &me, false, until);
		else if (ol_ovl_is_quick(w, &me))
			ol_ovl_pause(ol_tune(pace), ol_earlier(me.tired, until));
		else
			ol_relax_until(ol_earlier(me.tired, until));
	}
	if (me.counted)
		ol_add_relaxed(&l->word, (uint32_t)-OL_OVL_SLEEPER);
	if (me.mine)
		ol_and_relaxed(&l->word, ~(OL_OVL_CLAIMED | OL_OVL_CALLED));
	return false;
}

static inline bool ol_overlock_timedlock(ol_overlock_t *l, ol_ticks_t until)
{
	return ol_ovl_take(l, OL_OVL_HELD | OL_OVL_CLAIMED | OL_OVL_RELIEF) || ol_overlock_lock_slow(l, until);
}

static inline void ol_overlock_lock(ol_overlock_t *l)
{
	if (OL_UNLIKELY(!ol_ovl_take(l, OL_OVL_HELD | OL_OVL_CLAIMED | OL_OVL_RELIEF)))
		ol_overlock_lock_slow(l, OL_NEVER);
}

static OL_COLD void ol_ovl_wake(ol_overlock_t *l, uint32_t w)
{
	uint64_t *probe = ol_ovl_slot(l, OL_OVL_PROBE), known = ol_load_relaxed(probe);
	ol_ticks_t now = ol_now();

	if (w & OL_OVL_CALLED) {
		ol_count(OL_KICK);
		ol_kick(&l->word, OL_ANY, 1);
		return;
	}
	if (w & OL_OVL_CLAIMED)
		return;
	if (!known || !ol_before(now, known)) {
		uint64_t tries = known & OL_OVL_TRIES;

		ol_store_relaxed(probe, (ol_later(now, 1u << tries, ol_tune(lease)) & ~(uint64_t)OL_OVL_TRIES) | tries);
		ol_ovl_kick(l, ((ol_ovl_releases(w) + 1) & 63) | 64);
	} else if (ol_ovl_was_preempted()) {
		ol_ovl_leaves = OL_OVL_QUITS;
		ol_or_relaxed(&l->word, OL_OVL_RELIEF);
	} else if (!ol_before(now, ol_later(ol_ovl_since, 1, ol_tune(lease)))) {
		ol_ovl_since = now;
		ol_ovl_leaves = OL_OVL_HANDS;
		ol_or_relaxed(&l->word, OL_OVL_RELIEF);
	}
}

static inline void ol_overlock_unlock(ol_overlock_t *l)
{
	uint32_t w = ol_add_release(&l->word, OL_OVL_RELEASE - OL_OVL_HELD); /* [R] */

	if (OL_UNLIKELY(w & (OL_OVL_SLEEPERS | OL_OVL_CALLED)))
		ol_ovl_wake(l, w);
}
#endif
