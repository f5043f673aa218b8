/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_CLH_H
#define OL_CLH_H
/*
 * CLH queue lock. Craig, University of Washington, TR 93-02-02, 1993; Magnusson, Landin, Hagersten,
 * IPPS 1994.
 *
 * Each waiter spins on its predecessor's node, so the nodes need no links: a release is a store to
 * the holder's own node, with or without waiters. A waiter that acquires the lock frees its
 * predecessor's node and leaves its own node to its successor.
 *
 * Here the lock itself is the node of a holder that found the lock free. So trylock needs no node,
 * and an idle lock has none: a release first tries to set tail back to null.
 *
 *  tail:  null	    free
 *	   l itself held without a node, no waiters
 *	   a node   the last waiter's, or the holder's if there are no waiters
 *  place: null	    the holder has no node; the first waiter watches this word
 *	   l itself released to the first waiter
 *	   a node   the holder's; the first waiter watches its `wait`
 *
 *	holder's node <- watched by - first waiter's <- watched by - last waiter's <- tail
 *
 *  Pairing: [A] acquires from [R], the previous holder's release. The tail exchange [T] does both:
 *  it publishes our raised `wait` to our successor, and must see the `place` that a holder cleared.
 */
#include <overlock/port.h>

typedef struct OL_CAPABILITY ol_clh {
	struct ol_node *tail;
	struct ol_node *place;
} ol_clh_t;

#define OL_CLH_INIT	{ 0, 0 }

/* A mark that is no context's node and is never dereferenced. */
static inline struct ol_node *ol_clh_here(const ol_clh_t *l)
{
	return (struct ol_node *)(size_t)l;
}

static inline bool ol_clh_is_locked(const ol_clh_t *l)
{
	return ol_load_relaxed(&l->tail) != (struct ol_node *)0;
}

static inline bool ol_clh_is_contended(const ol_clh_t *l)
{
	struct ol_node *tail = ol_load_relaxed(&l->tail);

	return tail && tail != ol_clh_here(l) && tail != ol_load_relaxed(&l->place);
}

static inline bool ol_clh_trylock(ol_clh_t *l)
{
	return !ol_load_relaxed(&l->tail) &&
	       ol_cas_acquire(&l->tail, (struct ol_node *)0, ol_clh_here(l)); /* [A] */
}

static inline void ol_clh_queue(ol_clh_t *l, struct ol_node *mine)
{
	struct ol_node *ahead;

	ol_store_relaxed(&mine->wait, 1u);
	ahead = ol_xchg_acq_rel(&l->tail, mine); /* [A] [T] */
	if (ahead == ol_clh_here(l)) {
		while (ol_load_acquire(&l->place) != ol_clh_here(l)) /* [A] */
			ol_relax();
	} else if (ahead) {
		while (ol_load_acquire(&ahead->wait)) /* [A] */
			ol_relax();
		ol_node_put(ahead);
	}
	ol_store_relaxed(&l->place, mine);
}

static OL_COLD void ol_clh_lock_slow(ol_clh_t *l)
{
	struct ol_node *mine = ol_node_get();

	ol_count(OL_SLOW_PATH);
	if (!mine) {
		ol_count(OL_NO_ID);
		while (!ol_clh_trylock(l))
			ol_relax();
		return;
	}
	ol_clh_queue(l, mine);
}

static inline void ol_clh_lock(ol_clh_t *l)
{
	if (OL_UNLIKELY(!ol_clh_trylock(l)))
		ol_clh_lock_slow(l);
}

/* The node is ours again only if we have no successor; a successor frees it for us. */
static OL_COLD void ol_clh_unlock_node(ol_clh_t *l, struct ol_node *mine)
{
	ol_store_relaxed(&l->place, (struct ol_node *)0);
	if (ol_cas_release(&l->tail, mine, (struct ol_node *)0)) /* [R] [T] */
		ol_node_put(mine);
	else
		ol_store_release(&mine->wait, 0u); /* [R] */
}

static inline void ol_clh_unlock(ol_clh_t *l)
{
	struct ol_node *mine = ol_load_relaxed(&l->place);

	if (OL_UNLIKELY(mine != (struct ol_node *)0)) {
		ol_clh_unlock_node(l, mine);
		return;
	}
	if (!ol_cas_release(&l->tail, ol_clh_here(l), (struct ol_node *)0)) /* [R] */
		ol_store_release(&l->place, ol_clh_here(l));		    /* [R] */
}
#endif
