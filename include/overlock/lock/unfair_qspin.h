/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_UNFAIR_QSPIN_H
#define OL_UNFAIR_QSPIN_H
/*
 * Unfair queued spinlock. Long: Unfair Queued Spinlocks (slides).
 *
 * A queued lock that any context may steal: a new context tries once before it queues (unless
 * `steal_first` is 0), and the n-th waiter behind the first tries every n * `steal`. So a waiter
 * without a CPU costs the others little, and the order is mostly FIFO.
 *
 *   31	      16 15	   0
 *  +------------+----------+	lock: 0 free, 1 held
 *  |	 tail	 |   lock   |	tail and queue: see queued.h
 *  +------------+----------+
 *
 *	node.ahead: the number of the predecessor's node; 0: none, this is the first waiter
 *
 *  Only the holder removes a node, and only its own, whether it was first or stole the lock from
 *  further back. So its predecessor stays in the queue and is linked to its successor. Other
 *  contexts only append. A holder waits for a successor that has not linked itself yet, as in MCS.
 *
 *  Pairing: [A] acquires from [R], the previous holder's release, so each holder sees the queue as
 *  the last one left it, with relaxed stores. [T] [L] [F] [H]: see queued.h. [F] also orders the
 *  successor's store to `ahead` before ours; [H] orders our clearing of a link before a new link.
 */
#include <overlock/lock/impl/queued.h>

typedef struct OL_CAPABILITY ol_unfair_qspin {
	uint32_t word;
} ol_unfair_qspin_t;

#define OL_UNFAIR_QSPIN_INIT	{ 0 }

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

/* Take the lock despite waiters, from the n-th position behind the first; 0: not queued. */
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

/* Our predecessor may leave and its node be reused: our position is an estimate. */
static inline ol_ticks_t ol_uq_next_try(struct ol_node *mine)
{
	uint32_t ahead = ol_load_relaxed(&mine->ahead);
	uint32_t place = ahead ? ol_load_relaxed(&ol_node_at(ahead)->place) + 1 : 0;

	ol_store_relaxed(&mine->place, place);
	return ol_after(place, ol_tune(steal));
}

/* Wait until we hold the lock, as the first waiter or by stealing it. */
static inline void ol_uq_wait(ol_unfair_qspin_t *l, struct ol_node *mine)
{
	ol_ticks_t due = ol_uq_next_try(mine);

	while (ol_load_relaxed(&mine->ahead)) {
		if (ol_passed(due)) {
			due = ol_uq_next_try(mine);
			if (ol_uq_steal(l, ol_load_relaxed(&mine->place)))
				return;
		}
		ol_relax_until(due);
	}
	ol_store_relaxed(&mine->place, 0u);
	while (!ol_uq_take(l, ol_load_relaxed(&l->word)))
		ol_relax();
}

/* We hold the lock: no other context removes a node, so our predecessor stays. */
static inline void ol_uq_leave(ol_unfair_qspin_t *l, struct ol_node *mine)
{
	uint32_t number = ol_load_relaxed(&mine->ahead);
	struct ol_node *ahead = number ? ol_node_at(number) : 0, *next;

	if (ahead) /* before it can be the last node again, to which the next waiter links */
		ol_store_relaxed(&ahead->next, (struct ol_node *)0);
	next = ol_queued_after(&l->word, mine, (uint16_t)number);
	if (next) {
		ol_store_relaxed(&next->place, ol_load_relaxed(&mine->place));
		ol_store_relaxed(&next->ahead, number);
	}
	if (next && ahead)
		ol_store_relaxed(&ahead->next, next);
	ol_node_put(mine);
}

static inline void ol_uq_queue(ol_unfair_qspin_t *l, struct ol_node *mine)
{
	uint16_t last;

	ol_queued_ready(mine);
	last = ol_xchg_hi_acq_rel(&l->word, (uint16_t)ol_node_number(mine)); /* [T] */
	ol_store_relaxed(&mine->ahead, last);
	(void)ol_queued_link(last, mine);
	ol_uq_wait(l, mine);
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
