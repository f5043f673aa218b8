/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_TAS_H
#define OL_TAS_H
/*
 * Test-and-set lock: the generic spinlock of all five papers (Teabe et al. 2017, section 2.1).
 *
 * Any running waiter may take the free lock, so a preempted waiter costs the others nothing.
 * Each poll is an exchange and takes the cache line away from the holder. `ttas` avoids this; this
 * lock is the baseline that shows by how much.
 *
 *  word: 1 held, 0 free
 *
 *  Pairing: [A] acquires from [R], the previous holder's release.
 */
#include <overlock/port.h>

typedef struct OL_CAPABILITY ol_tas {
	uint32_t word;
} ol_tas_t;

#define OL_TAS_INIT	{ 0 }

static inline bool ol_tas_is_locked(const ol_tas_t *l)
{
	return ol_load_relaxed(&l->word) != 0;
}

/* The word does not show waiters. */
static inline bool ol_tas_is_contended(const ol_tas_t *l)
{
	(void)l;
	return false;
}

static inline bool ol_tas_trylock(ol_tas_t *l)
{
	return !ol_xchg_acquire(&l->word, 1u); /* [A] */
}

#define OL_POLLED ol_tas
#include <overlock/lock/impl/poll.h>

static inline bool ol_tas_timedlock(ol_tas_t *l, ol_ticks_t until)
{
	return ol_tas_trylock(l) || ol_tas_poll_until(l, until);
}

static OL_COLD void ol_tas_lock_slow(ol_tas_t *l)
{
	ol_tas_poll(l);
}

static inline void ol_tas_lock(ol_tas_t *l)
{
	if (OL_UNLIKELY(!ol_tas_trylock(l)))
		ol_tas_lock_slow(l);
}

static inline void ol_tas_unlock(ol_tas_t *l)
{
	ol_store_release(&l->word, 0u); /* [R] */
}
#endif
