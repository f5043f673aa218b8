/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_PREEMPTABLE_TICKET_H
#define OL_PREEMPTABLE_TICKET_H
/*
 * Preemptable ticket lock.
 * Ouyang & Lange: Preemptable Ticket Spinlocks, VEE 2013, sections 4 and 5.1.
 *
 * A ticket lock whose n-th waiter may take the lock out of order once it has waited n * tau: a
 * waiter that lost its CPU then costs the others about tau instead of a time slice. tau = 0 is
 * a generic spinlock, tau = infinity a ticket lock.
 *
 *   31            17 16 15             1  0
 *  +----------------+--+----------------+--+
 *  |      tail      |0 |      head      |H |	tail: next ticket to hand out	H: held
 *  +----------------+--+----------------+--+	head: grants made so far
 *
 *  Release stores low + 1: it clears H and advances head at once, and only the holder
 *  stores there while H is set, so the store need not be atomic. Exclusion rests on H
 *  alone. Tickets are hints, so a waiter that gives up may take one back from tail.
 *
 *  Pairing: [A] acquires from [R], the previous holder's release.
 */
#include <overlock/port.h>

typedef struct OL_CAPABILITY ol_preemptable_ticket {
	uint32_t word;
} ol_preemptable_ticket_t;

#define OL_PREEMPTABLE_TICKET_INIT	{ 0 }
#define OL_PT_HELD			1u
#define OL_PT_ONE			2u	/* one ticket; the bits below are flags */

/*
 * The queue, for any layout of tail and head in which a ticket counts `one` and the bits below it
 * are flags: pv_preemptable_ticket has two flags.
 */
static inline uint16_t ol_pt_head(uint32_t word, unsigned one)
{
	return (uint16_t)(ol_lo(word) & ~(one - 1));
}

/* Waiters ahead of ticket `mine`; 0 if we are served, or were overtaken while we slept. */
static inline unsigned ol_pt_ahead(uint32_t word, uint16_t mine, unsigned one)
{
	uint16_t head = ol_pt_head(word, one);
	uint16_t ahead = (uint16_t)(mine - head), handed_out = (uint16_t)(ol_hi(word) - head);

	return ahead < handed_out ? ahead / one : 0;
}

/* More tickets handed out than the holder's, or the lock is granted to a waiter. */
static inline bool ol_pt_queued(uint32_t word, unsigned one)
{
	unsigned tickets = (uint16_t)(ol_hi(word) - ol_pt_head(word, one)) / one;

	return tickets > (ol_lo(word) & OL_PT_HELD);
}

/* How long to wait at our position. */
static inline ol_ticks_t ol_pt_patience(uint32_t word, uint16_t mine, unsigned one)
{
	unsigned ahead = ol_pt_ahead(word, mine, one);

	ol_count_at(OL_WAIT, ahead);
	return ol_after(ahead, ol_tune(tau));
}

/* Wait for our ticket, at most n * tau after head last moved; false if `until` came first. */
static inline bool ol_pt_queue(const uint32_t *word, uint16_t mine, unsigned one, ol_ticks_t until)
{
	uint32_t w = ol_load_relaxed(word);
	uint16_t head = ol_pt_head(w, one);
	ol_ticks_t due = ol_pt_patience(w, mine, one);

	while (ol_pt_ahead(w, mine, one)) {
		if (ol_pt_head(w, one) != head) { /* a new, shorter wait */
			head = ol_pt_head(w, one);
			due = ol_pt_patience(w, mine, one);
		}
		if (ol_passed(due)) {
			ol_count_at(OL_TIMEOUT, ol_pt_ahead(w, mine, one));
			return true;
		}
		if (ol_passed(until))
			return false;
		ol_relax_until(ol_earlier(due, until));
		w = ol_load_relaxed(word);
	}
	return true;
}

/* Served ahead of earlier tickets, or after later ones (a negative position, section 4.1)? */
static inline void ol_pt_count_grant(uint32_t word, uint16_t mine, unsigned one)
{
	unsigned ahead = ol_pt_ahead(word, mine, one);

	if (ahead)
		ol_count_at(OL_OUT_OF_ORDER, ahead);
	else if (ol_pt_head(word, one) != mine)
		ol_count_at(OL_OVERTAKEN, (uint16_t)(ol_pt_head(word, one) - mine) / one);
}

static inline bool ol_preemptable_ticket_is_locked(const ol_preemptable_ticket_t *l)
{
	uint32_t w = ol_load_relaxed(&l->word);

	return ol_lo(w) != ol_hi(w); /* held, or granted to a waiter */
}

static inline bool ol_preemptable_ticket_is_contended(const ol_preemptable_ticket_t *l)
{
	return ol_pt_queued(ol_load_relaxed(&l->word), OL_PT_ONE);
}

static inline bool ol_preemptable_ticket_trylock(ol_preemptable_ticket_t *l)
{
	uint32_t w = ol_load_relaxed(&l->word);

	return ol_lo(w) == ol_hi(w) &&
	       ol_cas_acquire(&l->word, w, w + (OL_PT_ONE << 16) + OL_PT_HELD); /* [A] */
}

/* A waiter that is served, was overtaken, or has timed out competes here. */
static inline bool ol_pt_compete(ol_preemptable_ticket_t *l, uint16_t mine, ol_ticks_t until)
{
	for (;;) {
		uint32_t w = ol_load_relaxed(&l->word);
		uint16_t low = ol_lo(w);

		if (!(low & OL_PT_HELD) &&
		    ol_cas_lo_acquire(&l->word, low, low | OL_PT_HELD)) { /* [A] */
			ol_pt_count_grant(w, mine, OL_PT_ONE);
			return true;
		}
		if (ol_passed(until))
			return false;
		ol_relax_until(until);
	}
}

/* At tau = infinity, no waiter may leave the queue: with a deadline, do not join it. */
static inline bool ol_pt_poll(ol_preemptable_ticket_t *l, ol_ticks_t until)
{
	while (!ol_preemptable_ticket_trylock(l)) {
		if (ol_passed(until))
			return false;
		ol_relax_until(until);
	}
	return true;
}

static OL_COLD bool ol_preemptable_ticket_lock_slow(ol_preemptable_ticket_t *l, ol_ticks_t until)
{
	uint32_t w;
	uint16_t mine;

	ol_count(OL_SLOW_PATH);
	if (ol_tune(tau) == OL_NEVER && until != OL_NEVER)
		return ol_pt_poll(l, until);
	w = ol_add_hi_relaxed(&l->word, OL_PT_ONE);
	mine = ol_hi(w);
	ol_count_at(OL_QUEUE, (uint16_t)(mine - ol_pt_head(w, OL_PT_ONE)) / OL_PT_ONE);
	if (ol_pt_queue(&l->word, mine, OL_PT_ONE, until) && ol_pt_compete(l, mine, until))
		return true;
	ol_add_hi_relaxed(&l->word, -OL_PT_ONE); /* give the ticket back */
	return false;
}

static inline bool ol_preemptable_ticket_timedlock(ol_preemptable_ticket_t *l, ol_ticks_t until)
{
	return ol_preemptable_ticket_trylock(l) || ol_preemptable_ticket_lock_slow(l, until);
}

static inline void ol_preemptable_ticket_lock(ol_preemptable_ticket_t *l)
{
	if (OL_UNLIKELY(!ol_preemptable_ticket_trylock(l)))
		ol_preemptable_ticket_lock_slow(l, OL_NEVER);
}

static inline void ol_preemptable_ticket_unlock(ol_preemptable_ticket_t *l)
{
	ol_bump_lo_release(&l->word, 1); /* [R] */
}
#endif
