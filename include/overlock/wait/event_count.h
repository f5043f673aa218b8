/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_WAIT_EVENT_COUNT_H
#define OL_WAIT_EVENT_COUNT_H
/*
 * Event count: waits for any condition, which need not be one word: that a lock-free queue is not empty, that one of
 * two flags is set.
 *
 *	ol_event_count_wait(&changed, has_work, &queue);	push(&queue, item);
 *								ol_event_count_notify_all(&changed);
 *
 * Without sleepers a notification is a fence and a look. The condition is called again and again, by one context or
 * several, and must read with acquire order what its notifiers wrote with release order, or stronger. It is false only
 * if it does not hold: one that takes something tries again if another context was faster.
 *
 * A loop of one's own calls the parts:
 *
 *	seen = ol_event_count_prepare(&changed);
 *	if (has_work(&queue))
 *		ol_event_count_cancel(&changed);
 *	else
 *		ol_event_count_sleep(&changed, seen, until);
 *
 * Pairing: of [S] and [W] (until.h), either the notifier sees the sleeper, or the sleeper sees what made the condition
 * true. [E] acquires from [N], which the fence before it makes a release: who has seen the event of a notifier sees
 * what it wrote.
 */
#include <overlock/wait/until.h>

typedef struct ol_event_count {
	uint32_t events;
} ol_event_count_t;

#define OL_EVENT_COUNT_INIT	{ 0 }

typedef bool ol_predicate_t(void *argument);

/* From here on until it sleeps or cancels, the context counts as a sleeper. */
static inline uint32_t ol_event_count_prepare(ol_event_count_t *e)
{
	ol_wait_prepare(&e->events);
	ol_fence();
	return ol_load_acquire(&e->events); /* [E] */
}

static inline void ol_event_count_cancel(ol_event_count_t *e)
{
	ol_wait_cancel(&e->events);
}

/* Returns after a notification, at `until`, or for no reason: look at the condition in any case. */
static inline void ol_event_count_sleep(ol_event_count_t *e, uint32_t seen, ol_ticks_t until)
{
	ol_wait_sleep(&e->events, seen, OL_ANY, until);
}

static OL_COLD bool ol_event_count_wait_slow(ol_event_count_t *e, ol_predicate_t *holds,
					     void *argument, ol_ticks_t until)
{
	struct ol_waiting me;
	uint32_t seen;

	ol_wait_begin(&me, until);
	while (!holds(argument)) {
		switch (ol_wait_step(&me, &e->events)) {
		case OL_WAIT_OVER:
			return false;
		case OL_WAIT_SLEEP:
			seen = ol_event_count_prepare(e);
			if (holds(argument)) {
				ol_event_count_cancel(e);
				return true;
			}
			ol_event_count_sleep(e, seen, until);
			break;
		case OL_WAIT_LOOK:
			break;
		}
	}
	return true;
}

/* Waits until holds(argument): true. False if `until` came first. */
static inline bool ol_event_count_timedwait(ol_event_count_t *e, ol_predicate_t *holds,
					    void *argument, ol_ticks_t until)
{
	return holds(argument) || ol_event_count_wait_slow(e, holds, argument, until);
}

static inline void ol_event_count_wait(ol_event_count_t *e, ol_predicate_t *holds, void *argument)
{
	ol_event_count_timedwait(e, holds, argument, OL_NEVER);
}

static OL_COLD void ol_event_count_advance(ol_event_count_t *e, int n)
{
	ol_add_relaxed(&e->events, 1u); /* [N] */
	ol_count(OL_KICK);
	ol_kick(&e->events, OL_ANY, n);
}

/* After a change of the condition: wakes up to n sleepers. */
static inline void ol_event_count_notify(ol_event_count_t *e, int n)
{
	if (OL_UNLIKELY(ol_wait_has_sleepers(&e->events)))
		ol_event_count_advance(e, n);
}

static inline void ol_event_count_notify_one(ol_event_count_t *e)
{
	ol_event_count_notify(e, 1);
}

static inline void ol_event_count_notify_all(ol_event_count_t *e)
{
	ol_event_count_notify(e, INT32_MAX);
}
#endif
