// SPDX-License-Identifier: MIT
// glibc's pthread_cond_t, with its low-level lock for a mutex.
// brings: sysdeps/nptl/lowlevellock.h nptl/lowlevellock.c include/atomic_wide_counter.h
// brings: nptl/pthread_cond_common.c nptl/pthread_cond_wait.c nptl/pthread_cond_signal.c
// brings: nptl/pthread_cond_broadcast.c
// replaces: #include "pthread_cond_common.c" =>
#include "glibc_lock.h"
#include "atomic_wide_counter.h"
#define __PTHREAD_COND_SHARED_MASK	1
#define __PTHREAD_COND_CLOCK_MONOTONIC_MASK 2
#define valid_nanoseconds(ns)		((ns) >= 0 && (ns) < 1000000000)
#define futex_abstimed_supported_clockid(c) 1
#define USE_REQUEUE_PI(m)		0
#define __pthread_cond_signal		___pthread_cond_signal
#define __pthread_cond_broadcast	___pthread_cond_broadcast
int ___pthread_cond_broadcast(pthread_cond_t *cond);

static int __pthread_mutex_unlock_usercnt(pthread_mutex_t *mutex, int decrement)
{
	lll_unlock(mutex->__data.__lock, LLL_PRIVATE);
	return 0;
}

static int __pthread_mutex_cond_lock(pthread_mutex_t *mutex)
{
	lll_cond_lock(mutex->__data.__lock, LLL_PRIVATE);
	return 0;
}
#include "pthread_cond_common.c"
#include "pthread_cond_wait.c"
#include "pthread_cond_signal.c"
#include "pthread_cond_broadcast.c"

struct pair {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
};

static void lock(void *o)
{
	lll_lock(((struct pair *)o)->mutex.__data.__lock, LLL_PRIVATE);
}

static void release(void *o)
{
	lll_unlock(((struct pair *)o)->mutex.__data.__lock, LLL_PRIVATE);
}

static void wait(void *o)
{
	___pthread_cond_wait(&((struct pair *)o)->cond, &((struct pair *)o)->mutex);
}

static void wake_one(void *o)
{
	___pthread_cond_signal(&((struct pair *)o)->cond);
}

static void wake_all(void *o)
{
	___pthread_cond_broadcast(&((struct pair *)o)->cond);
}

const struct ol_checked_lock overlock_checked = {
	.name = "glibc condition variable",
	.size = sizeof(struct pair),
	.lock = lock,
	.unlock = release,
	.wait = wait,
	.signal = wake_one,
	.broadcast = wake_all,
};
