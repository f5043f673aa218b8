/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_UNFAIR_QSPIN_H
#define OL_UNFAIR_QSPIN_H
/*
 * Unfair queued spinlock. Long: Unfair Queued Spinlocks (003).
 *
 * A queued lock that anybody may steal: whoever comes tries once (unless `steal_first` is 0), and
 * the n-th waiter behind the first tries every n * `steal`. A waiter without a CPU costs the others
 * little, and most of the order of arrival is kept.
 *
 *   31	      16 15	   0
 *  +------------+----------+	lock: 0 free, 1 held
 *  |	 tail	 |   lock   |	tail and line: see queued.h
 *  +------------+----------+
 *
 *  A thief in mid-line holds the lock and cannot wait for its neighbours to unlink it. It marks its
 *  node `left` and goes; the node stays in the line as a ghost. Whoever is the first, once it has
 *  the lock, hands its place on past all ghosts that follow, and gives their nodes back.
 *
 *	node.wait:  waits --> first	the place was handed over; a thief that finds this hands on, too
 *		    waits --> left	the node is a ghost now, and belongs to whom hands over to it
 *
 *  Both steps are taken by a holder of the lock, so a look and a store do for each. The first of a
 *  line is never a ghost, so an idle lock has none. A thief that comes again needs another node: a
 *  line whose first waiter has no CPU grows by one ghost for each theft within it. When no node has a
 *  name any more, the others wait as for a byte lock.
 *
 *  Pairing: [A] acquires from [R], the previous holder's release. [T] [L] [F]: see queued.h.
 */
#include <overlock/lock/queued.h>

typedef struct OL_CAPABILITY ol_unfair_qspin {
	uint32_t word;
} ol_unfair_qspin_t;

#define OL_UNFAIR_QSPIN_INIT	{ 0 }
#define OL_UQ_FIRST		0u /* in a node's `wait` */
#define OL_UQ_WAITS		1u
#define OL_UQ_LEFT		2u

static inline bool ol_unfair_qspin_is_locked(const ol_unfair_qspin_t *l)
{
	return ol_load_lo_relaxed(&l->word) != 0;
}

static inline bool ol_unfair_qspin_is_contended(const ol_unfair_qspin_t *l)
{
	return ol_load_hi_relaxed(&l->word) != 0;
}

static inline bool ol_uq_take(ol_unfair_qspin_t *l, uint32_t seen)
{
	return !ol_lo(seen) && ol_cas_lo_acquire(&l->word, 0, OL_Q_LOCKED); /* [A] */
}

/* Take it whoever waits, from the n-th place behind the first, or from outside the line: 0. */
static inline bool ol_uq_steal(ol_unfair_qspin_t *l, uint32_t place)
{
	uint32_t w = ol_load_relaxed(&l->word);
	bool taken = ol_uq_take(l, w);

	if (ol_hi(w)) {
		ol_count_at(OL_STEAL_TRY, place);
		if (taken)
			ol_count_at(OL_STEAL, place);
	}
	return taken;
}

static inline bool ol_unfair_qspin_trylock(ol_unfair_qspin_t *l)
{
	return ol_uq_steal(l, 0);
}

static inline bool ol_unfair_qspin_timedlock(ol_unfair_qspin_t *l, ol_ticks_t until)
{
	while (!ol_uq_steal(l, 0)) {
		if (ol_passed(until))
			return false;
		ol_relax_until(until);
	}
	return true;
}

/* Whom we follow may have left, and its node be another's: our place is an estimate. */
static inline ol_ticks_t ol_uq_next_try(struct ol_node *mine, const struct ol_node *ahead)
{
	uint32_t place = ol_load_relaxed(&ahead->ahead) + 1;

	ol_store_relaxed(&mine->ahead, place);
	return ol_after(place, ol_tune(steal));
}

/* Wait behind `ahead` until we are the first; true if we stole the lock instead. */
static inline bool ol_uq_wait(ol_unfair_qspin_t *l, struct ol_node *mine, struct ol_node *ahead)
{
	ol_ticks_t due = ol_uq_next_try(mine, ahead);

	while (ol_load_relaxed(&mine->wait) != OL_UQ_FIRST) {
		if (ol_passed(due)) {
			if (ol_uq_steal(l, ol_load_relaxed(&mine->ahead)))
				return true;
			due = ol_uq_next_try(mine, ahead);
		}
		ol_relax_until(due);
	}
	return false;
}

/* We hold the lock, and ours is the first node: make the next waiter's the first. */
static inline void ol_uq_leave(ol_unfair_qspin_t *l, struct ol_node *mine)
{
	struct ol_node *next;

	do {
		next = ol_queued_after(&l->word, mine);
		ol_node_put(mine);
		mine = next;
	} while (next && ol_load_relaxed(&next->wait) == OL_UQ_LEFT);
	if (next)
		ol_store_relaxed(&next->wait, OL_UQ_FIRST);
}

static inline void ol_uq_queue(ol_unfair_qspin_t *l, struct ol_node *mine)
{
	struct ol_node *ahead;

	ol_store_relaxed(&mine->ahead, 0u);
	ahead = ol_queued_join(&l->word, mine);
	if (ahead && ol_uq_wait(l, mine, ahead)) {
		if (ol_load_relaxed(&mine->wait) == OL_UQ_WAITS) {
			ol_store_relaxed(&mine->wait, OL_UQ_LEFT);
			return;
		}
	} else {
		ol_store_relaxed(&mine->ahead, 0u);
		while (!ol_uq_take(l, ol_load_relaxed(&l->word)))
			ol_relax();
	}
	ol_uq_leave(l, mine);
}

static OL_COLD void ol_unfair_qspin_lock_slow(ol_unfair_qspin_t *l)
{
	struct ol_node *mine = ol_named_node_get();

	ol_count(OL_SLOW_PATH);
	if (mine) {
		ol_uq_queue(l, mine);
		return;
	}
	ol_count(OL_NO_ID);
	ol_unfair_qspin_timedlock(l, OL_NEVER);
}

static inline void ol_unfair_qspin_lock(ol_unfair_qspin_t *l)
{
	if (OL_UNLIKELY(!(ol_tune(steal_first) ? ol_uq_steal(l, 0) : ol_queued_trylock(&l->word))))
		ol_unfair_qspin_lock_slow(l);
}

static inline void ol_unfair_qspin_unlock(ol_unfair_qspin_t *l)
{
	ol_store_lo_release(&l->word, 0); /* [R] */
}
#endif
