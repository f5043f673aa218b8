// SPDX-License-Identifier: MIT
// glibc's pthread_mutex_t; its kind by --cflags -DOL_KIND=PTHREAD_MUTEX_RECURSIVE_NP and the like.
// brings: sysdeps/nptl/lowlevellock.h nptl/lowlevellock.c sysdeps/nptl/pthreadP.h nptl/descr.h
// brings: nptl/pthread_mutex_lock.c nptl/pthread_mutex_trylock.c nptl/pthread_mutex_unlock.c
// replaces: (?s)/\* Internal variables\.  \*/.*\Z => #endif
// replaces: (?s)\A.*?(?=# define ENQUEUE_MUTEX_BOTH) => #if 1\n
// replaces: (?s)(#define ENQUEUE_MUTEX_PI.*?\n).*\Z => \1
#include <overlock/foreign/glibc.h>

#include <sys/param.h>

#undef PTHREAD_MUTEX_TYPE
#define DEFAULT_ADAPTIVE_COUNT	2
#define get_jitter()		0
#define get_next_backoff(n)	((n) * 2)
#define QUEUE_PTR_ADJUST	offsetof(__pthread_list_t, __next)
#define __pthread_current_priority()	0 /* of priority protection, which is not checked */
#define __pthread_tpp_change_priority(from, to)	0
#undef __NR_futex
#include "lowlevellock.h"
#include "lowlevellock.c"
#include "pthreadP.h"
#include "descr.h"
#include "pthread_mutex_lock.c"
#include "pthread_mutex_trylock.c"
#include "pthread_mutex_unlock.c"

#ifndef OL_KIND
#define OL_KIND	PTHREAD_MUTEX_TIMED_NP
#endif

static void start(void *o)
{
	((pthread_mutex_t *)o)->__data.__kind = OL_KIND;
	ol_glibc_start();
}

static void lock(void *o)
{
	assert(!___pthread_mutex_lock(o));
}

static bool try_to_lock(void *o)
{
	return ___pthread_mutex_trylock(o) == 0;
}

static void release(void *o)
{
	assert(!__pthread_mutex_unlock_usercnt(o, 1));
}

const struct ol_checked_lock overlock_checked = {
	.name = "glibc mutex",
	.size = sizeof(pthread_mutex_t),
	.init = start,
	.lock = lock,
	.trylock = OL_KIND == PTHREAD_MUTEX_RECURSIVE_NP ? 0 : try_to_lock, /* its holder may */
	.unlock = release,
};
