// SPDX-License-Identifier: MIT
// musl's pthread_rwlock_t.
// brings: src/internal/pthread_impl.h src/internal/futex.h src/thread/__timedwait.c
// brings: src/thread/pthread_rwlock_tryrdlock.c src/thread/pthread_rwlock_timedrdlock.c
// brings: src/thread/pthread_rwlock_trywrlock.c src/thread/pthread_rwlock_timedwrlock.c
// brings: src/thread/pthread_rwlock_unlock.c
// replaces: spins ?= ?100 => spins=0
#include <overlock/foreign/musl.h>
#define pthread_rwlock_tryrdlock	__pthread_rwlock_tryrdlock
#define pthread_rwlock_trywrlock	__pthread_rwlock_trywrlock
#include "pthread_impl.h"
#include <overlock/foreign/musl_thread.h>
#include "futex.h"
#include "__timedwait.c"
#include "pthread_rwlock_tryrdlock.c"
#include "pthread_rwlock_timedrdlock.c"
#include "pthread_rwlock_trywrlock.c"
#include "pthread_rwlock_timedwrlock.c"
#include "pthread_rwlock_unlock.c"

static void lock(void *o)
{
	__pthread_rwlock_timedwrlock(o, 0);
}

static bool try_to_lock(void *o)
{
	return __pthread_rwlock_trywrlock(o) == 0;
}

static void lock_shared(void *o)
{
	__pthread_rwlock_timedrdlock(o, 0);
}

static void release(void *o)
{
	__pthread_rwlock_unlock(o);
}

const struct ol_checked_lock overlock_checked = {
	.name = "musl rwlock",
	.size = sizeof(pthread_rwlock_t),
	.lock = lock,
	.trylock = try_to_lock,
	.unlock = release,
	.read_lock = lock_shared,
	.read_unlock = release,
};
