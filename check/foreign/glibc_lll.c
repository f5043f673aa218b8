// SPDX-License-Identifier: MIT
// glibc's low-level lock, all that there is to a normal pthread_mutex_t beside its owner.
// brings: sysdeps/nptl/lowlevellock.h nptl/lowlevellock.c
#include "glibc_lock.h"

static void lock(void *o)
{
	lll_lock(*(int *)o, LLL_PRIVATE);
}

static bool try_to_lock(void *o)
{
	return lll_trylock(*(int *)o) == 0;
}

static void release(void *o)
{
	lll_unlock(*(int *)o, LLL_PRIVATE);
}

const struct ol_checked_lock overlock_checked = {
	.name = "glibc low-level lock",
	.size = sizeof(int),
	.lock = lock,
	.trylock = try_to_lock,
	.unlock = release,
};
