/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_I_SPIN_PV_H
#define OL_I_SPIN_PV_H
/*
 * I-Spinlock, PV form.
 * Teabe et al.: I-Spinlock, EuroSys 2017, section 4 and Figure 5.
 *
 * As `i_spin`, but an incapable context gives its CPU away until its slice is over instead of
 * spinning, so that the contexts it waits for can run: it halts, or asks the hypervisor, as the
 * platform can. In both forms, a context with a ticket spins.
 *
 *  The word and the memory orders are those of `ticket`.
 */
#include <overlock/lock/i_spin.h>

typedef struct OL_CAPABILITY ol_i_spin_pv {
	ol_ticket_t line;
} ol_i_spin_pv_t;

#define OL_I_SPIN_PV_INIT	{ OL_TICKET_INIT }

/* Gives the CPU away until the slice is over, or `until`. */
static inline void ol_slice_yield(const struct ol_slice *s, ol_ticks_t until)
{
	while (ol_slice_lasts(s, until)) {
		ol_count(OL_YIELD);
		ol_yield_until(until);
	}
}

static inline bool ol_i_spin_pv_is_locked(const ol_i_spin_pv_t *l)
{
	return ol_ticket_is_locked(&l->line);
}

static inline bool ol_i_spin_pv_is_contended(const ol_i_spin_pv_t *l)
{
	return ol_ticket_is_contended(&l->line);
}

static inline bool ol_i_spin_pv_trylock(ol_i_spin_pv_t *l)
{
	return ol_ticket_trylock(&l->line);
}

static inline void ol_i_spin_pv_lock(ol_i_spin_pv_t *l)
{
	unsigned slices = 0;
	struct ol_slice s;

	while (!ol_i_spin_join(&l->line, slices++, &s)) {
		ol_slice_yield(&s, s.over);
		ol_i_spin_await_next(&s);
	}
}

static inline void ol_i_spin_pv_unlock(ol_i_spin_pv_t *l)
{
	ol_ticket_unlock(&l->line);
}
#endif
