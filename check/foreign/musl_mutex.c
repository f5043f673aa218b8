// SPDX-License-Identifier: MIT
// musl's pthread_mutex_t, of the normal kind. Its spinning only reads: it may as well not be.
// brings: src/internal/pthread_impl.h src/internal/futex.h src/thread/__timedwait.c
// brings: src/thread/pthread_mutex_trylock.c src/thread/pthread_mutex_timedlock.c
// brings: src/thread/pthread_mutex_lock.c src/thread/pthread_mutex_unlock.c
// replaces: spins ?= ?100 => spins=0
#include <overlock/foreign/musl.h>
#define pthread_mutex_lock	__pthread_mutex_lock
#define pthread_mutex_trylock	__pthread_mutex_trylock
#define pthread_mutex_timedlock	__pthread_mutex_timedlock
#include "pthread_impl.h"
#include <overlock/foreign/musl_thread.h>
#include "futex.h"
int __pthread_mutex_trylock(pthread_mutex_t *m);
int __pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *at);
#include "__timedwait.c"
#include "pthread_mutex_trylock.c"
#undef IS32BIT
#undef CLAMP
#include "pthread_mutex_timedlock.c"
#include "pthread_mutex_lock.c"
#include "pthread_mutex_unlock.c"

static void lock(void *o)
{
	__pthread_mutex_lock(o);
}

static bool try_to_lock(void *o)
{
	return __pthread_mutex_trylock(o) == 0;
}

static void release(void *o)
{
	__pthread_mutex_unlock(o);
}

const struct ol_checked_lock overlock_checked = {
	.name = "musl mutex",
	.size = sizeof(pthread_mutex_t),
	.lock = lock,
	.trylock = try_to_lock,
	.unlock = release,
};
