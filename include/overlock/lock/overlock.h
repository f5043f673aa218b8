/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_LOCK_OVERLOCK_H
#define OL_LOCK_OVERLOCK_H
/*
 * Test-and-set lock whose waiters sleep in turns. Our own.
 *
 * A running context may take the lock whenever it is free, so a hand-over never waits for a context without
 * a CPU. A waiter polls for `prompt`, then sleeps. While contexts sleep, a release chooses its own context as
 * the leaver, once every `lease`: before that one takes the lock again, it wakes the longest sleeper, and
 * sleeps itself. So the number that compete stays, all get their turn, and who gives up its CPU between two
 * sections is not preempted within one.
 *
 * The number adapts. A leaver that meets nobody else for a `lease` stays, and wakes one more. Who was preempted
 * becomes the leaver, and wakes nobody. The kernel may put the woken one behind a context that runs, and the
 * leaver's CPU is idle then. So `prompt` after one has left, another probes whether it is alone: for `prompt`, it
 * waits for somebody else to take the lock. If nobody did, it wakes one that had another CPU last.
 *
 * One may be enough. If those that are woken see that the lock is taken again at once, for a section that is long
 * beside that, a leaver wakes nobody, for a trial. If only one competes then, it goes on alone: every `lease` it
 * wakes the next, which claims the lock, and leaves.
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

/* Hints. */

/*
 * Of a lock, in slots of the waiting array:
 *
 *  TURN	when a release is to choose the next leaver; in its last bits PROBES, if that leaver is only to probe;
 *		TRIES, if it is to see whether it is alone; ALONE, if one competes; and how often the lock was seen
 *		BUSY. A watcher and a release may overwrite each other's: a turn comes sooner, or is not counted
 *  WORDS	two words: the number of wake-ups, on which sleepers park, and CALLED if the last one was
 *		called; the leaver
 *
 * The leaver: id:25 | releases when it was chosen:6 | EXCESS. In EXCESS, it wakes nobody.
 */
enum { OL_OVL_TURN, OL_OVL_WORDS };
#define OL_OVL_PROBES	((ol_ticks_t)1)
#define OL_OVL_TRIES	((ol_ticks_t)2)
#define OL_OVL_ALONE	((ol_ticks_t)4)
#define OL_OVL_BUSY	((ol_ticks_t)8)
#define OL_OVL_BUSIEST	(3 * OL_OVL_BUSY)
#define OL_OVL_STATE	((ol_ticks_t)31)
#define OL_OVL_CALLED	0x80000000u
#define OL_OVL_EXCESS	1u
#define OL_OVL_THEN	2u
#define OL_OVL_ID	128u
#define OL_OVL_LOOKS	8u	/* at most 256 leases between them: 64 ms */
#define OL_OVL_RARE	3u	/* so many in vain: the others may look as rarely, and have to be woken */

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

static inline uint32_t *ol_ovl_leaver(const ol_overlock_t *l)
{
	return ol_ovl_wakes(l) + 1;
}

/* In `time`, or up to half of that sooner or later: else it might be the same context's turn each time. */
static inline void ol_ovl_set_turn(const ol_overlock_t *l, ol_ticks_t due, ol_ticks_t time,
				   ol_ticks_t state)
{
	ol_ticks_t chance = (uint32_t)(due * 0x9e3779b97f4a7c15u >> 32);

	due = ol_after(1, time / 2 + (chance * time >> 32));
	ol_store_relaxed(ol_ovl_slot(l, OL_OVL_TURN), (due & ~OL_OVL_STATE) | state);
}

static inline uint32_t ol_ovl_releases(uint32_t w)
{
	return w >> 26;
}

/*
 * Whether this context lost its CPU, for longer than `prompt`, since it last asked. Its slot has the time, and
 * in the last bits the id of the slice: one in eight switches stays unseen.
 */
static inline bool ol_ovl_was_preempted(ol_ticks_t now)
{
	uint64_t *slot = ol_wait_slot((size_t)ol_self() * 0x9e3779b1u);
	uint64_t then = ol_load_relaxed(slot), slice = (now & ~(uint64_t)7) | (ol_slice_id() & 7);

	ol_store_relaxed(slot, slice);
	return ((slice ^ then) & 7) && ol_before(ol_later(then, 1, ol_tune(prompt)), now);
}

/* The key of sleepers that had this CPU last, or one that shares its bit: a wake-up leads them back to it. */
static inline uint32_t ol_ovl_key_here(void)
{
	return OL_OVL_CLAIMANT << (1 + ol_cpu() % 31);
}

/* Waking. */

static OL_COLD void ol_ovl_wake(const ol_overlock_t *l, uint32_t key, uint32_t called)
{
	uint32_t *wakes = ol_ovl_wakes(l);

	ol_add_relaxed(wakes, (called ^ (ol_load_relaxed(wakes) & OL_OVL_CALLED)) + 1);
	ol_count(OL_KICK);
	ol_kick(wakes, key, 1);
}

/* Waiting. */

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

/* Whether the lock is held, or free, and is neither taken nor released for that time. */
static inline bool ol_ovl_stays(const ol_overlock_t *l, uint32_t held, ol_ticks_t time,
				ol_ticks_t until)
{
	uint32_t w = ol_load_relaxed(&l->word);

	if ((w & OL_OVL_HELD) != held)
		return false;
	until = ol_earlier(ol_after(1, time), until);
	while (!((ol_load_relaxed(&l->word) ^ w) & (OL_OVL_HELD | OL_OVL_COUNTED))) {
		if (ol_passed(until))
			return true;
		ol_relax_until(until);
	}
	return false;
}

/* Whether those who compete take the lock again at once, for a section that is longer than a hand-over. */
static inline bool ol_ovl_is_busy(const ol_overlock_t *l, ol_ticks_t until)
{
	return !ol_ovl_stays(l, OL_OVL_HELD, ol_tune(prompt), until) &&
	       !ol_ovl_stays(l, 0, ol_tune(pace) / 8, until) &&
	       ol_ovl_stays(l, OL_OVL_HELD, ol_tune(pace) / 4, until);
}

/* One that was woken watches the others before it competes. */
static inline void ol_ovl_watch(ol_overlock_t *l, struct ol_ovl_waiter *me, ol_ticks_t until)
{
	bool is_busy = ol_ovl_is_busy(l, until);
	ol_ticks_t turn = ol_load_relaxed(ol_ovl_slot(l, OL_OVL_TURN)),
		   busy = turn & OL_OVL_BUSIEST;

	if (is_busy)
		busy += busy < OL_OVL_BUSIEST ? OL_OVL_BUSY : 0;
	else
		busy -= busy ? OL_OVL_BUSY : 0;
	ol_store_relaxed(ol_ovl_slot(l, OL_OVL_TURN), (turn & ~OL_OVL_BUSIEST) | busy);
	if (turn & OL_OVL_ALONE) {
		me->woken = false;
		ol_ovl_claim(l, me);
	}
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
	if (me->woken && !me->called)
		ol_ovl_watch(l, me, until);
	ol_ovl_start(l, me);
	ol_ovl_was_preempted(me->since); /* sleeping is not that */
	me->fair = ol_later(me->since, 1, ol_tune(lease));
}

static inline uint32_t ol_ovl_leaver_of(uint32_t releases, uint32_t excess)
{
	return (uint32_t)ol_self() * OL_OVL_ID | (releases & OL_OVL_RELEASES) * OL_OVL_THEN |
	       excess;
}

/*
 * We are the leaver, others compete, and others sleep: whether we leave, or did not probe or try in vain. In a trial,
 * one more is to compete again then.
 */
static inline bool ol_ovl_goes(const ol_overlock_t *l, uint32_t excess)
{
	ol_ticks_t due = ol_load_relaxed(ol_ovl_slot(l, OL_OVL_TURN)), busy = due & OL_OVL_BUSIEST;
	bool goes = excess || !(due & (OL_OVL_PROBES | OL_OVL_TRIES));

	if (!goes)
		ol_ovl_set_turn(l, due, ol_tune(lease), due & OL_OVL_TRIES ? 0 : busy);
	else if (due & (OL_OVL_TRIES | OL_OVL_ALONE))
		ol_ovl_set_turn(l, due, ol_tune(lease), due & OL_OVL_STATE);
	else
		ol_ovl_set_turn(l, due, ol_tune(prompt), busy | OL_OVL_PROBES);
	if (!excess && (goes || (due & OL_OVL_TRIES)))
		ol_ovl_wake(l, OL_OVL_IN_LINE, 0);
	return goes;
}

/* Whether we leave now: if we are the leaver, another has had the lock since, and one sleeps to whom we leave it. */
static OL_COLD bool ol_ovl_leaves(ol_overlock_t *l, uint32_t w)
{
	uint32_t leaver = ol_load_relaxed(ol_ovl_leaver(l)), releases = ol_ovl_releases(w);

	if (leaver && leaver / OL_OVL_ID != ol_self())
		return false;
	if (leaver && !(w & (OL_OVL_HELD | OL_OVL_CLAIMED)) &&
	    releases == (leaver / OL_OVL_THEN & OL_OVL_RELEASES)) {
		ol_store_relaxed(ol_ovl_leaver(l),
				 ol_ovl_leaver_of(releases + 1, leaver & OL_OVL_EXCESS));
		return false;
	}
	ol_and_relaxed(&l->word, ~OL_OVL_LEAVES);
	ol_store_relaxed(ol_ovl_leaver(l), 0u);
	return leaver && (w & OL_OVL_SLEEPERS) && ol_ovl_goes(l, leaver & OL_OVL_EXCESS);
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

/* We are the next to leave; returns the bit that says so. */
static inline uint32_t ol_ovl_choose(const ol_overlock_t *l, uint32_t w, uint32_t excess)
{
	ol_store_relaxed(ol_ovl_leaver(l), ol_ovl_leaver_of(ol_ovl_releases(w) + 1, excess));
	return OL_OVL_LEAVES;
}

/* What a release does besides: LEAVES or 0; the key of one to be woken, or 0. */
struct ol_ovl_turn {
	uint32_t leaves, wakes;
};

/* In our release, when the turn is due. */
static inline struct ol_ovl_turn ol_ovl_next_turn(const ol_overlock_t *l, uint32_t w,
						  ol_ticks_t due)
{
	uint32_t leaver = ol_load_relaxed(ol_ovl_leaver(l));
	bool met_nobody = leaver && leaver / OL_OVL_ID == ol_self(), probes = due & OL_OVL_PROBES,
	     tries = due & OL_OVL_TRIES, alone = due & OL_OVL_ALONE;
	ol_ticks_t busy = due & OL_OVL_BUSIEST;
	struct ol_ovl_turn turn = { 0, 0 };

	if (busy && (alone || (tries && met_nobody))) { /* one is enough, and the next one's turn */
		ol_ovl_set_turn(l, due, ol_tune(lease), busy | OL_OVL_ALONE);
		turn.wakes = OL_OVL_IN_LINE;
		turn.leaves = ol_ovl_choose(l, w, OL_OVL_EXCESS);
	} else if (alone || met_nobody || (leaver && probes)) {
		ol_store_relaxed(ol_ovl_leaver(l), 0u);
		ol_ovl_set_turn(l, due, ol_tune(lease), busy);
		if (alone || met_nobody) /* there is room for one more */
			turn.wakes = OL_OVL_IN_LINE & ~(probes ? ol_ovl_key_here() : 0);
	} else if (busy == OL_OVL_BUSIEST && !probes && !tries) { /* one fewer may be enough */
		ol_ovl_set_turn(l, due, ol_tune(lease), busy | OL_OVL_TRIES);
		turn.leaves = ol_ovl_choose(l, w, OL_OVL_EXCESS);
	} else {
		ol_ovl_set_turn(l, due, probes ? ol_tune(prompt) : ol_tune(lease),
				due & OL_OVL_STATE);
		turn.leaves = ol_ovl_choose(l, w, leaver & OL_OVL_EXCESS);
	}
	return turn;
}

/* In our release, with sleepers. */
static inline struct ol_ovl_turn ol_ovl_whose_turn(const ol_overlock_t *l, uint32_t w)
{
	ol_ticks_t now = ol_now(), due = ol_load_relaxed(ol_ovl_slot(l, OL_OVL_TURN));
	struct ol_ovl_turn turn = { 0, 0 };

	if (ol_ovl_was_preempted(now))
		turn.leaves = ol_ovl_choose(l, w, OL_OVL_EXCESS);
	else if (ol_before(due, now))
		turn = ol_ovl_next_turn(l, w, due);
	return turn;
}

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
