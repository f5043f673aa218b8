/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_TWA_H
#define OL_TWA_H
/*
 * Ticket lock augmented with a waiting array.
 * Dice & Kogan: TWA, Euro-Par 2019, section 2 and Listing 1.1.
 *
 * Waiters with more than `long_term` tickets ahead watch a slot of an array that all locks share.
 * So a release invalidates the caches of the near waiters only.
 *
 *  The lock is the ticket lock's word; the paper calls tail `ticket` and head `grant`.
 *  A slot's value has no meaning; a change of it tells its waiters to read grant again.
 *
 *  Pairing: [A] acquires from [R], the previous holder's release. [W], the waiter's read of its
 *  slot before it reads grant, acquires from [N], the notifier's add after [R]: a waiter that read
 *  the slot after the add sees the new grant; a waiter that read it before will see it change.
 */
#include <overlock/lock/ticket.h>

typedef struct OL_CAPABILITY ol_twa {
	ol_ticket_t line;
} ol_twa_t;

#define OL_TWA_INIT	{ OL_TICKET_INIT }

static inline bool ol_twa_is_locked(const ol_twa_t *l)
{
	return ol_ticket_is_locked(&l->line);
}

static inline bool ol_twa_is_contended(const ol_twa_t *l)
{
	return ol_ticket_is_contended(&l->line);
}

static inline bool ol_twa_trylock(ol_twa_t *l)
{
	return ol_ticket_trylock(&l->line);
}

/*
 * Neighbouring tickets use different cache lines (127 is odd, and nearly 128 bytes of slots), and
 * the address keeps two locks from using the same sequence of slots.
 */
static inline uint64_t *ol_twa_slot(const ol_twa_t *l, uint16_t ticket)
{
	return ol_wait_slot(ticket * 127u ^ (size_t)l);
}

static inline void ol_twa_wait_far(ol_twa_t *l, uint16_t mine)
{
	uint64_t *slot = ol_twa_slot(l, mine), seen;

	ol_count(OL_LONG_TERM);
	for (;;) {
		seen = ol_load_acquire(slot); /* [W] */
		if ((uint16_t)(mine - ol_load_lo_relaxed(&l->line.word)) <= ol_tune(long_term))
			return;
		while (ol_load_relaxed(slot) == seen)
			ol_relax();
	}
}

static OL_COLD void ol_twa_lock_slow(ol_twa_t *l)
{
	uint32_t w;
	uint16_t mine;

	ol_count(OL_SLOW_PATH);
	if (!ol_self()) {
		ol_ticket_lock_out_of_line(&l->line);
		return;
	}
	w = ol_add_hi_relaxed(&l->line.word, 1);
	mine = ol_hi(w);
	ol_count_at(OL_QUEUE, (uint16_t)(mine - ol_lo(w)));
	if ((uint16_t)(mine - ol_lo(w)) > ol_tune(long_term))
		ol_twa_wait_far(l, mine);
	while (ol_load_lo_acquire(&l->line.word) != mine) /* [A] */
		ol_relax();
}

static inline void ol_twa_lock(ol_twa_t *l)
{
	if (OL_UNLIKELY(!ol_ticket_take(&l->line)))
		ol_twa_lock_slow(l);
}

/* Hand over, then notify. The lock may be freed by then; only its address is used. */
static inline void ol_twa_unlock(ol_twa_t *l)
{
	uint16_t next = (uint16_t)(ol_load_lo_relaxed(&l->line.word) + 1);

	ol_store_lo_release(&l->line.word, next);				   /* [R] */
	ol_add_release(ol_twa_slot(l, (uint16_t)(next + ol_tune(long_term))), 1u); /* [N] */
}
#endif
