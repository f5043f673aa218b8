/* SPDX-License-Identifier: MIT */
#define WORKLOAD_MEASURED 1
#include "platform.h"

static uint32_t queue_for(const struct workload_me *me, const struct workload_lock *lock)
{
	const struct workload_me *first = me - me->index;
	uint32_t queue = 0;

	for (uint32_t i = 0; i < me->meter.contexts; i++)
		queue += i != me->index && ol_load_relaxed(&first[i].meter.waits_for) == lock;
	return queue;
}

void sampled_acquire(struct workload_me *me, struct workload_lock *lock)
{
	struct meter *m = &me->meter;
	uint32_t queue = queue_for(me, lock); /* before we hold up others, not under the lock */
	ol_ticks_t from, to, released;

	if (m->asks) /* we still hold another lock that was sampled */
		meter_settle(m);
	m->asks = lock->handover;
	ol_add_relaxed(&m->asks->asked, 1u);
	ol_store_relaxed(&m->waits_for, lock);
	from = meter_now();
	ol_store_relaxed(&m->weight, m->mean);
	ol_store_relaxed(&m->waits_since, from);
	lock->ops->lock(lock->memory);
	to = meter_now();
	ol_store_relaxed(&m->waits_since, (ol_ticks_t)0);
	ol_store_relaxed(&m->waits_for, (struct workload_lock *)0);
	released = ol_load_relaxed(&lock->handover->released_at);
	m->pending = (struct sample){
		.latency = to - from,
		.handover = released <= from ? OL_NEVER
			    : to > released  ? to - released
					     : 0,
		.weight = m->mean,
		.queue = queue,
	};
	m->look_at = 0; /* keep it, and draw the next, when we have released */
}
