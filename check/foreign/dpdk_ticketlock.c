// SPDX-License-Identifier: MIT
// DPDK's rte_ticketlock.
// brings: lib/eal/include/rte_ticketlock.h
#include <overlock/foreign/dpdk.h>
#include "rte_ticketlock.h"

static void lock(void *o)
{
	rte_ticketlock_lock(o);
}

static bool try_to_lock(void *o)
{
	return rte_ticketlock_trylock(o);
}

static void release(void *o)
{
	rte_ticketlock_unlock(o);
}

const struct ol_checked_lock overlock_checked = {
	.name = "DPDK rte_ticketlock",
	.size = sizeof(rte_ticketlock_t),
	.lock = lock,
	.trylock = try_to_lock,
	.unlock = release,
};
