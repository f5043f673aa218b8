/* SPDX-License-Identifier: MIT */
#ifndef OL_MCS_BY_SELF_H
#define OL_MCS_BY_SELF_H
/* The classical MCS lock, but for the mistake: mcs.toml says which. */
#include <overlock/port.h>

#define OL_LOCK_LINE	OL_LOCK(mcs_by_self, waits, OL_FIFO, "mutant", "MCS by ol_self()")

typedef struct ol_mcs_by_self {
	struct ol_node *tail;
} ol_mcs_by_self_t;

static inline bool ol_mcs_by_self_is_locked(const ol_mcs_by_self_t *l)
{
	return ol_load_relaxed(&l->tail) != (struct ol_node *)0;
}

static inline bool ol_mcs_by_self_is_contended(const ol_mcs_by_self_t *l)
{
	struct ol_node *tail = ol_load_relaxed(&l->tail);

	return tail && ol_load_relaxed(&tail->next);
}

static inline uint64_t *ol_mcs_by_self_place(void)
{
	return ol_wait_slot(ol_self());
}

static inline struct ol_node *ol_mcs_by_self_node(void)
{
	struct ol_node *node = ol_node_get();

	while (!node) {
		ol_relax();
		node = ol_node_get();
	}
	ol_store_relaxed(&node->next, (struct ol_node *)0);
	ol_store_relaxed(&node->wait, 1u);
	ol_store_relaxed(ol_mcs_by_self_place(), (uint64_t)(uintptr_t)node);
	return node;
}

static inline bool ol_mcs_by_self_trylock(ol_mcs_by_self_t *l)
{
	struct ol_node *node;

	if (ol_load_relaxed(&l->tail))
		return false;
	node = ol_mcs_by_self_node();
	if (ol_cas_acq_rel(&l->tail, (struct ol_node *)0, node))
		return true;
	ol_node_put(node);
	return false;
}

static inline void ol_mcs_by_self_lock(ol_mcs_by_self_t *l)
{
	struct ol_node *node = ol_mcs_by_self_node(), *ahead = ol_xchg_acq_rel(&l->tail, node);

	if (!ahead)
		return;
	ol_store_release(&ahead->next, node);
	while (ol_load_acquire(&node->wait))
		ol_relax();
}

static inline void ol_mcs_by_self_unlock(ol_mcs_by_self_t *l)
{
	uint64_t place = ol_load_relaxed(ol_mcs_by_self_place());
	struct ol_node *node = (struct ol_node *)(uintptr_t)place, *next;

	next = ol_load_acquire(&node->next);
	if (!next && ol_cas_release(&l->tail, node, (struct ol_node *)0)) {
		ol_node_put(node);
		return;
	}
	while (!(next = ol_load_acquire(&node->next)))
		ol_relax();
	ol_store_release(&next->wait, 0u);
	ol_node_put(node);
}
#endif
