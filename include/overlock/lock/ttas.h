/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_TTAS_H
#define OL_TTAS_H
/*
 * Test-and-test-and-set lock. Teabe et al. 2017, 2.1; Ouyang & Lange 2013, 5.1, note on Figure 3.
 *
 * As `tas`, but waiters read, and exchange only after they have seen the lock free. While it is
 * held, the cache line stays shared among them, and they do not disturb the critical section.
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

/* The word does not show waiters. */
static inline bool ol_ttas_is_contended(const ol_ttas_t *l)
{
	(void)l;
	return false;
}

static inline bool ol_ttas_trylock(ol_ttas_t *l)
{
	return !ol_load_relaxed(&l->word) && !ol_xchg_acquire(&l->word, 1u); /* [A] */
}

#define OL_POLLED ol_ttas
#include <overlock/lock/impl/poll.h>

static inline bool ol_ttas_timedlock(ol_ttas_t *l, ol_ticks_t until)
{
	return ol_ttas_trylock(l) || ol_ttas_poll_until(l, until);
}

static OL_COLD void ol_ttas_lock_slow(ol_ttas_t *l)
{
	ol_ttas_poll(l);
}

/* The lock is usually free, so only the later exchanges are preceded by a load. */
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
