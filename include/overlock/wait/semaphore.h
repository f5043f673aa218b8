/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_WAIT_SEMAPHORE_H
#define OL_WAIT_SEMAPHORE_H
/*
 * Counting semaphore: Dijkstra 1965. Two of them are the waiting side of a queue with several producers and
 * consumers: one counts the items, the other the free places.
 *
 *	ol_semaphore_take(&items);	ol_semaphore_give(&items, 1);
 *
 * Who comes while there are units takes one, even if others sleep.
 *
 * Pairing: [T] acquires from each [G] before it, in one release sequence.
 */
#include <overlock/wait/until.h>

typedef struct ol_semaphore {
	uint32_t units;
} ol_semaphore_t;

#define OL_SEMAPHORE_INIT	{ 0 }

/* Acquires. False if there is no unit. */
static inline bool ol_semaphore_trytake(ol_semaphore_t *s)
{
	uint32_t units = ol_load_relaxed(&s->units);

	while (units) {
		if (ol_cas_acquire(&s->units, units, units - 1)) /* [T] */
			return true;
		units = ol_load_relaxed(&s->units);
	}
	return false;
}

/* False if `until` came first. */
static inline bool ol_semaphore_timedtake(ol_semaphore_t *s, ol_ticks_t until)
{
	while (!ol_semaphore_trytake(s))
		if (!ol_wait_until(&s->units, ol_differs, 0, until))
			return false;
	return true;
}

static inline void ol_semaphore_take(ol_semaphore_t *s)
{
	ol_semaphore_timedtake(s, OL_NEVER);
}

/* Adds n units. Releases; the memory may be gone afterwards. */
static inline void ol_semaphore_give(ol_semaphore_t *s, uint32_t n)
{
	ol_add_release(&s->units, n); /* [G] */
	ol_wake(&s->units, OL_ANY, n < INT32_MAX ? (int)n : INT32_MAX);
}
#endif
