// SPDX-License-Identifier: MIT
// musl's pthread_cond_t, private, with a normal mutex.
// brings: src/internal/pthread_impl.h src/internal/futex.h src/thread/__timedwait.c src/thread/__wait.c
// brings: src/thread/pthread_mutex_trylock.c src/thread/pthread_mutex_timedlock.c
// brings: src/thread/pthread_mutex_lock.c src/thread/pthread_mutex_unlock.c
// brings: src/thread/pthread_cond_timedwait.c
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
#include "__wait.c"
#include "pthread_mutex_trylock.c"
#undef IS32BIT
#undef CLAMP
#include "pthread_mutex_timedlock.c"
#include "pthread_mutex_lock.c"
#include "pthread_mutex_unlock.c"
#define lock	cond_lock
#define unlock	cond_unlock
#include "pthread_cond_timedwait.c"
#undef lock
#undef unlock

struct pair {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
};

static void lock(void *o)
{
	__pthread_mutex_lock(&((struct pair *)o)->mutex);
}

static void release(void *o)
{
	__pthread_mutex_unlock(&((struct pair *)o)->mutex);
}

static void wait(void *o)
{
	__pthread_cond_timedwait(&((struct pair *)o)->cond, &((struct pair *)o)->mutex, 0);
}

static void wake_one(void *o)
{
	__private_cond_signal(&((struct pair *)o)->cond, 1);
}

static void wake_all(void *o)
{
	__private_cond_signal(&((struct pair *)o)->cond, -1);
}

const struct ol_checked_lock overlock_checked = {
	.name = "musl condition variable",
	.size = sizeof(struct pair),
	.lock = lock,
	.unlock = release,
	.wait = wait,
	.signal = wake_one,
	.broadcast = wake_all,
};
