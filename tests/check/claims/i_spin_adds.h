/* SPDX-License-Identifier: MIT */
#ifndef OL_I_SPIN_ADDS_H
#define OL_I_SPIN_ADDS_H
/* I-Spinlock as figure 5 has it: the line is judged by a look, and then joined by an add. */
#define ol_i_spin_lock	ol_i_spin_lock_as_judged
#include <overlock/lock/i_spin.h>
#undef ol_i_spin_lock

static inline void ol_i_spin_lock(ol_i_spin_t *l)
{
	struct ol_slice s = ol_slice_now();
	uint32_t w = ol_load_relaxed(&l->line.word);
	uint16_t tickets = (uint16_t)(ol_hi(w) - ol_lo(w));

	if (!ol_i_spin_is_capable(&s, tickets))
		while (ol_slice_lasts(&s, s.over))
			ol_relax_until(s.over);
	w = ol_add_hi_relaxed(&l->line.word, 1);
	ol_i_spin_queue(&l->line, w, s.id);
}
#endif
