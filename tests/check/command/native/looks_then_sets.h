/* SPDX-License-Identifier: MIT */
#ifndef OL_LOOKS_THEN_SETS_H
#define OL_LOOKS_THEN_SETS_H
/* Two may see it free. */
#include <overlock/port.h>

#define OL_LOCK_LINE	OL_LOCK(looks_then_sets, waits, 0, "mutant", "looks_then_sets")

typedef struct ol_looks_then_sets {
	uint32_t word, event;
} ol_looks_then_sets_t;

static inline bool ol_looks_then_sets_is_locked(const ol_looks_then_sets_t *l)
{
	return ol_load_relaxed(&l->word) != 0;
}

static inline bool ol_looks_then_sets_is_contended(const ol_looks_then_sets_t *l)
{
	(void)l;
	return false;
}

static inline bool ol_looks_then_sets_trylock(ol_looks_then_sets_t *l)
{
	return ol_cas_acquire(&l->word, 0u, 1u);
}

static inline void ol_looks_then_sets_lock(ol_looks_then_sets_t *l)
{
	while (ol_load_acquire(&l->word))
		ol_relax();
	ol_store_relaxed(&l->word, 1u);
}

static inline void ol_looks_then_sets_unlock(ol_looks_then_sets_t *l)
{
	ol_store_release(&l->word, 0u);
}
#endif
