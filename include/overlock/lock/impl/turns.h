/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_ROTA_INIT
#error "overlock: impl/turns.h is a part of lock/rota.h; include that"
#endif
/*
 * Who competes for the lock `rota` while others sleep. The lock includes this after its word and its
 * wake-ups.
 *
 * The competitors take turns with the sleepers. Once every `lease`, a release chooses its own context as the
 * leaver: before that one takes the lock again, it wakes the longest sleeper, and sleeps itself. So the number of
 * competitors stays, and a context that gives up its CPU between two sections is not preempted within one.
 *
 * The number adapts:
 *
 *  - A leaver that meets nobody else for a `lease` stays, and wakes one more.
 *  - A context that was preempted becomes the leaver, and wakes nobody: too many compete.
 *  - The kernel may put a woken context behind one that runs, and the leaver's CPU is idle then. So `prompt` after
 *    one has left, another probes: for `prompt`, it waits for somebody else to take the lock. If nobody did, it
 *    wakes one that had another CPU last.
 *  - One may be enough. Those that are woken watch first. If they see that the lock is taken again at once, for a
 *    section that is long beside that, a leaver wakes nobody, for a trial. If only one competes then, it goes on
 *    alone: every `lease` it wakes the next, which claims the lock, and leaves.
 *
 * All this is in hints, which locks share slots of; a hint that is wrong costs time only:
 *
 *  TURN	when a release is to choose the next leaver; in its last bits PROBES, if that leaver is only to probe;
 *		TRIES, if it is to see whether it is alone; ALONE, if one competes; and how often the lock was seen
 *		BUSY. A watcher and a release may overwrite each other's: a turn comes sooner, or is not counted
 *  leaver	id:25 | releases when it was chosen:6 | EXCESS. In EXCESS, it wakes nobody
 *
 *  ol_rota_whose_turn()	in a release with sleepers: who leaves, and who is woken
 *  ol_rota_leaves()	before one takes the lock: whether it is to leave
 *  ol_rota_watch()	after one was woken: whether it is to compete alone
 */
#define OL_ROTA_PROBES	((ol_ticks_t)1)
#define OL_ROTA_TRIES	((ol_ticks_t)2)
#define OL_ROTA_ALONE	((ol_ticks_t)4)
#define OL_ROTA_BUSY	((ol_ticks_t)8)
#define OL_ROTA_BUSIEST	(3 * OL_ROTA_BUSY)
#define OL_ROTA_STATE	((ol_ticks_t)31)

#define OL_ROTA_EXCESS	1u
#define OL_ROTA_THEN	2u
#define OL_ROTA_THENS	63u
#define OL_ROTA_ID	128u

static inline uint64_t *ol_rota_turn_slot(const ol_rota_t *l)
{
	return ol_rota_slot(l, OL_ROTA_TURN);
}

static inline uint32_t *ol_rota_leaver(const ol_rota_t *l)
{
	return ol_rota_wakes(l) + 1;
}

/* In `time`, or up to half of that sooner or later: else it might be the same context's turn each time. */
static inline void ol_rota_set_turn(const ol_rota_t *l, ol_ticks_t due, ol_ticks_t time,
				    ol_ticks_t state)
{
	ol_ticks_t chance = (uint32_t)(due * 0x9e3779b97f4a7c15u >> 32);

	due = ol_after(1, time / 2 + (chance * time >> 32));
	ol_store_relaxed(ol_rota_turn_slot(l), (due & ~OL_ROTA_STATE) | state);
}

/*
 * Whether this context lost its CPU, for longer than `prompt`, since it last asked. Its slot has the time, and
 * in the last bits the id of the slice: one in eight switches stays unseen.
 */
static inline bool ol_rota_was_preempted(ol_ticks_t now)
{
	uint64_t *slot = ol_wait_slot((size_t)ol_self() * 0x9e3779b1u);
	uint64_t then = ol_load_relaxed(slot), slice = (now & ~(uint64_t)7) | (ol_slice_id() & 7);

	ol_store_relaxed(slot, slice);
	return ((slice ^ then) & 7) && ol_before(ol_later(then, 1, ol_tune(prompt)), now);
}

/* Watching, before one competes. */

/* Whether the lock is held, or free, and is neither taken nor released for that time. */
static inline bool ol_rota_stays(const ol_rota_t *l, uint32_t held, ol_ticks_t time,
				 ol_ticks_t until)
{
	uint32_t w = ol_load_relaxed(&l->word);

	if ((w & OL_ROTA_HELD) != held)
		return false;
	until = ol_earlier(ol_after(1, time), until);
	while (!((ol_load_relaxed(&l->word) ^ w) & (OL_ROTA_HELD | OL_ROTA_COUNTED))) {
		if (ol_passed(until))
			return true;
		ol_relax_until(until);
	}
	return false;
}

/* Whether those who compete take the lock again at once, for a section that is longer than a hand-over. */
static inline bool ol_rota_is_busy(const ol_rota_t *l, ol_ticks_t until)
{
	return !ol_rota_stays(l, OL_ROTA_HELD, ol_tune(prompt), until) &&
	       !ol_rota_stays(l, 0, ol_tune(pace) / 8, until) &&
	       ol_rota_stays(l, OL_ROTA_HELD, ol_tune(pace) / 4, until);
}

/* One that was woken watches the others before it competes; returns whether only one is to compete. */
static inline bool ol_rota_watch(const ol_rota_t *l, ol_ticks_t until)
{
	bool is_busy = ol_rota_is_busy(l, until);
	ol_ticks_t turn = ol_load_relaxed(ol_rota_turn_slot(l)), busy = turn & OL_ROTA_BUSIEST;

	if (is_busy)
		busy += busy < OL_ROTA_BUSIEST ? OL_ROTA_BUSY : 0;
	else
		busy -= busy ? OL_ROTA_BUSY : 0;
	ol_store_relaxed(ol_rota_turn_slot(l), (turn & ~OL_ROTA_BUSIEST) | busy);
	return turn & OL_ROTA_ALONE;
}

/* Leaving, before one takes the lock again. */

static inline uint32_t ol_rota_leaver_of(uint32_t releases, uint32_t excess)
{
	return (uint32_t)ol_self() * OL_ROTA_ID | (releases & OL_ROTA_THENS) * OL_ROTA_THEN |
	       excess;
}

/*
 * We are the leaver, others compete, and others sleep: whether we leave, or did not probe or try in vain. In a trial,
 * one more is to compete again then.
 */
static inline bool ol_rota_goes(const ol_rota_t *l, uint32_t excess)
{
	ol_ticks_t due = ol_load_relaxed(ol_rota_turn_slot(l)), busy = due & OL_ROTA_BUSIEST;
	bool goes = excess || !(due & (OL_ROTA_PROBES | OL_ROTA_TRIES));

	if (!goes)
		ol_rota_set_turn(l, due, ol_tune(lease), due & OL_ROTA_TRIES ? 0 : busy);
	else if (due & (OL_ROTA_TRIES | OL_ROTA_ALONE))
		ol_rota_set_turn(l, due, ol_tune(lease), due & OL_ROTA_STATE);
	else
		ol_rota_set_turn(l, due, ol_tune(prompt), busy | OL_ROTA_PROBES);
	if (!excess && (goes || (due & OL_ROTA_TRIES)))
		ol_rota_wake(l, OL_ROTA_IN_LINE, 0);
	return goes;
}

/* Whether we leave now: if we are the leaver, another has had the lock since, and one sleeps to whom we leave it. */
static OL_COLD bool ol_rota_leaves(ol_rota_t *l, uint32_t w)
{
	uint32_t leaver = ol_load_relaxed(ol_rota_leaver(l)), releases = ol_rota_releases(w);

	if (leaver && leaver / OL_ROTA_ID != ol_self())
		return false;
	if (leaver && !(w & (OL_ROTA_HELD | OL_ROTA_CLAIMED)) &&
	    (releases & OL_ROTA_THENS) == (leaver / OL_ROTA_THEN & OL_ROTA_THENS)) {
		ol_store_relaxed(ol_rota_leaver(l),
				 ol_rota_leaver_of(releases + 1, leaver & OL_ROTA_EXCESS));
		return false;
	}
	ol_and_relaxed(&l->word, ~OL_ROTA_LEAVES);
	ol_store_relaxed(ol_rota_leaver(l), 0u);
	return leaver && (w & OL_ROTA_SLEEPERS) && ol_rota_goes(l, leaver & OL_ROTA_EXCESS);
}

/* Choosing who leaves, in a release. */

/* We are the next to leave; returns the bit that says so. */
static inline uint32_t ol_rota_choose(const ol_rota_t *l, uint32_t w, uint32_t excess)
{
	ol_store_relaxed(ol_rota_leaver(l), ol_rota_leaver_of(ol_rota_releases(w) + 1, excess));
	return OL_ROTA_LEAVES;
}

/* What a release does besides: LEAVES or 0; the key of one to be woken, or 0; CALLED or 0. */
struct ol_rota_turn {
	uint32_t leaves, wakes, called;
};

/* In our release, when the turn is due. */
static inline struct ol_rota_turn ol_rota_next_turn(const ol_rota_t *l, uint32_t w, ol_ticks_t due)
{
	uint32_t leaver = ol_load_relaxed(ol_rota_leaver(l));
	bool met_nobody = leaver && leaver / OL_ROTA_ID == ol_self(), probes = due & OL_ROTA_PROBES,
	     tries = due & OL_ROTA_TRIES, alone = due & OL_ROTA_ALONE;
	ol_ticks_t busy = due & OL_ROTA_BUSIEST;
	struct ol_rota_turn turn = { 0, 0, 0 };

	if (busy && (alone || (tries && met_nobody))) { /* one is enough, and the next one's turn */
		ol_rota_set_turn(l, due, ol_tune(lease), busy | OL_ROTA_ALONE);
		turn.wakes = OL_ROTA_IN_LINE;
		turn.leaves = ol_rota_choose(l, w, OL_ROTA_EXCESS);
	} else if (alone || met_nobody || (leaver && probes)) {
		ol_store_relaxed(ol_rota_leaver(l), 0u);
		ol_rota_set_turn(l, due, ol_tune(lease), busy);
		if (alone || met_nobody) /* there is room for one more */
			turn.wakes = OL_ROTA_IN_LINE & ~(probes ? ol_rota_key_here() : 0);
	} else if (busy == OL_ROTA_BUSIEST && !probes && !tries) { /* one fewer may be enough */
		ol_rota_set_turn(l, due, ol_tune(lease), busy | OL_ROTA_TRIES);
		turn.leaves = ol_rota_choose(l, w, OL_ROTA_EXCESS);
	} else {
		ol_rota_set_turn(l, due, probes ? ol_tune(prompt) : ol_tune(lease),
				 due & OL_ROTA_STATE);
		turn.leaves = ol_rota_choose(l, w, leaver & OL_ROTA_EXCESS);
	}
	return turn;
}

/* In our release, with sleepers. */
static inline struct ol_rota_turn ol_rota_whose_turn(const ol_rota_t *l, uint32_t w)
{
	ol_ticks_t now = ol_now(), due = ol_load_relaxed(ol_rota_turn_slot(l));
	struct ol_rota_turn turn = { 0, 0, 0 };

	if (ol_rota_was_preempted(now))
		turn.leaves = ol_rota_choose(l, w, OL_ROTA_EXCESS);
	else if (ol_before(due, now))
		turn = ol_rota_next_turn(l, w, due);
	return turn;
}
