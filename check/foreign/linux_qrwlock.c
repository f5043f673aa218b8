// SPDX-License-Identifier: MIT
// Linux's qrwlock, with qspinlock for its queue.
// brings: kernel/locking/qspinlock.c kernel/locking/mcs_spinlock.h
// brings: include/asm-generic/qspinlock.h include/asm-generic/qspinlock_types.h
// brings: include/asm-generic/qrwlock_types.h include/asm-generic/qrwlock.h kernel/locking/qrwlock.c
#include "linux_qspinlock.h"
#include "qrwlock_types.h"
#include "qrwlock.h"
#include "qrwlock.c"

static void lock(void *o)
{
	queued_write_lock(o);
}

static bool try_to_lock(void *o)
{
	return queued_write_trylock(o);
}

static void release(void *o)
{
	queued_write_unlock(o);
}

static void lock_shared(void *o)
{
	queued_read_lock(o);
}

static void release_shared(void *o)
{
	queued_read_unlock(o);
}

const struct ol_checked_lock overlock_checked = {
	.name = "Linux qrwlock",
	.size = sizeof(struct qrwlock),
	.lock = lock,
	.trylock = try_to_lock,
	.unlock = release,
	.read_lock = lock_shared,
	.read_unlock = release_shared,
};
