// SPDX-License-Identifier: MIT
// Concurrency Kit's MCS lock; each context has a node of its own.
// brings: include/spinlock/mcs.h
#include <overlock/foreign/ck.h>
#include "mcs.h"

static ck_spinlock_mcs_context_t nodes[64];

static void lock(void *o)
{
	ck_spinlock_mcs_lock(o, &nodes[ol_checked_self()]);
}

static bool try_to_lock(void *o)
{
	return ck_spinlock_mcs_trylock(o, &nodes[ol_checked_self()]);
}

static void release(void *o)
{
	ck_spinlock_mcs_unlock(o, &nodes[ol_checked_self()]);
}

const struct ol_checked_lock overlock_checked = {
	.name = "Concurrency Kit MCS",
	.size = sizeof(ck_spinlock_mcs_t),
	.lock = lock,
	.trylock = try_to_lock,
	.unlock = release,
};
