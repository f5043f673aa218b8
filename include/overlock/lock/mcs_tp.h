/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_MCS_TP_H
#define OL_MCS_TP_H
/*
 * MCS queue lock whose waiters publish the time. He, Scherer, Scott: Preemption adaptivity in
 * time-published queue-based spin locks, HiPC 2005; Ouyang & Lange 2013, section 2.
 *
 * Each waiter periodically publishes the deadline until which it counts as running. A release skips
 * waiters whose deadline has passed, for they have probably lost their CPU, and waiters that gave
 * up. A skipped waiter notices this when it runs again, and queues anew. With `stale` = infinity
 * no deadlines are published; comparing the two settings shows what they cost.
 *
 *  queue: as in mcs.h; the lock itself is the holder's node
 *  left:  1: a waiter has given up and left its node in the queue since the last release
 *
 *  node.wait: WAITING ---- a release ----> GRANTED   its owner copies its link to the lock
 *		  |   \---- a release ----> PASSED    out of the queue, its owner's again
 *		  '-------- its owner ----> LEFT      the queue's: a release frees it
 *
 *  A release reads a node's successor before it marks the node PASSED, because from then on the
 *  owner may reuse it. So a node has one owner at any time, and only that owner frees it.
 *
 *  While `left` is 1, contexts with a deadline poll instead of queueing, so each context leaves at
 *  most one node behind between two releases. A release skips only waiters that were in the queue
 *  when it began: a skipped waiter that queues anew is running. So no release loops for ever.
 *
 *  Pairing: [A] acquires from [R], the previous holder's release. [L], [F] and [T]: see mcs.h. [P]
 *  passes the node on: its new owner writes it only after the old owner has read it.
 */
#include <overlock/lock/mcs.h>

typedef struct OL_CAPABILITY ol_mcs_tp {
	ol_mcs_t queue;
	uint32_t left;
} ol_mcs_tp_t;

#define OL_MCS_TP_INIT	{ OL_MCS_INIT, 0 }

enum { OL_TP_GRANTED, OL_TP_WAITING, OL_TP_PASSED, OL_TP_LEFT };

static inline bool ol_mcs_tp_is_locked(const ol_mcs_tp_t *l)
{
	return ol_mcs_is_locked(&l->queue);
}

/* A waiter that gave up counts until the next release. */
static inline bool ol_mcs_tp_is_contended(const ol_mcs_tp_t *l)
{
	return ol_mcs_is_contended(&l->queue);
}

static inline bool ol_mcs_tp_trylock(ol_mcs_tp_t *l)
{
	return ol_mcs_trylock(&l->queue);
}

/* Publishes the deadline until which we count as running. */
static inline void ol_tp_publish(struct ol_node *mine)
{
	ol_store_relaxed(&mine->time, ol_after(1, ol_tune(stale)));
}

/* Waits until a release changes our node's state, or gives up; returns the new state. */
static inline uint32_t ol_tp_await(ol_mcs_tp_t *l, struct ol_node *mine, ol_ticks_t until)
{
	uint32_t state;

	while ((state = ol_load_acquire(&mine->wait)) == OL_TP_WAITING) { /* [A] [P] */
		if (ol_passed(until)) {
			ol_store_relaxed(&l->left, 1u);
			if (ol_cas_relaxed(&mine->wait, OL_TP_WAITING, OL_TP_LEFT))
				return OL_TP_LEFT;
		}
		ol_relax_until(until);
		if (ol_tune(stale) != OL_NEVER)
			ol_tp_publish(mine);
	}
	return state;
}

/* Queues once; returns the state in which that ended. */
static inline uint32_t ol_tp_queue(ol_mcs_tp_t *l, struct ol_node *mine, ol_ticks_t until)
{
	ol_mcs_t *q = &l->queue;
	struct ol_node *ahead;
	uint32_t state = OL_TP_GRANTED;

	ol_store_relaxed(&mine->next, (struct ol_node *)0);
	ol_store_relaxed(&mine->wait, OL_TP_WAITING);
	ol_tp_publish(mine);
	ahead = ol_xchg_acq_rel(&q->tail, mine); /* [A] [T] */
	if (ahead) {
		ol_store_release(ahead == ol_mcs_here(q) ? &q->next : &ahead->next, mine); /* [L] */
		state = ol_tp_await(l, mine, until);
	}
	if (state == OL_TP_GRANTED)
		ol_mcs_settle(q, mine);
	if (state != OL_TP_LEFT)
		ol_node_put(mine);
	return state;
}

/* Polls outside the queue. */
static inline bool ol_tp_poll(ol_mcs_tp_t *l, ol_ticks_t until)
{
	ol_count(OL_NO_ID);
	while (!ol_mcs_tp_trylock(l)) {
		if (ol_passed(until))
			return false;
		ol_relax_until(until);
	}
	return true;
}

static OL_COLD bool ol_mcs_tp_lock_slow(ol_mcs_tp_t *l, ol_ticks_t until)
{
	uint32_t passed_by = 0, state;

	ol_count(OL_SLOW_PATH);
	do {
		bool crowded = until != OL_NEVER && ol_load_relaxed(&l->left);
		struct ol_node *mine = crowded ? 0 : ol_node_get();

		if (!mine)
			return ol_tp_poll(l, until);
		state = ol_tp_queue(l, mine, until);
		if (state == OL_TP_GRANTED && passed_by)
			ol_count_at(OL_OVERTAKEN, passed_by);
		passed_by++;
	} while (state == OL_TP_PASSED && !ol_passed(until));
	return state == OL_TP_GRANTED;
}

static inline bool ol_mcs_tp_timedlock(ol_mcs_tp_t *l, ol_ticks_t until)
{
	return ol_mcs_tp_trylock(l) || ol_mcs_tp_lock_slow(l, until);
}

static inline void ol_mcs_tp_lock(ol_mcs_tp_t *l)
{
	if (OL_UNLIKELY(!ol_mcs_tp_trylock(l)))
		ol_mcs_tp_lock_slow(l, OL_NEVER);
}

/* The node is out of the queue; if its owner has given up, we free it. */
static inline void ol_tp_pass(struct ol_node *node)
{
	if (!ol_cas_release(&node->wait, OL_TP_WAITING, OL_TP_PASSED)) /* [P] */
		ol_node_put(node);
}

/* Returns the successor of `first`; or frees the lock and returns null. */
static inline struct ol_node *ol_tp_after(ol_mcs_t *q, struct ol_node *first)
{
	struct ol_node *after = ol_load_acquire(&first->next); /* [F] */

	if (after)
		return after;
	ol_store_relaxed(&q->next, (struct ol_node *)0);	  /* shown by [R] */
	if (ol_cas_release(&q->tail, first, (struct ol_node *)0)) /* [R] */
		return 0;
	return ol_mcs_await_link(&first->next);
}

/* If `judged`, a waiter that seems to have no CPU is refused. */
static inline bool ol_tp_grant(struct ol_node *node, bool judged)
{
	return !(judged && ol_passed(ol_load_relaxed(&node->time))) &&
	       ol_cas_release(&node->wait, OL_TP_WAITING, OL_TP_GRANTED); /* [R] */
}

/* Hands over to the first running waiter from `node` on, or frees the lock. Null: wait for one. */
static OL_COLD void ol_tp_hand_over(ol_mcs_t *q, struct ol_node *node)
{
	struct ol_node *last = 0, *after;
	bool judged = true;

	if (!node)
		node = ol_mcs_await_link(&q->next);
	while (node && !ol_tp_grant(node, judged)) {
		if (!last)
			last = ol_load_relaxed(&q->tail);
		judged = judged && node != last;
		after = ol_tp_after(q, node);
		ol_tp_pass(node);
		node = after;
	}
}

static inline void ol_mcs_tp_unlock(ol_mcs_tp_t *l)
{
	struct ol_node *first = ol_load_acquire(&l->queue.next); /* [F] */

	if (ol_load_relaxed(&l->left))
		ol_store_relaxed(&l->left, 0u);
	if (!first &&
	    ol_cas_release(&l->queue.tail, ol_mcs_here(&l->queue), (struct ol_node *)0)) /* [R] */
		return;
	ol_tp_hand_over(&l->queue, first);
}
#endif
