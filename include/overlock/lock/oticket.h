/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_OTICKET_H
#define OL_OTICKET_H
/*
 * Opportunistic ticket lock. Kashyap, Min, Kim: Scalability in the Clouds, APSys 2015; described in
 * Teabe et al. 2017, section 3.2, and compared with in section 5.5.
 *
 * As `pv_ticket`, but a waiter with at most `near` tickets ahead spins for `near_spin`, longer than
 * the others: it is so close to the head that sleeping and waking would cost more. A release that
 * finds the word flagged kicks the next waiter and the one that has just become near, so that the
 * latter is awake in time. Only the first kick is necessary; the second is the optimization.
 *
 *  The word, its flag and the memory orders are those of `pv_ticket`.
 */
#include <overlock/lock/pv_ticket.h>

typedef struct OL_CAPABILITY ol_oticket {
	ol_pv_ticket_t line;
} ol_oticket_t;

#define OL_OTICKET_INIT	{ OL_PV_TICKET_INIT }

static inline bool ol_oticket_is_locked(const ol_oticket_t *l)
{
	return ol_pv_ticket_is_locked(&l->line);
}

static inline bool ol_oticket_is_contended(const ol_oticket_t *l)
{
	return ol_pv_ticket_is_contended(&l->line);
}

static inline bool ol_oticket_trylock(ol_oticket_t *l)
{
	return ol_pv_ticket_trylock(&l->line);
}

static inline bool ol_oticket_is_near(uint16_t head, uint16_t mine)
{
	return (uint16_t)(mine - head) / OL_PVT_ONE <= ol_tune(near);
}

/* Spin until we are served, for longer once we are near; false when the time is up. */
static inline bool ol_oticket_spin(ol_oticket_t *l, uint16_t mine)
{
	uint16_t head = ol_pvt_head(ol_load_acquire(&l->line.word)); /* [A] */
	bool near = ol_oticket_is_near(head, mine);
	ol_ticks_t tired = ol_after(1, near ? ol_tune(near_spin) : ol_tune(spin));

	while (head != mine) {
		if (!near && ol_oticket_is_near(head, mine)) {
			near = true;
			tired = ol_after(1, ol_tune(near_spin));
		}
		if (ol_passed(tired))
			return false;
		ol_relax_until(tired);
		head = ol_pvt_head(ol_load_acquire(&l->line.word)); /* [A] */
	}
	return true;
}

static OL_COLD void ol_oticket_lock_slow(ol_oticket_t *l)
{
	uint32_t w;
	uint16_t mine;

	ol_count(OL_SLOW_PATH);
	if (!ol_self()) {
		ol_pvt_lock_out_of_line(&l->line);
		return;
	}
	w = ol_add_hi_relaxed(&l->line.word, OL_PVT_ONE);
	mine = ol_hi(w);
	ol_count_at(OL_QUEUE, (uint16_t)(mine - ol_pvt_head(w)) / OL_PVT_ONE);
	while (!ol_oticket_spin(l, mine))
		ol_pvt_sleep(&l->line, mine);
	ol_pvt_settle(&l->line, mine);
}

static inline void ol_oticket_lock(ol_oticket_t *l)
{
	if (OL_UNLIKELY(!ol_oticket_trylock(l)))
		ol_oticket_lock_slow(l);
}

/* Not inlined. Kicks the next waiter, and the one that has just become near. */
static OL_COLD void ol_oticket_kick(const uint32_t *word, uint16_t next)
{
	uint16_t near = (uint16_t)(next + ol_tune(near) * OL_PVT_ONE);

	ol_count(OL_KICK);
	ol_kick(word, ol_pvt_key(next) | ol_pvt_key(near), INT32_MAX);
}

static inline void ol_oticket_unlock(ol_oticket_t *l)
{
	uint16_t old = ol_add_lo_release(&l->line.word, OL_PVT_ONE); /* [R] */

	if (OL_UNLIKELY(old & OL_PVT_SLEEPERS))
		ol_oticket_kick(&l->line.word, (uint16_t)(ol_pvt_head(old) + OL_PVT_ONE));
}
#endif
