// SPDX-License-Identifier: MIT
// glibc's pthread_mutex_t of the normal kind: pthread_mutex_lock() to pthread_mutex_unlock(), without the
// kinds that need the kernel.
// brings: sysdeps/nptl/lowlevellock.h nptl/lowlevellock.c nptl/pthread_mutex_lock.c nptl/pthread_mutex_unlock.c
#include "glibc_lock.h"
#include <linux/futex.h>
#include <sys/param.h>
#include "glibc_thread.h"
#include "pthread_mutex_lock.c"
#include "pthread_mutex_unlock.c"

static void lock(void *o)
{
	___pthread_mutex_lock(o);
}

static void release(void *o)
{
	__pthread_mutex_unlock_usercnt(o, 1);
}

const struct ol_checked_lock overlock_checked = {
	.name = "glibc mutex",
	.size = sizeof(pthread_mutex_t),
	.lock = lock,
	.unlock = release,
};
