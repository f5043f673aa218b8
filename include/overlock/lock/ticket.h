/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_TICKET_H
#define OL_TICKET_H
/*
 * Ticket lock: FIFO. Ouyang & Lange 2013, section 2; Dice & Kogan 2019, section 1; Mellor-Crummey
 * and Scott, TOCS 1991.
 *
 * A waiter that loses its CPU delays all waiters behind it until it runs again. This is the lock
 * whose throughput collapses under overcommit, and the baseline of four papers.
 *
 *   31              16 15               0
 *  +------------------+------------------+
 *  |       tail       |       head       |	tail: next ticket to hand out
 *  +------------------+------------------+	head: ticket being served
 *
 *  Free: head == tail. Only the holder writes head, so release is a plain half-store.
 *  ticket_backoff and twa are the same lock, but wait in other ways.
 *
 *  Pairing: [A] acquires from [R], the previous holder's release.
 */
#include <overlock/port.h>

typedef struct OL_CAPABILITY ol_ticket {
	uint32_t word;
} ol_ticket_t;

#define OL_TICKET_INIT	{ 0 }

static inline bool ol_ticket_is_locked(const ol_ticket_t *l)
{
	uint32_t w = ol_load_relaxed(&l->word);

	return ol_lo(w) != ol_hi(w);
}

static inline bool ol_ticket_is_contended(const ol_ticket_t *l)
{
	uint32_t w = ol_load_relaxed(&l->word);

	return (uint16_t)(ol_hi(w) - ol_lo(w)) > 1;
}

static inline bool ol_ticket_trylock(ol_ticket_t *l)
{
	uint32_t w = ol_load_relaxed(&l->word);

	return ol_lo(w) == ol_hi(w) && ol_cas_acquire(&l->word, w, w + (1u << 16)); /* [A] */
}

/* Takes the lock if it is free. It usually is, so no load precedes the compare-exchange. */
static inline bool ol_ticket_take(ol_ticket_t *l)
{
	uint32_t idle = ol_load_lo_relaxed(&l->word) * 0x10001u; /* head in both halves */

	return ol_cas_acquire(&l->word, idle, idle + (1u << 16)); /* [A] */
}

/* Without an id, our ticket might alias another's, and both would enter: do not queue. */
static OL_COLD void ol_ticket_lock_out_of_line(ol_ticket_t *l)
{
	ol_count(OL_NO_ID);
	while (!ol_ticket_trylock(l))
		ol_relax();
}

static OL_COLD void ol_ticket_lock_slow(ol_ticket_t *l)
{
	uint32_t w;
	uint16_t mine;

	ol_count(OL_SLOW_PATH);
	if (!ol_self()) {
		ol_ticket_lock_out_of_line(l);
		return;
	}
	w = ol_add_hi_relaxed(&l->word, 1);
	mine = ol_hi(w);
	ol_count_at(OL_QUEUE, (uint16_t)(mine - ol_lo(w)));
	while (ol_load_lo_acquire(&l->word) != mine) /* [A] */
		ol_relax();
}

static inline void ol_ticket_lock(ol_ticket_t *l)
{
	if (OL_UNLIKELY(!ol_ticket_take(l)))
		ol_ticket_lock_slow(l);
}

static inline void ol_ticket_unlock(ol_ticket_t *l)
{
	ol_bump_lo_release(&l->word, 1); /* [R] */
}
#endif
