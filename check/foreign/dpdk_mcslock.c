// SPDX-License-Identifier: MIT
// DPDK's rte_mcslock; each context has a node of its own.
// brings: lib/eal/include/rte_mcslock.h
#include <overlock/foreign/dpdk.h>
#include "rte_mcslock.h"

static rte_mcslock_t nodes[64];

static void lock(void *o)
{
	rte_mcslock_lock(o, &nodes[ol_checked_self()]);
}

static bool try_to_lock(void *o)
{
	return rte_mcslock_trylock(o, &nodes[ol_checked_self()]);
}

static void release(void *o)
{
	rte_mcslock_unlock(o, &nodes[ol_checked_self()]);
}

const struct ol_checked_lock overlock_checked = {
	.name = "DPDK rte_mcslock",
	.size = sizeof(rte_mcslock_t *),
	.lock = lock,
	.trylock = try_to_lock,
	.unlock = release,
};
