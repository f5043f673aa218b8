// SPDX-License-Identifier: MIT
// nsync's nsync_mu, and its condition variable nsync_cv.
// brings: public/nsync_cpp.h public/nsync_atomic.h public/nsync_mu.h public/nsync_note.h public/nsync_cv.h
// brings: public/nsync_waiter.h platform/posix/compiler.h platform/gcc_new/atomic.h
// brings: internal/wait_internal.h internal/sem.h internal/dll.h internal/common.h internal/common.c internal/dll.c internal/mu.c
// brings: internal/cv.c internal/sem_wait_no_note.c platform/linux/src/nsync_semaphore_futex.c
#include "nsync.h"

static void lock_shared(void *o)
{
	nsync_mu_rlock(o);
}

static void release_shared(void *o)
{
	nsync_mu_runlock(o);
}

static void wait(void *o)
{
	nsync_cv_wait(&((struct pair *)o)->cv, o);
}

static void wake_one(void *o)
{
	nsync_cv_signal(&((struct pair *)o)->cv);
}

static void wake_all(void *o)
{
	nsync_cv_broadcast(&((struct pair *)o)->cv);
}

const struct ol_checked_lock overlock_checked = {
	.name = "nsync_mu and nsync_cv",
	.size = sizeof(struct pair),
	.init = start,
	.lock = lock,
	.trylock = try_to_lock,
	.unlock = release,
	.read_lock = lock_shared,
	.read_unlock = release_shared,
	.wait = wait,
	.signal = wake_one,
	.broadcast = wake_all,
};
