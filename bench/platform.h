/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PLATFORM_H
#define BENCH_PLATFORM_H
/*
 * The platform that workloads run on here, which workload.h asks for. Compiled twice: with
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
	struct handover *handover;
};

/* Why a context is to leave: its thread goes and another comes, or all is over. */
enum { LEAVE = 1, OVER = 2 };

/* A place for a context. Only its thread writes, but for `stop` and `asked`, and for what meter.h says. */
struct workload_me {
	uint64_t turns;
	uint32_t stop;	/* not 0: leave after this turn */
	uint32_t asked; /* to leave, where all do so together */
	uint32_t index;
	uint64_t limit; /* by count: leave after so many turns */
	struct workload_random random;
	struct run *run;
	struct meter meter;
} OL_OWN_LINE;

static inline bool workload_is_asked(const struct workload_me *me)
{
	return ol_load_relaxed(&me->asked) != 0;
}

static inline void workload_leave(struct workload_me *me)
{
	ol_store_relaxed(&me->stop, (uint32_t)OVER);
}

#if WORKLOAD_MEASURED
/* Acquires, and notes how long that took. */
void sampled_acquire(struct workload_me *me, struct workload_lock *lock);

static inline void workload_acquire(struct workload_me *me, struct workload_lock *lock)
{
	struct meter *m = &me->meter;

	if (OL_UNLIKELY(m->acquisitions++ == m->next)) {
		sampled_acquire(me, lock);
		return;
	}
	ol_store_relaxed(&m->waits_for, lock);
	lock->ops->lock(lock->memory);
	ol_store_relaxed(&m->waits_for, (struct workload_lock *)0);
}

static inline void workload_release(struct workload_me *me, struct workload_lock *lock)
{
	struct meter *m = &me->meter;
	ol_ticks_t now;

	if (OL_UNLIKELY(ol_load_relaxed(&lock->handover->asked)))
		ol_store_relaxed(&lock->handover->released_at, meter_now());
	lock->ops->unlock(lock->memory);
	now = ol_now();
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
