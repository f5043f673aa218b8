/* SPDX-License-Identifier: MIT */
/*
 * What nsync's files find in its port to a system, in our words: each context has a waiter of its own, memory comes
 * from a variable of the file, and time is a number.
 */
#undef __SANITIZE_THREAD__ /* its annotations are not ours */
#include <overlock/checked.h>

#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef long nsync_time;
#define NSYNC_TIME_SEC(t)	(t)
#define NSYNC_TIME_NSEC(t)	0
#define nsync_time_now()	0
#define NSYNC_NOTE_CPP_OVERLOAD_
#define NSYNC_CV_CPP_OVERLOAD_
#define NSYNC_WAITER_CPP_OVERLOAD_
#define NSYNC_PUBLIC_NSYNC_TIME_H_
static const nsync_time nsync_time_no_deadline = -1, nsync_time_zero;
#define nsync_time_cmp(a, b)	((a) - (b))
#define nsync_time_sub(a, b)	((a) - (b))

#include "nsync_cpp.h"
#include "compiler.h"
#include "nsync_atomic.h"
#include "atomic.h"
#include "nsync_mu.h"
#include "nsync_note.h"
#include "nsync_cv.h"
#include "nsync_waiter.h"
#include "sem.h"
#include "dll.h"
#include "wait_internal.h"
#include "common.h"

static char ol_area[16][1024];
static unsigned ol_used;
static void *ol_waiters[16];

static void *ol_nsync_allocate(size_t size)
{
	return ol_area[__atomic_fetch_add(&ol_used, 1, __ATOMIC_RELAXED)];
}

void *nsync_per_thread_waiter_(void (*end)(void *))
{
	return ol_waiters[ol_checked_self()];
}

void nsync_set_per_thread_waiter_(void *waiter, void (*end)(void *))
{
	ol_waiters[ol_checked_self()] = waiter;
}

void nsync_yield_(void)
{
	ol_checked_spin_endlessly();
}

void nsync_panic_(const char *why)
{
	ol_checked_fail(why);
}

#include "common.c"
#include "dll.c"
#include "nsync_semaphore_futex.c"
#include "sem_wait_no_note.c"
#include "mu.c"
#include "cv.c"

struct pair {
	nsync_mu mu;
	nsync_cv cv;
};

static void start(void *o)
{
	nsync_malloc_ptr_ = ol_nsync_allocate;
	nsync_mu_init(&((struct pair *)o)->mu);
	nsync_cv_init(&((struct pair *)o)->cv);
}

static void lock(void *o)
{
	nsync_mu_lock(o);
}

static bool try_to_lock(void *o)
{
	return nsync_mu_trylock(o);
}

static void release(void *o)
{
	nsync_mu_unlock(o);
}
