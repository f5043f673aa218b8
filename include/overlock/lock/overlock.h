/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_LOCK_OVERLOCK_H
#define OL_LOCK_OVERLOCK_H
/*
 * Test-and-set lock whose waiters sleep in turns. Our own.
 *
 * Who runs may take the lock whenever it is free, so a hand-over never waits for a context without a
 * CPU. A waiter polls for `spin`, leaving the lock alone while it changes hands quickly (`pace`), and
 * then sleeps. While contexts sleep, one that releases gives up its place every `lease`: it wakes the one
 * that has slept longest, and sleeps itself before it would next take the lock. So as many contexts
 * compete as before, all get their turn, and one that gave up its CPU between sections is not preempted
 * inside one.
 *
 * How many shall compete is found by trial. A release wakes one more; if that one finds that the lock was
 * taken often until it ran, the trial was useless, and the next comes later. If it ran only after
 * `prompt`, no CPU was idle, and the next one to give up its place gives it to nobody.
 *
 * A sleeper that was woken and then waits for `spin`, or that was not woken for two rounds, claims the
 * lock. Nobody else takes a claimed lock.
 *
 *   31       26 25                            3  2  1  0
 *  +-----------+-------------------------------+--+--+--+
 *  | releases  |            sleepers           |R |C |H |
 *  +-----------+-------------------------------+--+--+--+
 *
 *  H: held; C: claimed, and only the claimant may take it; R: one is to give up its place
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
#define OL_OVL_RELIEF		4u
#define OL_OVL_CALLED		8u
#define OL_OVL_SLEEPER		16u
#define OL_OVL_SLEEPERS		0x03fffff0u
#define OL_OVL_RELEASE		0x04000000u
#define OL_OVL_RELEASES		63u

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
 * What is known of a lock, in slots that all locks share: one that serves several costs time only.
 *
 *  TRIAL: when a release may wake one more, and in the last bits how often in a row that was useless
 *  KICKED: when one was last woken; in the last bits 0, or for a trial the number of releases then
 *  TURN: when the next one is to give up its place
 *  WORDS: two words, the number of wake-ups, on which sleepers park, and the one to give up its place
 */
enum { OL_OVL_TRIAL, OL_OVL_KICKED, OL_OVL_TURN, OL_OVL_WORDS };
#define OL_OVL_LAST	127u
#define OL_OVL_IN_TRIAL	64u
#define OL_OVL_MOST	7u /* doublings of the time between trials */
#define OL_OVL_EXCESS	1u /* of the one to give up its place: to nobody */
#define OL_OVL_THEN	2u /* releases when it was chosen */
#define OL_OVL_ONE	128u

/* Keys of those who park. */
#define OL_OVL_IN_LINE	1u
#define OL_OVL_CLAIMANT	2u

static inline uint64_t *ol_ovl_slot(const ol_overlock_t *l, unsigned which)
{
	return ol_wait_slot((size_t)l + which); /* locks are four bytes apart */
}

static inline uint32_t *ol_ovl_kicks(const ol_overlock_t *l)
{
	return (uint32_t *)ol_ovl_slot(l, OL_OVL_WORDS);
}

static inline uint32_t *ol_ovl_leaver(const ol_overlock_t *l)
{
	return ol_ovl_kicks(l) + 1;
}

/* Sleepers look again by the clock. Else each that was woken and takes the lock has the next one woken. */
static inline bool ol_ovl_rotates(void)
{
	return ol_tune(lease) != OL_NEVER;
}

static inline uint32_t ol_ovl_releases(uint32_t w)
{
	return w >> 26;
}

/* Whether this context lost its CPU for a while since it last asked; false where nobody knows. */
static inline bool ol_ovl_was_preempted(ol_ticks_t now)
{
	uint64_t *slot = ol_wait_slot((size_t)ol_self() * 0x9e3779b1u);
	uint64_t id = ol_slice_id(), then = ol_load_relaxed(slot);

	ol_store_relaxed(slot, (now & ~(uint64_t)OL_OVL_LAST) | (id & OL_OVL_LAST));
	return ((id ^ then) & OL_OVL_LAST) && ol_before(ol_later(then, 1, ol_tune(prompt)), now);
}

struct ol_ovl_waiter {
	uint32_t mine;	  /* OL_OVL_CLAIMED once we claim the lock */
	uint32_t counted; /* OL_OVL_SLEEPER while we are one of the sleepers */
	uint32_t then;	  /* releases at `since` */
	bool woken;	  /* by another, in our turn */
	ol_ticks_t since, tired, turn, fair;
};

static inline void ol_ovl_start(const ol_overlock_t *l, struct ol_ovl_waiter *me)
{
	me->since = ol_now();
	me->tired = ol_later(me->since, 1, ol_tune(prompt));
	me->then = ol_ovl_releases(ol_load_relaxed(&l->word));
}

static inline bool ol_ovl_is_quick(uint32_t w, const struct ol_ovl_waiter *me)
{
	uint32_t releases = (ol_ovl_releases(w) - me->then) & OL_OVL_RELEASES;

	return releases > 1 && !ol_passed(ol_later(me->since, releases, ol_tune(pace)));
}

static inline void ol_ovl_pause(ol_ticks_t span, ol_ticks_t until)
{
	ol_ticks_t again = ol_earlier(ol_after(1, span), until);

	do {
		ol_relax_until(again);
	} while (!ol_passed(again));
}

static OL_COLD void ol_ovl_kick(ol_overlock_t *l, uint32_t trial)
{
	ol_store_relaxed(ol_ovl_slot(l, OL_OVL_KICKED), (ol_now() & ~(uint64_t)OL_OVL_LAST) | trial);
	ol_add_relaxed(ol_ovl_kicks(l), 1);
	ol_count(OL_KICK);
	ol_kick(ol_ovl_kicks(l), OL_OVL_IN_LINE, 1);
}

/* Our turn, if nobody else's is now. */
static inline void ol_ovl_claim(ol_overlock_t *l, struct ol_ovl_waiter *me)
{
	if (ol_or_relaxed(&l->word, OL_OVL_CLAIMED) & OL_OVL_CLAIMED)
		me->turn = ol_after(1, ol_tune(lease));
	else
		me->mine = OL_OVL_CLAIMED;
}

static inline void ol_ovl_trial_in(ol_overlock_t *l, uint32_t useless)
{
	ol_store_relaxed(ol_ovl_slot(l, OL_OVL_TRIAL),
			 (ol_after(1u + useless, ol_tune(trial)) & ~(uint64_t)OL_OVL_MOST) | useless);
}

/* We were woken. If that took long, no CPU was idle. */
static inline void ol_ovl_judge(ol_overlock_t *l)
{
	uint64_t kicked = ol_load_relaxed(ol_ovl_slot(l, OL_OVL_KICKED));
	bool late = ol_passed(ol_later(kicked & ~(uint64_t)OL_OVL_LAST, 1, ol_tune(prompt)));
	uint64_t *trial = ol_ovl_slot(l, OL_OVL_TRIAL);
	uint32_t useless = ol_load_relaxed(trial) & OL_OVL_MOST;

	if (late)
		ol_or_relaxed(ol_ovl_leaver(l), OL_OVL_EXCESS);
	if (!(kicked & OL_OVL_IN_TRIAL))
		return;
	ol_ovl_trial_in(l, !late ? 0 : useless < OL_OVL_MOST ? useless + 1 : useless);
}

static inline void ol_ovl_count_in(ol_overlock_t *l, struct ol_ovl_waiter *me)
{
	uint32_t sleepers;

	if (me->counted)
		return;
	sleepers = (ol_add_relaxed(&l->word, OL_OVL_SLEEPER) & OL_OVL_SLEEPERS) / OL_OVL_SLEEPER;
	me->counted = OL_OVL_SLEEPER;
	me->turn = ol_after(8 + 2 * sleepers, ol_tune(lease));
}

static inline bool ol_ovl_is_free(uint32_t w, const struct ol_ovl_waiter *me)
{
	return !(w & OL_OVL_HELD) && (me->mine || !(w & OL_OVL_CLAIMED));
}

/* The next release shall wake one of us; false: there was one meanwhile. */
static inline bool ol_ovl_calls(ol_overlock_t *l)
{
	uint32_t w = ol_load_relaxed(&l->word);

	return (w & OL_OVL_CALLED) || ((w & (OL_OVL_HELD | OL_OVL_CLAIMED)) && ol_cas_relaxed(&l->word, w, w | OL_OVL_CALLED));
}

static OL_COLD void ol_ovl_sleep(ol_overlock_t *l, struct ol_ovl_waiter *me, bool leaves, ol_ticks_t until)
{
	bool calls = !ol_ovl_rotates() ||
		     (!leaves && !me->mine && ((ol_ovl_releases(ol_load_relaxed(&l->word)) - me->then) & OL_OVL_RELEASES) <= 1);

	ol_ovl_count_in(l, me);
	while (!ol_passed(until)) {
		uint32_t seen = ol_load_relaxed(ol_ovl_kicks(l));

		if (!me->mine && ol_passed(me->turn)) {
			ol_ovl_claim(l, me);
			leaves = false;
		}
		if (!leaves && ol_ovl_is_free(ol_or_relaxed(&l->word, 0), me))
			break;
		if (calls && !ol_ovl_calls(l))
			continue;
		ol_count(OL_PARK);
		ol_park(ol_ovl_kicks(l), seen, me->mine ? OL_OVL_CLAIMANT : OL_OVL_IN_LINE,
			me->mine ? until : ol_earlier(me->turn, until));
		if (!me->mine && seen != ol_load_relaxed(ol_ovl_kicks(l))) {
			ol_ovl_judge(l);
			me->woken = true;
			break;
		}
	}
	ol_ovl_start(l, me);
	ol_ovl_was_preempted(me->since);
	me->fair = ol_later(me->since, 1, ol_ovl_rotates() ? ol_tune(lease) : ol_tune(prompt));
}

/* Whether we are the one to give up our place: to a sleeper, or to nobody while another holds the lock. */
static OL_COLD bool ol_ovl_leaves(ol_overlock_t *l, uint32_t w)
{
	uint32_t leaver = ol_load_relaxed(ol_ovl_leaver(l)), then;

	if (leaver / OL_OVL_ONE != ol_self())
		return false;
	then = leaver / OL_OVL_THEN & OL_OVL_RELEASES;
	if (!(w & OL_OVL_HELD) && ol_ovl_releases(w) == then) { /* nobody else came */
		leaver ^= (then ^ ((then + 1) & OL_OVL_RELEASES)) * OL_OVL_THEN;
		ol_store_relaxed(ol_ovl_leaver(l), leaver);
		return false;
	}
	ol_and_relaxed(&l->word, ~OL_OVL_RELIEF);
	ol_store_relaxed(ol_ovl_leaver(l), 0u);
	if (!(leaver & OL_OVL_EXCESS))
		ol_ovl_kick(l, 0);
	return true;
}

static OL_COLD bool ol_overlock_lock_slow(ol_overlock_t *l, ol_ticks_t until)
{
	struct ol_ovl_waiter me = { .mine = 0 };
	uint32_t w = ol_load_relaxed(&l->word);

	ol_count(OL_SLOW_PATH);
	ol_ovl_start(l, &me);
	if ((w & OL_OVL_RELIEF) && ol_ovl_leaves(l, w))
		ol_ovl_sleep(l, &me, true, until);
	for (;;) {
		w = ol_load_relaxed(&l->word);
		if (ol_ovl_is_free(w, &me)) {
			uint32_t taken = ((w | OL_OVL_HELD) & ~me.mine) - me.counted;

			if (!ol_ovl_rotates() && (taken & OL_OVL_SLEEPERS))
				taken |= OL_OVL_CALLED;
			if (ol_cas_acquire(&l->word, w, taken)) /* [A] */
				return true;
			continue;
		}
		if (ol_passed(until))
			break;
		if (!ol_passed(me.tired)) {
			if (ol_ovl_is_quick(w, &me))
				ol_ovl_pause(ol_tune(pace), ol_earlier(me.tired, until));
			else
				ol_relax_until(ol_earlier(me.tired, until));
		} else if (me.woken && !(w & OL_OVL_CLAIMED) && me.then != ol_ovl_releases(w)) {
			if (ol_passed(me.fair)) {
				me.woken = false;
				ol_ovl_claim(l, &me);
			}
			ol_ovl_start(l, &me);
		} else {
			ol_ovl_sleep(l, &me, false, until);
		}
	}
	if (me.counted)
		ol_add_relaxed(&l->word, (uint32_t)-OL_OVL_SLEEPER);
	if (me.mine)
		ol_and_relaxed(&l->word, ~OL_OVL_CLAIMED);
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

/* We are the next to give up our place. */
static inline void ol_ovl_choose(ol_overlock_t *l, uint32_t w, uint32_t excess)
{
	uint32_t then = (ol_ovl_releases(w) + 1) & OL_OVL_RELEASES;

	ol_store_relaxed(ol_ovl_leaver(l), (uint32_t)ol_self() * OL_OVL_ONE | then * OL_OVL_THEN | excess);
	ol_or_relaxed(&l->word, OL_OVL_RELIEF);
}

static OL_COLD void ol_ovl_wake(ol_overlock_t *l, uint32_t w)
{
	uint64_t *turn = ol_ovl_slot(l, OL_OVL_TURN), trial = ol_load_relaxed(ol_ovl_slot(l, OL_OVL_TRIAL));
	uint32_t leaver;
	ol_ticks_t now;

	if (w & OL_OVL_CLAIMED) {
		ol_add_relaxed(ol_ovl_kicks(l), 1);
		ol_count(OL_KICK);
		ol_kick(ol_ovl_kicks(l), OL_OVL_CLAIMANT, 1);
		return;
	}
	if (w & OL_OVL_CALLED) {
		ol_and_relaxed(&l->word, ~OL_OVL_CALLED);
		ol_ovl_kick(l, 0);
		return;
	}
	if (!ol_ovl_rotates())
		return;
	now = ol_now();
	if (ol_ovl_was_preempted(now)) {
		ol_ovl_trial_in(l, OL_OVL_MOST);
		ol_ovl_choose(l, w, OL_OVL_EXCESS);
	} else if (ol_before(trial, now)) {
		ol_ovl_trial_in(l, trial & OL_OVL_MOST);
		ol_ovl_kick(l, OL_OVL_IN_TRIAL | ((ol_ovl_releases(w) + 1) & OL_OVL_RELEASES));
	} else if (ol_before(ol_load_relaxed(turn), now)) {
		ol_store_relaxed(turn, ol_later(now, 1, ol_tune(lease)));
		leaver = ol_load_relaxed(ol_ovl_leaver(l));
		if (leaver / OL_OVL_ONE == ol_self()) { /* since then we saw nobody else: there is room for one more */
			ol_store_relaxed(ol_ovl_leaver(l), 0u);
			ol_ovl_kick(l, 0);
		} else {
			ol_ovl_choose(l, w, leaver & OL_OVL_EXCESS);
		}
	}
}

static inline void ol_overlock_unlock(ol_overlock_t *l)
{
	uint32_t w = ol_add_release(&l->word, OL_OVL_RELEASE - OL_OVL_HELD); /* [R] */

	if (OL_UNLIKELY(w & (OL_OVL_SLEEPERS | OL_OVL_CLAIMED | OL_OVL_CALLED)))
		ol_ovl_wake(l, w);
}
#endif
