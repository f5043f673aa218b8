/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_PACED_H
#define OL_PACED_H
/*
 * Test-and-set lock whose waiters pace their looks: exponential back-off (Anderson 1990), and yields only where
 * another thread wants the CPU. Our own.
 *
 * With short sections, a hand-over between CPUs costs more than the section: the lock and what it guards move
 * from cache to cache. A waiter that looks seldom leaves them where they are. So its pauses double, and those
 * that wait for long leave the lock to the few that use it now.
 *
 * After `spin` it yields after each look, since the holder may have no CPU. If a yield lets others run, there
 * are more threads than CPUs, and pauses get short: they keep a CPU from the holder. If none does, the waiter
 * does not ask again for as long as its longest pause.
 *
 * Fast and unfair: a waiter can be overtaken without bound (docs/choosing.md).
 *
 *  The word and the memory orders are those of `ttas`.
 */
#include <overlock/lock/ttas.h>

typedef struct OL_CAPABILITY ol_paced {
	ol_ttas_t word;
} ol_paced_t;

#define OL_PACED_INIT		{ OL_TTAS_INIT }

/* In pauses of the shortest kind. */
#define OL_PACED_PACE		32u
#define OL_PACED_LONGEST	(32u * OL_PACED_PACE)
#define OL_PACED_CROWDED	(2u * OL_PACED_PACE)

static inline bool ol_paced_is_locked(const ol_paced_t *l)
{
	return ol_ttas_is_locked(&l->word);
}

static inline bool ol_paced_is_contended(const ol_paced_t *l)
{
	return ol_ttas_is_contended(&l->word);
}

static inline bool ol_paced_trylock(ol_paced_t *l)
{
	return ol_ttas_trylock(&l->word);
}

static inline ol_ticks_t ol_paced_after(uint32_t pauses)
{
	return ol_after(pauses, ol_tune(pace) / OL_PACED_PACE);
}

static inline void ol_paced_pause(uint32_t pauses, ol_ticks_t until)
{
	ol_ticks_t again = ol_earlier(ol_paced_after(pauses), until);

	do {
		ol_relax_until(again);
	} while (!ol_passed(again));
}

/* The longest pause from now on. A yield shorter than two context switches (`pace`) let nobody else run. */
static inline uint32_t ol_paced_yield(ol_ticks_t *asks)
{
	ol_ticks_t switched = ol_after(1, ol_tune(pace));

	ol_count(OL_YIELD);
	ol_yield();
	if (ol_passed(switched))
		return OL_PACED_CROWDED;
	*asks = ol_paced_after(OL_PACED_LONGEST);
	return OL_PACED_LONGEST;
}

static OL_COLD bool ol_paced_lock_slow(ol_paced_t *l, ol_ticks_t until)
{
	ol_ticks_t asks = ol_after(1, ol_tune(spin));
	uint32_t pauses = 1, longest = OL_PACED_LONGEST;

	ol_count(OL_SLOW_PATH);
	for (;;) {
		ol_paced_pause(pauses, until);
		if (ol_paced_trylock(l))
			return true;
		if (ol_passed(until))
			return false;
		if (ol_passed(asks))
			longest = ol_paced_yield(&asks);
		pauses = 2 * pauses < longest ? 2 * pauses : longest;
	}
}

static inline bool ol_paced_timedlock(ol_paced_t *l, ol_ticks_t until)
{
	return ol_paced_trylock(l) || ol_paced_lock_slow(l, until);
}

static inline void ol_paced_lock(ol_paced_t *l)
{
	if (OL_UNLIKELY(!ol_paced_trylock(l)))
		ol_paced_lock_slow(l, OL_NEVER);
}

static inline void ol_paced_unlock(ol_paced_t *l)
{
	ol_ttas_unlock(&l->word);
}
#endif
