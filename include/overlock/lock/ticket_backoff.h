/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_TICKET_BACKOFF_H
#define OL_TICKET_BACKOFF_H
/*
 * Ticket lock with proportional back-off. Dice & Kogan 2019, 3; Mellor-Crummey, Scott, TOCS 1991.
 *
 * A waiter with n ahead of it polls again after n * `backoff`. Fewer futile reads of head leave
 * fewer caches for a release to invalidate. Under preemption it collapses as the ticket lock does.
 *
 *  Pairing: [A] acquires from the ticket lock's [R].
 */
#include <overlock/lock/ticket.h>

typedef struct OL_CAPABILITY ol_ticket_backoff {
	ol_ticket_t line;
} ol_ticket_backoff_t;

#define OL_TICKET_BACKOFF_INIT	{ OL_TICKET_INIT }

static inline bool ol_ticket_backoff_is_locked(const ol_ticket_backoff_t *l)
{
	return ol_ticket_is_locked(&l->line);
}

static inline bool ol_ticket_backoff_is_contended(const ol_ticket_backoff_t *l)
{
	return ol_ticket_is_contended(&l->line);
}

static inline bool ol_ticket_backoff_trylock(ol_ticket_backoff_t *l)
{
	return ol_ticket_trylock(&l->line);
}

/* Pause for about `ahead` critical sections. */
static inline void ol_ticket_backoff_pause(unsigned ahead)
{
	ol_ticks_t again = ol_after(ahead, ol_tune(backoff));

	ol_count_at(OL_WAIT, ahead);
	do {
		ol_relax_until(again);
	} while (!ol_passed(again));
}

static OL_COLD void ol_ticket_backoff_lock_slow(ol_ticket_backoff_t *l)
{
	uint32_t *word = &l->line.word;
	uint32_t w;
	uint16_t mine, ahead;

	ol_count(OL_SLOW_PATH);
	if (!ol_self()) {
		ol_ticket_lock_out_of_line(&l->line);
		return;
	}
	w = ol_add_hi_relaxed(word, 1);
	mine = ol_hi(w);
	ol_count_at(OL_QUEUE, (uint16_t)(mine - ol_lo(w)));
	while ((ahead = (uint16_t)(mine - ol_load_lo_acquire(word)))) /* [A] */
		ol_ticket_backoff_pause(ahead);
}

static inline void ol_ticket_backoff_lock(ol_ticket_backoff_t *l)
{
	if (OL_UNLIKELY(!ol_ticket_take(&l->line)))
		ol_ticket_backoff_lock_slow(l);
}

static inline void ol_ticket_backoff_unlock(ol_ticket_backoff_t *l)
{
	ol_ticket_unlock(&l->line);
}
#endif
