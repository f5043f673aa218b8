/* SPDX-License-Identifier: MIT */
#ifndef OL_AFTER_YOU_H
#define OL_AFTER_YOU_H
/*
 * Two contexts, with a flag each. A context that raises its flag and finds the other's flag raised
 * lowers its own and starts again. The lock excludes, and no context waits for a stopped one, but
 * two contexts in lockstep repeat this for ever: the "after you, after you" of Dijkstra's
 * Cooperating sequential processes (1965). For docs/results/counterexamples.md.
 */
#include <overlock/port.h>

#define OL_LOCK_LINE	OL_LOCK(after_you, waits, 0, "Dijkstra 1965", "two flags, too polite")

typedef struct ol_after_you {
	uint32_t wants[2];
} ol_after_you_t;

static inline uint32_t *ol_after_you_flag(ol_after_you_t *l, uint32_t id)
{
	return &l->wants[id & 1];
}

static inline bool ol_after_you_is_locked(const ol_after_you_t *l)
{
	return ol_load_relaxed(&l->wants[0]) || ol_load_relaxed(&l->wants[1]);
}

static inline bool ol_after_you_is_contended(const ol_after_you_t *l)
{
	return ol_load_relaxed(&l->wants[0]) && ol_load_relaxed(&l->wants[1]);
}

static inline void ol_after_you_unlock(ol_after_you_t *l)
{
	ol_store_release(ol_after_you_flag(l, ol_self()), 0u);
}

static inline bool ol_after_you_trylock(ol_after_you_t *l)
{
	if (ol_load_relaxed(ol_after_you_flag(l, ol_self())))
		return false;
	ol_store_relaxed(ol_after_you_flag(l, ol_self()), 1u);
	ol_fence();
	if (!ol_load_acquire(ol_after_you_flag(l, ol_self() + 1)))
		return true;
	ol_after_you_unlock(l);
	return false;
}

static inline void ol_after_you_lock(ol_after_you_t *l)
{
	while (!ol_after_you_trylock(l))
		ol_relax();
}
#endif
