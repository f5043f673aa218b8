/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_TICKET_BACKOFF_H
#define OL_TICKET_BACKOFF_H
/*
 * Ticket lock with proportional back-off. 004 section 3; Mellor-Crummey and Scott, TOCS 1991.
 *
 * A waiter with n ahead of it looks again after n * `backoff`: fewer futile looks at head, hence
 * fewer caches for the release to invalidate. The collapse under preemption is the ticket lock's.
 *
 *   31              16 15               0
 *  +------------------+------------------+
 *  |       tail       |       head       |	tail: next ticket to hand out
 *  +------------------+------------------+	head: ticket being served
 *
 *  Pairing: [A] acquires from [R], the previous holder's release.
 */
#include <overlock/port.h>

typedef struct OL_CAPABILITY ol_ticket_backoff {
	uint32_t word;
} ol_ticket_backoff_t;

#define OL_TICKET_BACKOFF_INIT	{ 0 }

static inline bool ol_ticket_backoff_is_locked(const ol_ticket_backoff_t *l)
{
	uint32_t w = ol_load_relaxed(&l->word);

	return ol_lo(w) != ol_hi(w);
}

static inline bool ol_ticket_backoff_is_contended(const ol_ticket_backoff_t *l)
{
	uint32_t w = ol_load_relaxed(&l->word);

	return (uint16_t)(ol_hi(w) - ol_lo(w)) > 1;
}

static inline bool ol_ticket_backoff_trylock(ol_ticket_backoff_t *l)
{
	uint32_t w = ol_load_relaxed(&l->word);

	return ol_lo(w) == ol_hi(w) && ol_cas_acquire(&l->word, w, w + (1u << 16)); /* [A] */
}

/* Takes the lock if it is free. Free is the common case: no look before the compare-exchange. */
static inline bool ol_ticket_backoff_take(ol_ticket_backoff_t *l)
{
	uint32_t idle = ol_load_lo_relaxed(&l->word) * 0x10001u; /* head in both halves */

	return ol_cas_acquire(&l->word, idle, idle + (1u << 16)); /* [A] */
}

/* Stay away for `ahead` critical sections or so. */
static inline void ol_ticket_backoff_pause(unsigned ahead)
{
	ol_ticks_t again = ol_after(ahead, ol_tune(backoff));

	do {
		ol_relax_until(again);
	} while (!ol_passed(again));
}

static OL_COLD void ol_ticket_backoff_lock_slow(ol_ticket_backoff_t *l)
{
	uint16_t mine, ahead;

	ol_count(OL_SLOW_PATH);
	if (!ol_self()) { /* our ticket might alias another waiter's */
		ol_count(OL_NO_ID);
		while (!ol_ticket_backoff_trylock(l))
			ol_relax();
		return;
	}
	mine = ol_hi(ol_add_hi_relaxed(&l->word, 1));
	while ((ahead = (uint16_t)(mine - ol_load_lo_acquire(&l->word)))) /* [A] */
		ol_ticket_backoff_pause(ahead);
}

static inline void ol_ticket_backoff_lock(ol_ticket_backoff_t *l)
{
	if (OL_UNLIKELY(!ol_ticket_backoff_take(l)))
		ol_ticket_backoff_lock_slow(l);
}

static inline void ol_ticket_backoff_unlock(ol_ticket_backoff_t *l)
{
	ol_bump_lo_release(&l->word, 1); /* [R] */
}
#endif
