/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_QSPIN_H
#define OL_QSPIN_H
/*
 * Queued spinlock, as in Linux since 4.2: an MCS lock in four bytes.
 * Long, Zijlstra; Long (slides); Dice & Kogan 2019, section 4.6.
 *
 * The first waiter sets the pending byte and watches the locked byte: it needs no node and uses
 * no cache line but the lock's. Only further waiters queue.
 *
 *   31	      16 15	  8 7	   0
 *  +------------+---------+--------+
 *  |	 tail	 | pending | locked |	tail and queue: see queued.h
 *  +------------+---------+--------+
 *
 *		    free    held   one waits  it is unlocked  handed over
 *  tail,pend,lock  0,0,0   0,0,1    0,1,1	  0,1,0	         0,0,1
 *  and with a queue   n,0,1    n,1,1	  n,1,0	         n,0,1	 n,0,0  -->  the first takes it
 *
 *  Writers: the holder writes the locked byte. The pending waiter writes the low half once the lock
 *  is free. The first queued waiter writes the low half once it is 0, and clears its own tail.
 *
 *  Pairing: [A] acquires from [R], the previous holder's release. [T] [L] [F] [H]: see queued.h.
 */
#include <overlock/lock/impl/queued.h>

typedef struct OL_CAPABILITY ol_qspin {
	uint32_t word;
} ol_qspin_t;

#define OL_QSPIN_INIT	{ 0 }
#define OL_QS_PENDING	0x100u

static inline bool ol_qspin_is_locked(const ol_qspin_t *l)
{
	return ol_load_relaxed(&l->word) != 0;
}

static inline bool ol_qspin_is_contended(const ol_qspin_t *l)
{
	return ol_load_relaxed(&l->word) > OL_Q_LOCKED;
}

static inline bool ol_qspin_trylock(ol_qspin_t *l)
{
	return ol_queued_trylock(&l->word);
}

static inline bool ol_qspin_timedlock(ol_qspin_t *l, ol_ticks_t until)
{
	return ol_queued_poll(&l->word, until);
}

/* Wait until none of these bits is set: from then on only we write the low half. */
static inline void ol_qs_take(ol_qspin_t *l, uint32_t bits)
{
	while (ol_load_acquire(&l->word) & bits) /* [A] */
		ol_relax();
	ol_store_lo_relaxed(&l->word, OL_Q_LOCKED); /* clears pending, if we had set it */
}

/* Wait as pending waiter; false if there already is a waiter. */
static inline bool ol_qs_pend(ol_qspin_t *l)
{
	uint32_t w;

	while (!((w = ol_load_relaxed(&l->word)) & ~OL_Q_LOCKED)) {
		if (!w && ol_cas_acquire(&l->word, w, OL_Q_LOCKED)) /* [A] */
			return true;
		if (w && ol_cas_relaxed(&l->word, w, OL_Q_LOCKED | OL_QS_PENDING)) {
			ol_qs_take(l, OL_Q_LOCKED);
			return true;
		}
	}
	return false;
}

static inline void ol_qs_queue(ol_qspin_t *l, struct ol_node *mine)
{
	struct ol_node *next;

	if (ol_queued_join(&l->word, mine))
		while (ol_load_acquire(&mine->wait)) /* [H] */
			ol_relax();
	ol_qs_take(l, OL_QS_PENDING | OL_Q_LOCKED);
	next = ol_queued_after(&l->word, mine, 0);
	if (next)
		ol_store_release(&next->wait, 0u); /* [H] */
	ol_node_put(mine);
}

static OL_COLD void ol_qspin_lock_slow(ol_qspin_t *l)
{
	struct ol_node *mine;

	ol_count(OL_SLOW_PATH);
	if (ol_qs_pend(l))
		return;
	mine = ol_named_node_get();
	if (mine) {
		ol_qs_queue(l, mine);
		return;
	}
	ol_count(OL_NO_ID);
	ol_queued_poll(&l->word, OL_NEVER);
}

static inline void ol_qspin_lock(ol_qspin_t *l)
{
	if (OL_UNLIKELY(!ol_queued_trylock(&l->word)))
		ol_qspin_lock_slow(l);
}

static inline void ol_qspin_unlock(ol_qspin_t *l)
{
	ol_store_byte_release(&l->word, 0); /* [R] */
}
#endif
