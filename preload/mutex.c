/* SPDX-License-Identifier: MIT */
/* Mutexes of every kind, over the chosen lock. */
#include "preload.h"

#include <errno.h>
#include <string.h>

static pthread_mutex_t *glibc(struct mutex *m)
{
	return (pthread_mutex_t *)(void *)m;
}

bool mutex_is_foreign(const struct mutex *m)
{
	return (m->kind & ~(uint32_t)KIND_OURS) != 0 || !lock_ops();
}

static void count_foreign(const struct mutex *m)
{
	if (m->kind & KIND_ROBUST)
		LEFT(robust_mutex);
	else if (m->kind & KIND_PRIORITY)
		LEFT(priority_mutex);
	else
		LEFT(shared_mutex);
}

/*
 * Nobody has acquired it in this epoch: whoever holds it did so before the fork, and if it is a
 * thread that is not here then nobody ever will, as under glibc. Hence by trylock and with naps.
 */
static OL_COLD bool acquire_first(struct mutex *m, const struct ol_lock_ops *ops, ol_ticks_t until)
{
	uint64_t step_ns = 0;

	for (;;) {
		FOR_CALLER();
		if (ops->trylock(m->lock)) {
			/* Relaxed: who sees it early does no more than queue behind us. */
			ol_store_relaxed(&m->epoch, epoch);
			return true;
		}
		if (ol_load_relaxed(&m->epoch) == epoch || ol_passed(until))
			return false;
		nap(&step_ns, until);
	}
}

static bool is_of_this_epoch(const struct mutex *m)
{
	return ol_load_relaxed(&m->epoch) == epoch;
}

static inline void acquire(struct mutex *m, const struct ol_lock_ops *ops)
{
	if (OL_UNLIKELY(!is_of_this_epoch(m)) && acquire_first(m, ops, OL_NEVER))
		return;
	FOR_CALLER();
	ops->lock(m->lock);
}

static inline bool try_acquire(struct mutex *m, const struct ol_lock_ops *ops)
{
	FOR_CALLER();
	if (!ops->trylock(m->lock))
		return false;
	ol_store_relaxed(&m->epoch, epoch);
	return true;
}

static bool acquire_until(struct mutex *m, const struct ol_lock_ops *ops, ol_ticks_t until)
{
	if (!is_of_this_epoch(m)) {
		if (acquire_first(m, ops, until))
			return true;
		if (!is_of_this_epoch(m))
			return false;
	}
	FOR_CALLER();
	/* A lock that is handed from waiter to waiter is never free to whoever polls it. */
	return ops->timedlock && !(ops->traits & OL_POLLS) ? ops->timedlock(m->lock, until)
							   : gate_wait(m, ops, until);
}

/*
 * In pieces of a second at most, each converted anew: the wall clock may be set meanwhile, and the
 * lock's clock is another one.
 */
static int acquire_by(struct mutex *m, const struct ol_lock_ops *ops, clockid_t clock,
		      const struct timespec *until)
{
	const uint64_t most_ns = 1000000000;

	if (try_acquire(m, ops))
		return 0;
	if (!time_is_valid(until))
		return EINVAL;
	for (;;) {
		uint64_t left = ns_left(clock, until);

		if (!left)
			return ETIMEDOUT;
		left = left < most_ns ? left : most_ns;
		if (acquire_until(m, ops, ol_after(1, ol_ticks_from_ns(left))))
			return 0;
	}
}

/*
 * The words of the lock become zero, the first one last: a lock that is free says so there. No
 * thread of this process is in its queue (struct mutex). Nothing is touched afterwards.
 */
static OL_COLD void renounce(struct mutex *m)
{
	ol_store_relaxed(&m->gate, (uint64_t)0);
	ol_store_relaxed(&m->lock[1], (uint64_t)0);
	ol_store_release(&m->lock[0], (uint64_t)0);
}

static inline void release(struct mutex *m, const struct ol_lock_ops *ops)
{
	if (OL_UNLIKELY(!is_of_this_epoch(m))) {
		renounce(m);
		return;
	}
	if (OL_UNLIKELY(ol_load_relaxed(low_half(&m->gate))) && gate_offer(m, ops))
		return;
	ops->unlock(m->lock);
}

/* Recursive and errorcheck. Only the holder itself can find its own id in `owner`. */

static uint32_t id_in(const struct mutex *m)
{
	return is_of_this_epoch(m) ? self() : former_self();
}

static bool is_mine(const struct mutex *m)
{
	uint32_t owner = ol_load_relaxed(&m->owner);

	return owner && owner == id_in(m);
}

static int own(struct mutex *m)
{
	ol_store_relaxed(&m->owner, self());
	return 0;
}

static int acquire_again(struct mutex *m)
{
	if (m->depth == UINT32_MAX)
		return EAGAIN;
	m->depth++;
	return 0;
}

static bool is_recursive(const struct mutex *m)
{
	return (m->kind & KIND_TYPE) == PTHREAD_MUTEX_RECURSIVE_NP;
}

static bool is_owned_kind(const struct mutex *m)
{
	return is_recursive(m) || (m->kind & KIND_TYPE) == PTHREAD_MUTEX_ERRORCHECK_NP;
}

static OL_COLD int lock_other(struct mutex *m)
{
	if (mutex_is_foreign(m)) {
		count_foreign(m);
		return real.mutex_lock(glibc(m));
	}
	if (is_owned_kind(m)) {
		if (is_mine(m))
			return is_recursive(m) ? acquire_again(m) : EDEADLK;
		acquire(m, lock_ops());
		return own(m);
	}
	acquire(m, lock_ops());
	return 0;
}

static OL_COLD int trylock_other(struct mutex *m)
{
	if (mutex_is_foreign(m)) {
		count_foreign(m);
		return real.mutex_trylock(glibc(m));
	}
	if (is_recursive(m) && is_mine(m))
		return acquire_again(m);
	if (!try_acquire(m, lock_ops()))
		return EBUSY;
	return is_owned_kind(m) ? own(m) : 0;
}

static int timedlock_ours(struct mutex *m, clockid_t clock, const struct timespec *until)
{
	int error;

	if (!is_owned_kind(m))
		return acquire_by(m, lock_ops(), clock, until);
	if (is_mine(m))
		return is_recursive(m) ? acquire_again(m) : EDEADLK;
	error = acquire_by(m, lock_ops(), clock, until);
	return error ? error : own(m);
}

static OL_COLD int unlock_other(struct mutex *m)
{
	if (mutex_is_foreign(m))
		return real.mutex_unlock(glibc(m));
	if (is_owned_kind(m)) {
		if (!is_mine(m))
			return EPERM;
		if (is_recursive(m) && m->depth) {
			m->depth--;
			return 0;
		}
		ol_store_relaxed(&m->owner, 0u);
	}
	release(m, lock_ops());
	return 0;
}

/* The normal kind of a process that has started is the straight way through. */

static inline bool is_plain(const struct mutex *m, const struct ol_lock_ops *ops)
{
	return ops && !m->kind;
}

int mutex_lock(struct mutex *m)
{
	const struct ol_lock_ops *ops = ol_load_acquire(&chosen);

	if (OL_UNLIKELY(!is_plain(m, ops)))
		return lock_other(m);
	acquire(m, ops);
	return 0;
}

int mutex_trylock(struct mutex *m)
{
	const struct ol_lock_ops *ops = ol_load_acquire(&chosen);

	if (OL_UNLIKELY(!is_plain(m, ops)))
		return trylock_other(m);
	return try_acquire(m, ops) ? 0 : EBUSY;
}

int mutex_unlock(struct mutex *m)
{
	const struct ol_lock_ops *ops = ol_load_acquire(&chosen);

	if (OL_UNLIKELY(!is_plain(m, ops)))
		return unlock_other(m);
	release(m, ops);
	return 0;
}

int mutex_timedlock(struct mutex *m, clockid_t clock, const struct timespec *until)
{
	if (!clock_is_known(clock))
		return EINVAL;
	if (mutex_is_foreign(m)) {
		count_foreign(m);
		if (clock == CLOCK_REALTIME)
			return real.mutex_timedlock(glibc(m), until);
		return real.mutex_clocklock(glibc(m), clock, until);
	}
	return timedlock_ours(m, clock, until);
}

/* glibc reads the attributes, and leaves all zero but for the kind. */
int mutex_init(struct mutex *m, const pthread_mutexattr_t *attr)
{
	int error;

	if (!attr && lock_ops()) {
		memset(m, 0, sizeof(pthread_mutex_t));
		return 0;
	}
	lock_ops(); /* for `real` */
	error = real.mutex_init(glibc(m), attr);
	if (!error && !mutex_is_foreign(m) && !is_owned_kind(m))
		m->kind = 0; /* adaptive and plain are one to us: both the straight way */
	return error;
}

/* Marked as glibc marks them, so that any use before the next init is refused by glibc: EINVAL. */
int mutex_destroy(struct mutex *m)
{
	if (mutex_is_foreign(m))
		return real.mutex_destroy(glibc(m));
	if (lock_ops()->is_locked(m->lock))
		return EBUSY;
	m->kind = (uint32_t)-1;
	return 0;
}
