// SPDX-License-Identifier: MIT
// Concurrency Kit's fetch-and-store spinlock.
// brings: include/spinlock/fas.h
#include <overlock/foreign/ck.h>
#include "fas.h"

static void lock(void *o)
{
	ck_spinlock_fas_lock(o);
}

static bool try_to_lock(void *o)
{
	return ck_spinlock_fas_trylock(o);
}

static void release(void *o)
{
	ck_spinlock_fas_unlock(o);
}

const struct ol_checked_lock overlock_checked = {
	.name = "Concurrency Kit fas",
	.size = sizeof(ck_spinlock_fas_t),
	.lock = lock,
	.trylock = try_to_lock,
	.unlock = release,
};
