/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OVERLOCK_BUSTED_H
#define OVERLOCK_BUSTED_H
/*
 * A lock that excludes nobody who comes at the same time: it looks and then sets, as two steps.
 * A test of spinlocks that passes under it tests nothing. For a kernel that may crash.
 */
#include <overlock/port.h>

typedef struct ol_busted {
	uint32_t word;
} ol_busted_t;

#define OL_BUSTED_BETWEEN	20	/* pauses, so that it does not take hours to show */

static inline bool ol_busted_is_locked(const ol_busted_t *l)
{
	return ol_load_relaxed(&l->word) != 0;
}

static inline bool ol_busted_is_contended(const ol_busted_t *l)
{
	return false;
}

static inline bool ol_busted_trylock(ol_busted_t *l)
{
	int i;

	if (ol_load_relaxed(&l->word))
		return false;
	for (i = 0; i < OL_BUSTED_BETWEEN; i++)
		ol_relax();
	ol_store_relaxed(&l->word, 1);
	return true;
}

static inline void ol_busted_lock(ol_busted_t *l)
{
	while (!ol_busted_trylock(l))
		ol_relax();
}

static inline void ol_busted_unlock(ol_busted_t *l)
{
	ol_store_release(&l->word, 0);
}
#endif
