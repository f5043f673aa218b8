/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_COND_H
#define OL_COND_H
/*
 * Condition variable for every lock of locks.def. All zero is one without waiters.
 *
 *	static ol_mutex_t lock = OL_MUTEX_INIT;
 *	static ol_cond_t changed = OL_COND_INIT;
 *
 *	ol_mutex_lock(&lock);
 *	while (!ready)
 *		ol_mutex_cond_wait(&changed, &lock);
 *	ol_mutex_unlock(&lock);
 *
 * Waiters queue. ol_cond_signal() wakes the first; ol_cond_broadcast() wakes the first two of all that wait, and
 * each wakes the next two: at once, if it finds the lock free, so that it need not do so while it holds it; else
 * when it has the lock. So however many wait, only as many compete for the lock as have CPUs.
 *
 * Whoever signals may hold the lock, and lose its CPU to the one that it wakes. That one yields if it finds the
 * lock held: to poll for it would keep the holder from its CPU.
 *
 * ol_<lock>_cond_wait(c, l) releases `l`, sleeps until it is woken, and acquires `l`.
 * ol_<lock>_cond_timedwait(c, l, until) also returns, false, when `until` has come. A wait returns unwoken
 * only if memory for a queue node is short. A lock chosen at run time, or somebody else's, calls the parts of a
 * wait: ol_cond_prepare(), before it is released; ol_cond_sleep(); ol_cond_give_way(), if the lock is held;
 * ol_cond_relay(), if it is free; and ol_cond_finish(), once it is acquired again.
 *
 * As with POSIX, a waiter sees whatever was done under the lock before the signal. All waits of one time use
 * one lock; the signalling thread need not hold it. Signalling is not for signal handlers. The memory may be freed once
 * every wait has returned, by one of the waiters too; that a signal or a broadcast has returned is not enough.
 * In the child of fork(), initialise it again. It is for threads of one process.
 *
 * The queue is a ring of nodes, guarded by a lock of its own; `last` is the youngest. The first `granted` of
 * them have been broadcast to. While there are any, a context that was woken has yet to wake the next of them;
 * a signal then grants one more.
 *
 *	node->next	the next younger; of the youngest, the oldest
 *	node->place	of the youngest: how many wait
 *	node->wait	0, or 1 + the CPU of the one that woke us
 *
 * Pairing: [S] acquires from [W], so that the waker is done with the node when the sleeper gives it back.
 */
#include <overlock/lock/pv_byte.h>

typedef struct ol_cond {
	ol_pv_byte_t lock;
	uint32_t granted;
	struct ol_node *last;
} ol_cond_t;

#ifdef __cplusplus
#define OL_COND_INIT	{ { 0 }, 0, 0 }
#else
#define OL_COND_INIT	{ 0 }
#endif

/* What ol_cond_sleep() returns; callers only pass it on. */
enum ol_cond_woken { OL_COND_TIMED_OUT, OL_COND_WOKEN, OL_COND_WOKEN_HERE, OL_COND_RELAYED };

/* The queue. Callers hold its lock. */

static inline uint32_t ol_cond_waiting(const ol_cond_t *c)
{
	const struct ol_node *last = ol_load_relaxed(&c->last);

	return last ? ol_load_relaxed(&last->place) : 0;
}

static inline void ol_cond_append(ol_cond_t *c, struct ol_node *node)
{
	struct ol_node *last = ol_load_relaxed(&c->last);

	ol_store_relaxed(&node->place, ol_cond_waiting(c) + 1);
	ol_store_relaxed(&node->next, last ? ol_load_relaxed(&last->next) : node);
	if (last)
		ol_store_relaxed(&last->next, node);
	ol_store_relaxed(&c->last, node);
}

/* Takes out the node behind `before`. */
static inline struct ol_node *ol_cond_take(ol_cond_t *c, struct ol_node *before)
{
	struct ol_node *node = ol_load_relaxed(&before->next);
	uint32_t left = ol_cond_waiting(c) - 1;

	if (!left) {
		ol_store_relaxed(&c->last, (struct ol_node *)0);
		return node;
	}
	ol_store_relaxed(&before->next, ol_load_relaxed(&node->next));
	if (ol_load_relaxed(&c->last) == node)
		ol_store_relaxed(&c->last, before);
	ol_store_relaxed(&ol_load_relaxed(&c->last)->place, left);
	return node;
}

/* The oldest of those that were granted a wake-up; null if there is none. */
static inline struct ol_node *ol_cond_next(ol_cond_t *c)
{
	uint32_t granted = ol_load_relaxed(&c->granted);

	if (!granted)
		return 0;
	ol_store_relaxed(&c->granted, granted - 1);
	return ol_cond_take(c, ol_load_relaxed(&c->last));
}

/* From here on the condition variable may be gone. */
static inline void ol_cond_wake(struct ol_node *node)
{
	if (!node)
		return;
	ol_store_release(&node->wait, 1 + ol_cpu()); /* [W] */
	ol_kick(&node->wait, OL_ANY, 1);
}

static inline void ol_cond_unlock_and_wake(ol_cond_t *c)
{
	struct ol_node *first = ol_cond_next(c), *second = ol_cond_next(c);

	ol_pv_byte_unlock(&c->lock);
	ol_cond_wake(first);
	ol_cond_wake(second);
}

/* Signalling. */

/* Grants a wake-up to `more` waiters that have none yet. Wakes the first, unless somebody is about to. */
static OL_COLD void ol_cond_grant(ol_cond_t *c, uint32_t more)
{
	uint32_t granted, waiting;

	ol_pv_byte_lock(&c->lock);
	granted = ol_load_relaxed(&c->granted);
	waiting = ol_cond_waiting(c);
	ol_store_relaxed(&c->granted, more < waiting - granted ? granted + more : waiting);
	if (granted)
		ol_pv_byte_unlock(&c->lock);
	else
		ol_cond_unlock_and_wake(c);
}

static inline void ol_cond_signal(ol_cond_t *c)
{
	if (ol_load_relaxed(&c->last))
		ol_cond_grant(c, 1);
}

static inline void ol_cond_broadcast(ol_cond_t *c)
{
	if (ol_load_relaxed(&c->last))
		ol_cond_grant(c, UINT32_MAX);
}

/* Waiting. */

/* Called with the user's lock held. Null if there is no memory: then the wait returns at once. */
static inline struct ol_node *ol_cond_prepare(ol_cond_t *c)
{
	struct ol_node *node = ol_node_get();

	if (!node)
		return 0;
	ol_store_relaxed(&node->wait, 0u);
	ol_pv_byte_lock(&c->lock);
	ol_cond_append(c, node);
	ol_pv_byte_unlock(&c->lock);
	return node;
}

/*
 * After the deadline: leaves the queue. False if the node is not in it, for somebody is about to wake it. A
 * waiter that was granted a wake-up takes it along.
 */
static OL_COLD bool ol_cond_leave(ol_cond_t *c, const struct ol_node *node, uint32_t *woken)
{
	struct ol_node *before;
	uint32_t ahead = 0, waiting, granted;

	ol_pv_byte_lock(&c->lock);
	before = ol_load_relaxed(&c->last);
	waiting = ol_cond_waiting(c);
	granted = ol_load_relaxed(&c->granted);
	for (; ahead < waiting && ol_load_relaxed(&before->next) != node; ahead++)
		before = ol_load_relaxed(&before->next);
	if (ahead < waiting)
		ol_cond_take(c, before);
	if (ahead < granted)
		ol_store_relaxed(&c->granted, granted - 1);
	ol_pv_byte_unlock(&c->lock);
	*woken = ahead < granted ? OL_COND_WOKEN : OL_COND_TIMED_OUT;
	return ahead < waiting;
}

/* Called without the user's lock. */
static inline uint32_t ol_cond_sleep(ol_cond_t *c, struct ol_node *node, ol_ticks_t until)
{
	uint32_t waker, woken = OL_COND_TIMED_OUT;

	if (!node) {
		ol_yield();
		return ol_passed(until) ? OL_COND_TIMED_OUT : OL_COND_WOKEN;
	}
	if (!ol_load_relaxed(&node->wait))
		ol_leave();
	while (!(waker = ol_load_acquire(&node->wait))) { /* [S] */
		if (ol_passed(until)) {
			if (ol_cond_leave(c, node, &woken))
				break;
			until = OL_NEVER;
		}
		ol_count(OL_PARK);
		ol_park(&node->wait, 0, OL_ANY, until);
	}
	if (waker)
		woken = waker == 1 + ol_cpu() ? OL_COND_WOKEN_HERE : OL_COND_WOKEN;
	ol_node_put(node);
	return woken;
}

/* Called if the user's lock is held: by the one that woke us, if it has no CPU because we have it. */
static inline void ol_cond_give_way(uint32_t woken)
{
	if (woken == OL_COND_WOKEN_HERE)
		ol_yield();
}

/* Wakes the next of those that were granted a wake-up, once. */
static inline uint32_t ol_cond_relay(ol_cond_t *c, uint32_t woken)
{
	if (woken == OL_COND_TIMED_OUT || woken == OL_COND_RELAYED)
		return woken;
	if (ol_load_relaxed(&c->granted)) {
		ol_pv_byte_lock(&c->lock);
		ol_cond_unlock_and_wake(c);
	}
	return OL_COND_RELAYED;
}

/* Called with the user's lock acquired again. False if the wait ended by its deadline. */
static inline bool ol_cond_finish(ol_cond_t *c, uint32_t woken)
{
	return ol_cond_relay(c, woken) != OL_COND_TIMED_OUT;
}

/* For one lock. */
#define OL_DEFINE_COND(id)								\
	static inline bool ol_##id##_cond_timedwait(ol_cond_t *c, ol_##id##_t *l,	\
						    ol_ticks_t until)			\
	{										\
		struct ol_node *node = ol_cond_prepare(c);				\
		uint32_t woken;								\
		ol_##id##_unlock(l);							\
		woken = ol_cond_sleep(c, node, until);					\
		if (ol_##id##_is_locked(l))						\
			ol_cond_give_way(woken);					\
		if (!ol_##id##_is_locked(l))						\
			woken = ol_cond_relay(c, woken);				\
		ol_##id##_lock(l);							\
		return ol_cond_finish(c, woken);					\
	}										\
	static inline void ol_##id##_cond_wait(ol_cond_t *c, ol_##id##_t *l)		\
	{										\
		ol_##id##_cond_timedwait(c, l, OL_NEVER);				\
	}
#endif
