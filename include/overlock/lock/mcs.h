/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_MCS_H
#define OL_MCS_H
/*
 * MCS queue lock, in the K42 form, in which the lock itself is the holder's node.
 * Mellor-Crummey and Scott, TOCS 1991; Auslander et al., US patent application 2003/0200457 (K42);
 * the lock that Dice & Kogan 2019 compare with.
 *
 * Each waiter spins on its own node. The holder needs none: when a waiter acquires the lock, it
 * copies its link from its node to the lock and frees the node. So trylock needs no node, a
 * context without a node can still lock, and unlock does not search for a node: locks can be
 * released in any order (hand-over-hand) and by another thread.
 *
 *  tail: null	     free
 *	  l itself   held, no waiters
 *	  a node     held, the last waiter's
 *  next: the first waiter, or null: written by the new holder, then by the waiter that queues
 *	  behind `l itself`
 *
 *	     holder	  first waiter	     last waiter
 *	lock.next ----->  node.next  ----->  node  <----- lock.tail
 *
 *  Pairing: [A] acquires from [R], the previous holder's release. [L] publishes a node; the reader
 *  of `next` acquires it [F]. The tail exchange [T] does both: it publishes our node to our
 *  successor, and must see that our predecessor has zeroed its `next`.
 */
#include <overlock/port.h>

typedef struct OL_CAPABILITY ol_mcs {
	struct ol_node *tail;
	struct ol_node *next;
} ol_mcs_t;

#define OL_MCS_INIT	{ 0, 0 }

/* Stands for the holder: a mark that is no context's node and is never dereferenced. */
static inline struct ol_node *ol_mcs_here(ol_mcs_t *l)
{
	return (struct ol_node *)(void *)l;
}

static inline bool ol_mcs_is_locked(const ol_mcs_t *l)
{
	return ol_load_relaxed(&l->tail) != (struct ol_node *)0;
}

static inline bool ol_mcs_is_contended(const ol_mcs_t *l)
{
	struct ol_node *tail = ol_load_relaxed(&l->tail);

	return tail && tail != (const struct ol_node *)(const void *)l;
}

static inline bool ol_mcs_trylock(ol_mcs_t *l)
{
	return !ol_load_relaxed(&l->tail) &&
	       ol_cas_acquire(&l->tail, (struct ol_node *)0, ol_mcs_here(l)); /* [A] */
}

/* The waiter that took the tail after us is about to link itself here. */
static OL_COLD struct ol_node *ol_mcs_await_link(struct ol_node **next)
{
	struct ol_node *node;

	while (!(node = ol_load_acquire(next))) /* [F] */
		ol_relax_briefly();
	return node;
}

/* We hold the lock: copy our link from the node to the lock. */
static inline void ol_mcs_settle(ol_mcs_t *l, struct ol_node *mine)
{
	struct ol_node *after = ol_load_acquire(&mine->next); /* [F] */

	if (!after) {
		ol_store_relaxed(&l->next, (struct ol_node *)0);
		if (ol_cas_release(&l->tail, mine, ol_mcs_here(l))) /* [T] shows the zero above */
			return;
		after = ol_mcs_await_link(&mine->next);
	}
	ol_store_relaxed(&l->next, after); /* only we, and the next holder, read it */
}

static inline void ol_mcs_queue(ol_mcs_t *l, struct ol_node *mine)
{
	struct ol_node *ahead;

	ol_store_relaxed(&mine->next, (struct ol_node *)0);
	ol_store_relaxed(&mine->wait, 1u);
	ahead = ol_xchg_acq_rel(&l->tail, mine); /* [A] [T] */
	if (ahead) {
		ol_store_release(ahead == ol_mcs_here(l) ? &l->next : &ahead->next, mine); /* [L] */
		while (ol_load_acquire(&mine->wait))					   /* [A] */
			ol_relax();
	}
	ol_mcs_settle(l, mine);
}

static OL_COLD void ol_mcs_lock_slow(ol_mcs_t *l)
{
	struct ol_node *mine = ol_node_get();

	ol_count(OL_SLOW_PATH);
	if (!mine) {
		ol_count(OL_NO_ID);
		while (!ol_mcs_trylock(l))
			ol_relax();
		return;
	}
	ol_mcs_queue(l, mine);
	ol_node_put(mine);
}

static inline void ol_mcs_lock(ol_mcs_t *l)
{
	if (OL_UNLIKELY(!ol_mcs_trylock(l)))
		ol_mcs_lock_slow(l);
}

static inline void ol_mcs_unlock(ol_mcs_t *l)
{
	struct ol_node *first = ol_load_acquire(&l->next); /* [F] */

	if (!first) {
		if (ol_cas_release(&l->tail, ol_mcs_here(l), (struct ol_node *)0)) /* [R] */
			return;
		first = ol_mcs_await_link(&l->next);
	}
	ol_store_release(&first->wait, 0u); /* [R]; it writes l->next before any read of it */
}
#endif
