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

static OL_COLD bool ol_tas_yield_lock_slow(ol_tas_yield_t *l, ol_ticks_t until)
{
	ol_ticks_t tired = ol_after(1, ol_tune(spin));

	ol_count(OL_SLOW_PATH);
	do {
		if (ol_passed(until))
			return false;
		if (ol_passed(tired)) {
			ol_count(OL_YIELD);
			ol_yield();
		} else {
			ol_relax_until(ol_earlier(tired, until));
		}
	} while (!ol_tas_yield_trylock(l));
	return true;
}

static inline bool ol_tas_yield_timedlock(ol_tas_yield_t *l, ol_ticks_t until)
{
	return ol_tas_yield_trylock(l) || ol_tas_yield_lock_slow(l, until);
}

static inline void ol_tas_yield_lock(ol_tas_yield_t *l)
{
	if (OL_UNLIKELY(!ol_tas_yield_trylock(l)))
		ol_tas_yield_lock_slow(l, OL_NEVER);
}

static inline void ol_tas_yield_unlock(ol_tas_yield_t *l)
{
	ol_ttas_unlock(&l->word);
}
#endif
