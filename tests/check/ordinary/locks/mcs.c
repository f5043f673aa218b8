// SPDX-License-Identifier: MIT
// A queue lock: each caller brings a node, which must last until its unlock returns.
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct mcs_node {
	_Atomic(struct mcs_node *) next;
	atomic_bool waits;
};

struct mcs {
	_Atomic(struct mcs_node *) tail;
};

void mcs_lock(struct mcs *l, struct mcs_node *me)
{
	struct mcs_node *before;

	atomic_store_explicit(&me->next, NULL, memory_order_relaxed);
	atomic_store_explicit(&me->waits, true, memory_order_relaxed);
	before = atomic_exchange_explicit(&l->tail, me, memory_order_acq_rel);
	if (!before)
		return;
	atomic_store_explicit(&before->next, me, memory_order_release);
	while (atomic_load_explicit(&me->waits, memory_order_acquire))
		;
}

bool mcs_trylock(struct mcs *l, struct mcs_node *me)
{
	struct mcs_node *none = NULL;

	atomic_store_explicit(&me->next, NULL, memory_order_relaxed);
	return atomic_compare_exchange_strong_explicit(&l->tail, &none, me, memory_order_acq_rel,
						       memory_order_relaxed);
}

void mcs_unlock(struct mcs *l, struct mcs_node *me)
{
	struct mcs_node *next = atomic_load_explicit(&me->next, memory_order_acquire), *self = me;

	if (!next) {
		if (atomic_compare_exchange_strong_explicit(
			    &l->tail, &self, NULL, memory_order_release, memory_order_relaxed))
			return;
		while (!(next = atomic_load_explicit(&me->next, memory_order_acquire)))
			;
	}
	atomic_store_explicit(&next->waits, false, memory_order_release);
}
