/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_PACED_H
#define OL_PACED_H
/*
 * Test-and-set lock whose waiters leave it alone while it changes hands quickly. Our own.
 *
 * With short sections, a hand-over between CPUs costs more than the section: the lock and what it guards
 * move from cache to cache. The lock counts its releases. A waiter that sees more of them than one per
 * `pace` waits for `pace` before it looks again, and the CPU that has the lock in its cache goes on. If it
 * sees fewer, sections are long or their holder is preempted: it polls, and yields before each look once it
 * has waited for `spin`, as in `tas_yield`.
 *
 * Fast and unfair: a waiter can be overtaken without bound (docs/choosing.md).
 *
 *  word: [held:16 | releases:16]
 *
 *  held: 1 held, 0 free
 *  releases: only the holder writes it, so it needs no atomic addition
 *
 *  Pairing: [A] acquires from [R], the previous holder's release.
 */
#include <overlock/port.h>

typedef struct OL_CAPABILITY ol_paced {
	uint32_t word;
} ol_paced_t;

#define OL_PACED_INIT	{ 0 }

static inline bool ol_paced_is_locked(const ol_paced_t *l)
{
	return ol_load_hi_relaxed(&l->word) != 0;
}

/* The word does not show waiters. */
static inline bool ol_paced_is_contended(const ol_paced_t *l)
{
	(void)l;
	return false;
}

static inline bool ol_paced_trylock(ol_paced_t *l)
{
	return !ol_load_hi_relaxed(&l->word) && !ol_xchg_hi_acquire(&l->word, 1); /* [A] */
}

/* Whether there was more than one release, and more than one per `pace`, since then. */
static inline bool ol_paced_is_quick(const ol_paced_t *l, uint16_t then, ol_ticks_t since)
{
	uint16_t releases = (uint16_t)(ol_load_lo_relaxed(&l->word) - then);

	return releases > 1 && !ol_passed(ol_later(since, releases, ol_tune(pace)));
}

static inline void ol_paced_pause(ol_ticks_t span, ol_ticks_t until)
{
	ol_ticks_t again = ol_earlier(ol_after(1, span), until);

	do {
		ol_relax_until(again);
	} while (!ol_passed(again));
}

static OL_COLD bool ol_paced_lock_slow(ol_paced_t *l, ol_ticks_t until)
{
	uint16_t then = ol_load_lo_relaxed(&l->word);
	ol_ticks_t since = ol_now(), tired = ol_later(since, 1, ol_tune(spin));

	ol_count(OL_SLOW_PATH);
	ol_paced_pause(ol_tune(pace) / 4, until); /* to see how quick it is */
	for (;;) {
		bool is_quick = ol_paced_is_quick(l, then, since);

		if (ol_passed(until))
			return false;
		if (is_quick)
			ol_paced_pause(ol_tune(pace), until);
		else
			ol_relax_until(ol_earlier(tired, until));
		if (ol_paced_trylock(l))
			return true;
		if (ol_passed(tired)) {
			ol_count(OL_YIELD);
			ol_yield();
		}
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
	ol_store_lo_relaxed(&l->word, (uint16_t)(ol_load_lo_relaxed(&l->word) + 1));
	ol_store_hi_release(&l->word, 0); /* [R] */
}
#endif
