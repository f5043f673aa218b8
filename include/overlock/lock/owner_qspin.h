/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_OWNER_QSPIN_H
#define OL_OWNER_QSPIN_H
/*
 * Queued spinlock that records its owner, as in Linux on powerpc since 6.2 (Piggin).
 *
 * A waiter knows the contexts it depends on: its predecessor, and the owner, from the word or as
 * told by its predecessor. If one is known to have lost its CPU, the waiter yields to it. A new
 * context may take the lock ahead of the queue (barge) for `barge`. The first waiter tolerates this
 * for eight times as long and then makes all others queue. If an owner is found preempted, the
 * lock is `sleepy` until the queue is empty, and these times are 256 times as long: spinning in
 * order would then cost more than being overtaken.
 *
 *    31   30  29	    16 15 14	      1   0
 *  +-----+---+---------------+--+-------------+---+
 *  |sleep|all|	    tail      |0 |    owner    | L |	L: locked	owner: an id; 0 unknown
 *  +-----+---+---------------+--+-------------+---+	all: must queue	   tail and queue: see queued.h
 *
 *  Only the first waiter sets `sleepy` and `all`. When it takes the lock, it clears `all`, and if
 *  the queue is then empty also `sleepy` and the tail. Release stores 0 to the low half.
 *
 *  Pairing: [A] acquires from [R], the previous holder's release. [T] [L] [F]: see queued.h.
 *  [H] is not needed: the first waiter takes the lock by a compare-exchange of the whole word.
 */
#include <overlock/lock/impl/queued.h>

typedef struct OL_CAPABILITY ol_owner_qspin {
	uint32_t word;
} ol_owner_qspin_t;

#define OL_OWNER_QSPIN_INIT	{ 0 }
#define OL_OQ_SLEEPY		0x80000000u
#define OL_OQ_ALL_QUEUE		0x40000000u
#define OL_OQ_TAIL		0x3fff0000u
#define OL_OQ_FIRST_ENDURES	8u   /* 256 polls against 32 in Linux */
#define OL_OQ_SLEEPY_FACTOR	256u /* Linux's pv_sleepy_lock_factor */

static inline uint32_t ol_oq_owner(uint32_t word)
{
	return ol_lo(word) >> 1;
}

static inline bool ol_owner_qspin_is_locked(const ol_owner_qspin_t *l)
{
	return ol_load_lo_relaxed(&l->word) != 0;
}

static inline bool ol_owner_qspin_is_contended(const ol_owner_qspin_t *l)
{
	return ol_load_hi_relaxed(&l->word) != 0;
}

/* Take the free lock, seen as `w`, and keep `rest` of its upper half. */
static inline bool ol_oq_take(ol_owner_qspin_t *l, uint32_t w, uint32_t rest)
{
	return ol_cas_acquire(&l->word, w, rest | ol_self() << 1 | OL_Q_LOCKED); /* [A] */
}

/* Ahead of the queue, if there is one. */
static inline bool ol_oq_barge(ol_owner_qspin_t *l, uint32_t w)
{
	return !ol_lo(w) && !(w & OL_OQ_ALL_QUEUE) && ol_oq_take(l, w, w);
}

static inline bool ol_owner_qspin_trylock(ol_owner_qspin_t *l)
{
	return ol_oq_barge(l, ol_load_relaxed(&l->word));
}

static inline ol_ticks_t ol_oq_patience(uint32_t word, unsigned n)
{
	return ol_after(word & OL_OQ_SLEEPY ? n * OL_OQ_SLEEPY_FACTOR : n, ol_tune(barge));
}

/* Yields our CPU to a context known to have lost its own; false if nothing is known. */
static inline bool ol_oq_yield_to(uint32_t id)
{
	if (!ol_is_preempted(id))
		return false;
	ol_count(OL_YIELD);
	ol_yield_to(id);
	return true;
}

static inline bool ol_owner_qspin_timedlock(ol_owner_qspin_t *l, ol_ticks_t until)
{
	for (;;) {
		uint32_t w = ol_load_relaxed(&l->word);

		if (ol_oq_barge(l, w))
			return true;
		if (ol_passed(until))
			return false;
		if (!ol_oq_yield_to(ol_oq_owner(w)))
			ol_relax_until(until);
	}
}

static inline struct ol_node *ol_oq_join(ol_owner_qspin_t *l, struct ol_node *mine)
{
	uint16_t upper, flags = ol_hi(OL_OQ_SLEEPY | OL_OQ_ALL_QUEUE);

	ol_store_relaxed(&mine->id, ol_self());
	ol_store_relaxed(&mine->owner, 0u);
	ol_queued_ready(mine);
	do {
		upper = ol_load_hi_relaxed(&l->word);
	} while (!ol_cas_hi_acq_rel(&l->word, upper,
				    (uint16_t)((upper & flags) | ol_node_number(mine)))); /* [T] */
	return ol_queued_link((uint16_t)(upper & ~flags), mine);
}

/* Tells our successor of a preempted owner, once; returns what it has been told. */
static inline uint32_t ol_oq_tell(struct ol_node *mine, uint32_t told, uint32_t owner)
{
	struct ol_node *next = owner == told ? 0 : ol_load_relaxed(&mine->next);

	if (!next)
		return told;
	ol_store_relaxed(&next->owner, owner);
	return owner;
}

static inline void ol_oq_wait(struct ol_node *mine, const struct ol_node *ahead)
{
	uint32_t told = 0, id_ahead = ol_load_relaxed(&ahead->id);

	while (ol_load_relaxed(&mine->wait)) {
		uint32_t owner = ol_load_relaxed(&mine->owner);

		told = ol_oq_tell(mine, told, owner);
		if (!ol_oq_yield_to(owner) && !ol_oq_yield_to(id_ahead))
			ol_relax();
	}
}

/* The first waiter takes the lock; true if it has no successor. */
static inline bool ol_oq_first(ol_owner_qspin_t *l, struct ol_node *mine)
{
	uint32_t w = ol_load_relaxed(&l->word), tail = ol_node_number(mine) << 16, told = 0;
	ol_ticks_t end = ol_oq_patience(w, OL_OQ_FIRST_ENDURES);

	for (;; w = ol_load_relaxed(&l->word)) {
		bool last = (w & OL_OQ_TAIL) == tail, lost;

		if (!ol_lo(w)) {
			if (ol_oq_take(l, w, last ? 0 : w & ~OL_OQ_ALL_QUEUE))
				return last;
			continue;
		}
		lost = ol_is_preempted(ol_oq_owner(w));
		told = ol_oq_tell(mine, told, lost ? ol_oq_owner(w) : 0);
		if (lost) {
			ol_or_relaxed(&l->word, OL_OQ_SLEEPY);
			end = ol_oq_patience(OL_OQ_SLEEPY, OL_OQ_FIRST_ENDURES);
			ol_count(OL_YIELD);
			ol_yield_to(ol_oq_owner(w));
			continue;
		}
		if (ol_passed(end)) {
			ol_or_relaxed(&l->word, OL_OQ_ALL_QUEUE);
			end = OL_NEVER;
		}
		ol_relax_until(end);
	}
}

static inline void ol_oq_queue(ol_owner_qspin_t *l, struct ol_node *mine)
{
	struct ol_node *ahead = ol_oq_join(l, mine);

	if (ahead)
		ol_oq_wait(mine, ahead);
	if (!ol_oq_first(l, mine))
		ol_store_relaxed(&ol_queued_await_link(mine)->wait, 0u);
	ol_node_put(mine);
}

static OL_COLD void ol_owner_qspin_lock_slow(ol_owner_qspin_t *l)
{
	struct ol_node *mine;

	ol_count(OL_SLOW_PATH);
	if (ol_owner_qspin_timedlock(l, ol_oq_patience(ol_load_relaxed(&l->word), 1)))
		return;
	mine = ol_named_node_get();
	if (mine) {
		ol_oq_queue(l, mine);
		return;
	}
	ol_count(OL_NO_ID);
	ol_owner_qspin_timedlock(l, OL_NEVER);
}

static inline void ol_owner_qspin_lock(ol_owner_qspin_t *l)
{
	if (OL_UNLIKELY(!ol_owner_qspin_trylock(l)))
		ol_owner_qspin_lock_slow(l);
}

static inline void ol_owner_qspin_unlock(ol_owner_qspin_t *l)
{
	ol_store_lo_release(&l->word, 0); /* [R] */
}
#endif
