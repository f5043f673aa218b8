// SPDX-License-Identifier: MIT
// Linux's native qspinlock.
// brings: kernel/locking/qspinlock.c kernel/locking/mcs_spinlock.h
// brings: include/asm-generic/qspinlock.h include/asm-generic/qspinlock_types.h
#include "linux_qspinlock.h"

static void lock(void *o)
{
	queued_spin_lock(o);
}

static bool try_to_lock(void *o)
{
	return queued_spin_trylock(o);
}

static void release(void *o)
{
	queued_spin_unlock(o);
}

const struct ol_checked_lock overlock_checked = {
	.name = "Linux qspinlock",
	.size = sizeof(struct qspinlock),
	.lock = lock,
	.trylock = try_to_lock,
	.unlock = release,
};
