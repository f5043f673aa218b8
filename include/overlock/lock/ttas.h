/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_TTAS_H
#define OL_TTAS_H
/*
 * Test-and-test-and-set lock. 002 section 2.1; 000 section 5.1, note on Figure 3.
 *
 * `tas`, but waiters read and exchange only when they have seen the lock free: while it is held the
 * line stays shared among them and the holder's critical section is left alone.
 *
 *  word: 1 held, 0 free
 *
 *  Pairing: [A] acquires from [R], the previous holder's release.
 */
#include <overlock/port.h>

typedef struct OL_CAPABILITY ol_ttas {
	uint32_t word;
} ol_ttas_t;

#define OL_TTAS_INIT	{ 0 }

static inline bool ol_ttas_is_locked(const ol_ttas_t *l)
{
	return ol_load_relaxed(&l->word) != 0;
}

/* The word does not show who waits. */
static inline bool ol_ttas_is_contended(const ol_ttas_t *l)
{
	(void)l;
	return false;
}

static inline bool ol_ttas_trylock(ol_ttas_t *l)
{
	return !ol_load_relaxed(&l->word) && !ol_xchg_acquire(&l->word, 1u); /* [A] */
}

static inline bool ol_ttas_timedlock(ol_ttas_t *l, ol_ticks_t until)
{
	if (ol_ttas_trylock(l))
		return true;
	ol_count(OL_SLOW_PATH);
	do {
		if (ol_passed(until))
			return false;
		ol_relax_until(until);
	} while (!ol_ttas_trylock(l));
	return true;
}

static OL_COLD void ol_ttas_lock_slow(ol_ttas_t *l)
{
	ol_count(OL_SLOW_PATH);
	do {
		ol_relax();
	} while (!ol_ttas_trylock(l));
}

/* Free is the common case, so the first exchange is not preceded by a look; all later ones are. */
static inline void ol_ttas_lock(ol_ttas_t *l)
{
	if (OL_UNLIKELY(ol_xchg_acquire(&l->word, 1u))) /* [A] */
		ol_ttas_lock_slow(l);
}

static inline void ol_ttas_unlock(ol_ttas_t *l)
{
	ol_store_release(&l->word, 0u); /* [R] */
}
#endif
