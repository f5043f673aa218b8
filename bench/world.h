/* SPDX-License-Identifier: MIT */
#ifndef BENCH_WORLD_H
#define BENCH_WORLD_H
/*
 * The world that workloads run in here, which workload.h asks for. Compiled twice: with
 * WORKLOAD_MEASURED, acquire and release also feed the context's meter; without, they are the lock's
 * and nothing else.
 */
#include "burn.h"
#include "meter.h"
#include <overlock/ops.h>
#include <random.h>

struct workload_lock {
	const struct ol_lock_ops *ops;
	void *memory;
	ol_ticks_t *released_at; /* on the lock's line; written by its holder, when measured */
};

/* A place for a context. Only its thread writes, but for `stop`, and for what meter.h says. */
struct workload_me {
	uint64_t turns;
	uint32_t stop; /* not 0: leave after this turn */
	uint32_t index;
	uint64_t limit; /* by count: leave after so many turns */
	struct workload_random random;
	struct run *run;
	struct meter meter;
} OL_OWN_LINE;

#if WORKLOAD_MEASURED
static inline void workload_acquire(struct workload_me *me, struct workload_lock *lock)
{
	struct meter *m = &me->meter;

	if (OL_UNLIKELY(m->acquisitions++ == m->next)) {
		meter_acquire(me, lock);
		return;
	}
	ol_store_relaxed(&m->waits_for, lock);
	lock->ops->lock(lock->memory);
	ol_store_relaxed(&m->waits_for, (struct workload_lock *)0);
}

static inline void workload_release(struct workload_me *me, struct workload_lock *lock)
{
	struct meter *m = &me->meter;
	ol_ticks_t now = ol_now();

	ol_store_relaxed(lock->released_at, now);
	lock->ops->unlock(lock->memory);
	if (OL_UNLIKELY(now - m->last > m->longest))
		meter_gap(m, now);
	ol_store_relaxed(&m->last, now);
	if (OL_UNLIKELY(now >= m->look_at))
		meter_look(m, now);
}
#else
static inline void workload_acquire(struct workload_me *me, struct workload_lock *lock)
{
	(void)me;
	lock->ops->lock(lock->memory);
}

static inline void workload_release(struct workload_me *me, struct workload_lock *lock)
{
	(void)me;
	lock->ops->unlock(lock->memory);
}
#endif
#endif
