/* SPDX-License-Identifier: MIT */
#ifndef OL_I_SPIN_H
#define OL_I_SPIN_H
/*
 * I-Spinlock: a ticket lock that hands out a ticket only to whoever has time enough left to use it.
 * Teabe, Nitu, Tchana, Hagimont: I-Spinlock, EuroSys 2017 (002), section 4 and Figure 5, HVM form.
 *
 * Capable is whose slice lasts longer than the critical sections of all that hold a ticket, and its
 * own. The others spin until their next slice and judge again; after a whole slice in which they
 * were incapable they take a ticket nevertheless, or a slice shorter than the line would keep them
 * for ever. The word that was judged is the word that is changed: between looking at the line and
 * joining it, others may join.
 *
 *   31              16 15               0
 *  +------------------+------------------+
 *  |       tail       |       head       |	as in ticket
 *  +------------------+------------------+
 *
 *  Pairing: [A] acquires from [R], the previous holder's release.
 */
#include <overlock/port.h>

#define OL_LOCK_LINE	OL_LOCK(i_spin, waits, OL_FITS4, "002 4", "ticket only in a long enough slice")

#ifndef OL_I_SPIN_CSD
#define OL_I_SPIN_CSD	1 /* ticks of a critical section */
#endif
#ifndef OL_I_SPIN_SLICES
#define OL_I_SPIN_SLICES	2u /* ends of a slice that it waits for; Figure 5: 1 */
#endif

typedef struct ol_i_spin {
	uint32_t word;
} ol_i_spin_t;

static inline bool ol_i_spin_is_locked(const ol_i_spin_t *l)
{
	uint32_t w = ol_load_relaxed(&l->word);

	return ol_lo(w) != ol_hi(w);
}

static inline bool ol_i_spin_is_contended(const ol_i_spin_t *l)
{
	uint32_t w = ol_load_relaxed(&l->word);

	return (uint16_t)(ol_hi(w) - ol_lo(w)) > 1;
}

static inline bool ol_i_spin_trylock(ol_i_spin_t *l)
{
	uint32_t w = ol_load_relaxed(&l->word);

	return ol_lo(w) == ol_hi(w) && ol_cas_acquire(&l->word, w, w + (1u << 16)); /* [A] */
}

/* When this slice ends, and which it is: both of the same one. */
static inline ol_ticks_t ol_i_spin_slice(uint64_t *id)
{
	ol_ticks_t end;

	do {
		*id = ol_slice_id();
		end = ol_slice_end();
	} while (ol_slice_id() != *id);
	return end;
}

static inline bool ol_i_spin_capable(uint32_t word, ol_ticks_t end)
{
	unsigned tickets = (uint16_t)(ol_hi(word) - ol_lo(word)); /* the holder's among them */

	return ol_before(ol_after(tickets + 1, OL_I_SPIN_CSD), end);
}

static inline uint16_t ol_i_spin_ticket(ol_i_spin_t *l)
{
	for (unsigned slices = 0; slices < OL_I_SPIN_SLICES;) {
		uint64_t id;
		ol_ticks_t end = ol_i_spin_slice(&id);
		uint32_t w = ol_load_relaxed(&l->word);

		if (ol_i_spin_capable(w, end)) {
			if (ol_cas_relaxed(&l->word, w, w + (1u << 16)))
				return ol_hi(w);
			continue; /* others joined or left: judge anew */
		}
		do
			ol_relax_until(end);
		while (ol_slice_id() == id);
		slices++;
	}
	return ol_hi(ol_add_hi_relaxed(&l->word, 1));
}

static inline void ol_i_spin_lock(ol_i_spin_t *l)
{
	uint16_t mine = ol_i_spin_ticket(l);

	while (ol_load_lo_acquire(&l->word) != mine) /* [A] */
		ol_relax();
}

static inline void ol_i_spin_unlock(ol_i_spin_t *l)
{
	ol_bump_lo_release(&l->word, 1); /* [R] */
}
#endif
