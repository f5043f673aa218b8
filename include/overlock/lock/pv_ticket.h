/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_PV_TICKET_H
#define OL_PV_TICKET_H
/*
 * Paravirtual ticket lock. Rao & Dunlap 2012; Ouyang & Lange 2013, section 5.2; Teabe et al. 2017.
 *
 * A ticket lock whose waiters spin for `spin`, then flag the word and park. A release that finds
 * the word flagged kicks the next waiter. Still FIFO: a waiter that lost its CPU without
 * parking delays all waiters behind it.
 *
 *   31            17 16 15             1  0
 *  +----------------+--+----------------+--+
 *  |      tail      |0 |      head      |S |	tail: next ticket to hand out
 *  +----------------+--+----------------+--+	head: being served	S: some waiter may be parked
 *
 *  S is set by a waiter about to park and cleared only by an acquirer that sees no other waiter. If
 *  the release that kicks one waiter cleared it, the others would sleep for ever.
 *  Release is a 16-bit fetch-add of one ticket, which returns S and cannot carry into tail.
 *
 *  Pairing: [A] acquires from [R], the previous holder's release. [S] and [R] are
 *  read-modify-writes of the same half: either [R] returns the flag, or [S] sees the release.
 */
#include <overlock/port.h>

typedef struct OL_CAPABILITY ol_pv_ticket {
	uint32_t word;
} ol_pv_ticket_t;

#define OL_PV_TICKET_INIT	{ 0 }
#define OL_PVT_SLEEPERS		1u
#define OL_PVT_ONE		2u	/* one ticket */

static inline uint16_t ol_pvt_head(uint32_t word)
{
	return (uint16_t)(ol_lo(word) & ~OL_PVT_SLEEPERS);
}

static inline uint32_t ol_pvt_key(uint16_t ticket)
{
	return ol_key(ticket / OL_PVT_ONE);
}

static inline bool ol_pv_ticket_is_locked(const ol_pv_ticket_t *l)
{
	uint32_t w = ol_load_relaxed(&l->word);

	return ol_pvt_head(w) != ol_hi(w);
}

static inline bool ol_pv_ticket_is_contended(const ol_pv_ticket_t *l)
{
	uint32_t w = ol_load_relaxed(&l->word);

	return (uint16_t)(ol_hi(w) - ol_pvt_head(w)) > OL_PVT_ONE;
}

/* The lock is free, so there are no waiters: take it with the flag cleared. */
static inline bool ol_pv_ticket_trylock(ol_pv_ticket_t *l)
{
	uint32_t w = ol_load_relaxed(&l->word);

	return ol_pvt_head(w) == ol_hi(w) &&
	       ol_cas_acquire(&l->word, w, (w & ~OL_PVT_SLEEPERS) + (OL_PVT_ONE << 16)); /* [A] */
}

/* Spin until we are served; false when the time is up. */
static inline bool ol_pvt_spin(ol_pv_ticket_t *l, uint16_t mine)
{
	ol_ticks_t tired = ol_after(1, ol_tune(spin));

	while (ol_pvt_head(ol_load_acquire(&l->word)) != mine) { /* [A] */
		if (ol_passed(tired))
			return false;
		ol_relax_until(tired);
	}
	return true;
}

/* Sleep until a ticket is served, not necessarily ours. */
static inline void ol_pvt_sleep(ol_pv_ticket_t *l, uint16_t mine)
{
	uint32_t w = ol_or_relaxed(&l->word, OL_PVT_SLEEPERS) | OL_PVT_SLEEPERS; /* [S] */

	if (ol_pvt_head(w) == mine)
		return;
	ol_count(OL_PARK);
	ol_park(&l->word, w, ol_pvt_key(mine), OL_NEVER);
}

/* Without waiters behind us there are no sleepers: clear the flag, to avoid futile kicks. */
static inline void ol_pvt_settle(ol_pv_ticket_t *l, uint16_t mine)
{
	uint32_t w = ol_load_relaxed(&l->word);

	if ((w & OL_PVT_SLEEPERS) && ol_hi(w) == (uint16_t)(mine + OL_PVT_ONE))
		(void)ol_cas_relaxed(&l->word, w, w & ~OL_PVT_SLEEPERS);
}

/* Without an id, our ticket might alias another waiter's: wait outside the queue. */
static inline void ol_pvt_lock_out_of_line(ol_pv_ticket_t *l)
{
	ol_count(OL_NO_ID);
	while (!ol_pv_ticket_trylock(l))
		ol_relax();
}

static OL_COLD void ol_pv_ticket_lock_slow(ol_pv_ticket_t *l)
{
	uint32_t w;
	uint16_t mine;

	ol_count(OL_SLOW_PATH);
	if (!ol_self()) {
		ol_pvt_lock_out_of_line(l);
		return;
	}
	w = ol_add_hi_relaxed(&l->word, OL_PVT_ONE);
	mine = ol_hi(w);
	ol_count_at(OL_QUEUE, (uint16_t)(mine - ol_pvt_head(w)) / OL_PVT_ONE);
	while (!ol_pvt_spin(l, mine))
		ol_pvt_sleep(l, mine);
	ol_pvt_settle(l, mine);
}

static inline void ol_pv_ticket_lock(ol_pv_ticket_t *l)
{
	if (OL_UNLIKELY(!ol_pv_ticket_trylock(l)))
		ol_pv_ticket_lock_slow(l);
}

/* Not inlined. Kicks all sleepers with the next ticket's key, for 32 tickets share a key. */
static OL_COLD void ol_pvt_kick(const uint32_t *word, uint16_t next)
{
	ol_count(OL_KICK);
	ol_kick(word, ol_pvt_key(next), INT32_MAX);
}

static inline void ol_pv_ticket_unlock(ol_pv_ticket_t *l)
{
	uint16_t old = ol_add_lo_release(&l->word, OL_PVT_ONE); /* [R] */

	if (OL_UNLIKELY(old & OL_PVT_SLEEPERS))
		ol_pvt_kick(&l->word, (uint16_t)(ol_pvt_head(old) + OL_PVT_ONE));
}
#endif
