// SPDX-License-Identifier: MIT
// DPDK's rte_spinlock, as compiled without assembly.
// brings: lib/eal/include/generic/rte_spinlock.h
#include <overlock/foreign/dpdk.h>
#include "rte_spinlock.h"

static void lock(void *o)
{
	rte_spinlock_lock(o);
}

static bool try_to_lock(void *o)
{
	return rte_spinlock_trylock(o);
}

static void release(void *o)
{
	rte_spinlock_unlock(o);
}

const struct ol_checked_lock overlock_checked = {
	.name = "DPDK rte_spinlock",
	.size = sizeof(rte_spinlock_t),
	.lock = lock,
	.trylock = try_to_lock,
	.unlock = release,
};
