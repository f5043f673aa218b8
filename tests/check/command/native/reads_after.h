/* SPDX-License-Identifier: MIT */
#ifndef OL_READS_AFTER_H
#define OL_READS_AFTER_H
/* Touches the lock when another may have freed it. */
#include <overlock/port.h>

#define OL_LOCK_LINE	OL_LOCK(reads_after, waits, 0, "mutant", "reads_after")

typedef struct ol_reads_after {
	uint32_t word, event;
} ol_reads_after_t;

static inline bool ol_reads_after_is_locked(const ol_reads_after_t *l)
{
	return ol_load_relaxed(&l->word) != 0;
}

static inline bool ol_reads_after_is_contended(const ol_reads_after_t *l)
{
	(void)l;
	return false;
}

static inline bool ol_reads_after_trylock(ol_reads_after_t *l)
{
	return ol_cas_acquire(&l->word, 0u, 1u);
}

static inline void ol_reads_after_lock(ol_reads_after_t *l)
{
	while (!ol_cas_acquire(&l->word, 0u, 1u))
		ol_relax();
}

static inline void ol_reads_after_unlock(ol_reads_after_t *l)
{
	ol_store_release(&l->word, 0u);
	ol_store_relaxed(&l->event, ol_load_relaxed(&l->event) + 1);
}
#endif
