/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_TAS_YIELD_H
#define OL_TAS_YIELD_H
/*
 * Test-and-set lock that yields: the common answer to overcommit in user space, and the baseline to
 * beat. After a short spin, a waiter yields its CPU, perhaps to the holder, before each poll.
 *
 * Fast and unfair: a waiter can be overtaken without bound (docs/choosing.md).
 *
 *  The word and the memory orders are those of `ttas`.
 */
#include <overlock/lock/ttas.h>

typedef struct OL_CAPABILITY ol_tas_yield {
	ol_ttas_t word;
} ol_tas_yield_t;

#define OL_TAS_YIELD_INIT	{ OL_TTAS_INIT }

static inline bool ol_tas_yield_is_locked(const ol_tas_yield_t *l)
{
	return ol_ttas_is_locked(&l->word);
}

static inline bool ol_tas_yield_is_contended(const ol_tas_yield_t *l)
{
	return ol_ttas_is_contended(&l->word);
}

static inline bool ol_tas_yield_trylock(ol_tas_yield_t *l)
{
	return ol_ttas_trylock(&l->word);
}

#define OL_YIELDING ol_tas_yield
#include <overlock/lock/impl/yielding.h>

static inline void ol_tas_yield_unlock(ol_tas_yield_t *l)
{
	ol_ttas_unlock(&l->word);
}
#endif
