/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_MCS_H
#define OL_MCS_H
/*
 * MCS queue lock, in the K42 form that keeps the holder's place in the lock.
 * Mellor-Crummey and Scott, TOCS 1991; Auslander et al., US patent application 2003/0200457 (K42);
 * the comparison lock of 004.
 *
 * Every waiter spins on a node of its own. The holder needs none: when its turn comes a waiter
 * moves its place from its node to the lock itself and gives the node back. So trylock needs no
 * node, a context without one can still lock, and unlock looks for nothing: neither its order nor
 * its caller matters (hand-over-hand, a release by another thread).
 *
 *  tail: null	     free
 *	  l itself   held, nobody waits
 *	  a node     held, that waiter is the last
 *  next: the first waiter, or null: written by the holder on arrival, then by whoever queues
 *	  behind `l itself`
 *
 *	     holder	  first waiter	     last waiter
 *	lock.next ----->  node.next  ----->  node  <----- lock.tail
 *
 *  Pairing: [A] acquires from [R], the previous holder's release. [L] publishes a node, whoever
 *  follows `next` acquires it [F]. The tail exchange [T] is both: it publishes our node to the next
 *  to queue, and must see the zeroed `next` of the one before.
 */
#include <overlock/port.h>

typedef struct OL_CAPABILITY ol_mcs {
	struct ol_node *tail;
	struct ol_node *next;
} ol_mcs_t;

#define OL_MCS_INIT	{ 0, 0 }

/* The holder's place: a mark that is nobody's node and never followed. */
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

/* Whoever took the tail after us is about to link itself here. */
static OL_COLD struct ol_node *ol_mcs_await_link(struct ol_node **next)
{
	struct ol_node *node;

	while (!(node = ol_load_acquire(next))) /* [F] */
		ol_relax_briefly();
	return node;
}

/* It is our turn: move our place from the node to the lock. */
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
	ol_store_release(&first->wait, 0u); /* [R]; it will write l->next, nobody reads it before */
}
#endif
