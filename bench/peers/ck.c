/* SPDX-License-Identifier: MIT */
/* Not here: CLH and the array locks, which have no trylock and want memory for every thread. */
#include "lock.h"
#include "node.h"
#include <ck_spinlock.h>

#ifndef CK_F_SPINLOCK_TICKET_TRYLOCK /* it has one on x86 only; this is one in its words */
static bool ck_spinlock_ticket_trylock(ck_spinlock_ticket_t *l)
{
	unsigned turn = ck_pr_load_uint(&l->position);

	if (!ck_pr_cas_uint(&l->next, turn, turn + 1))
		return false;
	ck_pr_fence_lock();
	return true;
}
#endif

#define CK(id, kind, how)								\
	PEER_LOCK(id, ck_spinlock_##kind##_t, ck_spinlock_##kind##_init(l),		\
		  ck_spinlock_##kind##_##how(l), ck_spinlock_##kind##_trylock(l),	\
		  ck_spinlock_##kind##_unlock(l))

CK(ck_fas, fas, lock)
CK(ck_fas_eb, fas, lock_eb)
CK(ck_cas, cas, lock)
CK(ck_ticket, ticket, lock)

struct mcs {
	ck_spinlock_mcs_t queue;
	ck_spinlock_mcs_context_t *holder;
};

static void mcs_init(struct mcs *l)
{
	ck_spinlock_mcs_init(&l->queue);
}

static void mcs_lock(struct mcs *l)
{
	ck_spinlock_mcs_context_t *node = node_take();

	ck_spinlock_mcs_lock(&l->queue, node);
	l->holder = node;
}

static bool mcs_trylock(struct mcs *l)
{
	ck_spinlock_mcs_context_t *node = node_take();

	if (!ck_spinlock_mcs_trylock(&l->queue, node)) {
		node_give(node);
		return false;
	}
	l->holder = node;
	return true;
}

static void mcs_unlock(struct mcs *l)
{
	ck_spinlock_mcs_context_t *node = l->holder;

	ck_spinlock_mcs_unlock(&l->queue, node);
	node_give(node);
}

PEER_LOCK(ck_mcs, struct mcs, mcs_init(l), mcs_lock(l), mcs_trylock(l), mcs_unlock(l))

#include "table.h"
