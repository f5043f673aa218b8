/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_PV_PREEMPTABLE_TICKET_H
#define OL_PV_PREEMPTABLE_TICKET_H
/*
 * Paravirtual preemptable ticket lock.
 * Ouyang & Lange: Preemptable Ticket Spinlocks, VEE 2013, section 5.2.
 *
 * As `preemptable_ticket`, but waiters park when the lock stays held for `spin`: by then the holder
 * has lost its CPU, and spinning could keep it from getting one. The order is then given up, so
 * release kicks all sleepers: the next ticket alone might have no sleeper.
 *
 *   31          18 17 16 15           2  1  0
 *  +--------------+-----+--------------+--+--+
 *  |     tail     | 0 0 |     head     |S |H |	S: some waiter may be parked	H: held
 *  +--------------+-----+--------------+--+--+	tail, head: as in preemptable_ticket
 *
 *  S is set only by a compare-exchange that sees H, so S implies H. Release exchanges the low half
 *  for the next head with both flags clear; the S it gets back decides whether to kick.
 *
 *  Pairing: [A] acquires from [R], the previous holder's release. [S] and [R] are
 *  read-modify-writes of the same half, so either the release returns the flag, or [S] fails.
 */
#include <overlock/lock/preemptable_ticket.h>

typedef struct OL_CAPABILITY ol_pv_preemptable_ticket {
	uint32_t word;
} ol_pv_preemptable_ticket_t;

#define OL_PV_PREEMPTABLE_TICKET_INIT	{ 0 }
#define OL_PVPT_SLEEPERS		2u
#define OL_PVPT_ONE			4u	/* one ticket */

static inline bool ol_pv_preemptable_ticket_is_locked(const ol_pv_preemptable_ticket_t *l)
{
	uint32_t w = ol_load_relaxed(&l->word);

	return ol_lo(w) != ol_hi(w); /* held, or granted to a waiter */
}

static inline bool ol_pv_preemptable_ticket_is_contended(const ol_pv_preemptable_ticket_t *l)
{
	return ol_pt_queued(ol_load_relaxed(&l->word), OL_PVPT_ONE);
}

static inline bool ol_pv_preemptable_ticket_trylock(ol_pv_preemptable_ticket_t *l)
{
	uint32_t w = ol_load_relaxed(&l->word);

	return ol_lo(w) == ol_hi(w) &&
	       ol_cas_acquire(&l->word, w, w + (OL_PVPT_ONE << 16) + OL_PT_HELD); /* [A] */
}

/* Sleep until the holder seen in `w` releases, or `until`. */
static inline void ol_pvpt_sleep(ol_pv_preemptable_ticket_t *l, uint32_t w, uint16_t mine,
				 ol_ticks_t until)
{
	uint32_t flagged = w | OL_PVPT_SLEEPERS;

	if (flagged != w && !ol_cas_relaxed(&l->word, w, flagged)) /* [S] */
		return;
	ol_count(OL_PARK);
	ol_park(&l->word, flagged, ol_key(mine / OL_PVPT_ONE), until);
}

/* A waiter that is served, was overtaken, or has timed out competes here. */
static inline bool ol_pvpt_compete(ol_pv_preemptable_ticket_t *l, uint16_t mine, ol_ticks_t until)
{
	ol_ticks_t tired = ol_after(1, ol_tune(spin));

	for (;;) {
		uint32_t w = ol_load_relaxed(&l->word);
		uint16_t low = ol_lo(w);

		if (!(low & OL_PT_HELD)) { /* hence no sleepers' flag */
			if (ol_cas_lo_acquire(&l->word, low, low | OL_PT_HELD)) { /* [A] */
				ol_pt_count_grant(w, mine, OL_PVPT_ONE);
				return true;
			}
		} else if (ol_passed(tired)) {
			ol_pvpt_sleep(l, w, mine, until);
			tired = ol_after(1, ol_tune(spin));
			if (!ol_passed(until))
				continue; /* check first: the lock may be free by now */
		}
		if (ol_passed(until))
			return false;
		ol_relax_until(ol_earlier(tired, until));
	}
}

/* At tau = infinity, no waiter may leave the queue: with a deadline, do not join it. */
static inline bool ol_pvpt_poll(ol_pv_preemptable_ticket_t *l, ol_ticks_t until)
{
	while (!ol_pv_preemptable_ticket_trylock(l)) {
		if (ol_passed(until))
			return false;
		ol_relax_until(until);
	}
	return true;
}

static OL_COLD bool ol_pv_preemptable_ticket_lock_slow(ol_pv_preemptable_ticket_t *l,
						       ol_ticks_t until)
{
	uint32_t w;
	uint16_t mine;

	ol_count(OL_SLOW_PATH);
	if (ol_tune(tau) == OL_NEVER && until != OL_NEVER)
		return ol_pvpt_poll(l, until);
	w = ol_add_hi_relaxed(&l->word, OL_PVPT_ONE);
	mine = ol_hi(w);
	ol_count_at(OL_QUEUE, (uint16_t)(mine - ol_pt_head(w, OL_PVPT_ONE)) / OL_PVPT_ONE);
	if (ol_pt_queue(&l->word, mine, OL_PVPT_ONE, until) && ol_pvpt_compete(l, mine, until))
		return true;
	ol_add_hi_relaxed(&l->word, -OL_PVPT_ONE); /* give the ticket back */
	return false;
}

static inline bool ol_pv_preemptable_ticket_timedlock(ol_pv_preemptable_ticket_t *l,
						      ol_ticks_t until)
{
	return ol_pv_preemptable_ticket_trylock(l) || ol_pv_preemptable_ticket_lock_slow(l, until);
}

static inline void ol_pv_preemptable_ticket_lock(ol_pv_preemptable_ticket_t *l)
{
	if (OL_UNLIKELY(!ol_pv_preemptable_ticket_trylock(l)))
		ol_pv_preemptable_ticket_lock_slow(l, OL_NEVER);
}

/* Not inlined. The lock may be freed by now; only its address is used. */
static OL_COLD void ol_pvpt_kick(const uint32_t *word)
{
	ol_count(OL_KICK);
	ol_kick(word, OL_ANY, INT32_MAX);
}

static inline void ol_pv_preemptable_ticket_unlock(ol_pv_preemptable_ticket_t *l)
{
	uint16_t next = (uint16_t)((ol_load_lo_relaxed(&l->word) | (OL_PVPT_ONE - 1)) + 1);

	if (OL_UNLIKELY(ol_xchg_lo_release(&l->word, next) & OL_PVPT_SLEEPERS)) /* [R] */
		ol_pvpt_kick(&l->word);
}
#endif
