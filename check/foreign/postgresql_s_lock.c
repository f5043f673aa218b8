// SPDX-License-Identifier: MIT
// PostgreSQL's spinlock, s_lock. How often it spins between two sleeps makes no difference here: all waits of
// the checker end when something changes, or when it gives up.
// brings: src/include/storage/s_lock.h src/backend/storage/lmgr/s_lock.c
// replaces: static int\s+spins_per_delay = DEFAULT_SPINS_PER_DELAY; =>
#include "postgresql.h"

static void lock(void *o)
{
	S_LOCK((slock_t *)o);
}

static bool try_to_lock(void *o)
{
	return !TAS((slock_t *)o);
}

static void release(void *o)
{
	S_UNLOCK((slock_t *)o);
}

const struct ol_checked_lock overlock_checked = {
	.name = "PostgreSQL s_lock",
	.size = sizeof(slock_t),
	.lock = lock,
	.trylock = try_to_lock,
	.unlock = release,
};
