/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "cases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Kinds. */

#define STATIC(name, initializer)					\
	static void name(void *object)					\
	{								\
		static const pthread_mutex_t fresh = initializer;	\
									\
		memcpy(object, &fresh, sizeof(fresh));			\
	}
STATIC(static_normal, PTHREAD_MUTEX_INITIALIZER)
STATIC(static_recursive, PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP)
STATIC(static_errorcheck, PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP)
STATIC(static_adaptive, PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP)

static void no_attributes(void *object)
{
	pthread_mutex_init(object, 0);
}

#define WITH(name, set)								\
	static void name(void *object)						\
	{									\
		pthread_mutexattr_t attr;					\
										\
		pthread_mutexattr_init(&attr);					\
		set;								\
		if (pthread_mutex_init(object, &attr))				\
			exit(3);						\
		pthread_mutexattr_destroy(&attr);				\
	}
#define TYPE(type)	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_##type)
#define ROBUST()	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST)
#define SHARED()	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED)
#define INHERIT()	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT)
WITH(init_default, (void)attr)
WITH(init_normal, TYPE(NORMAL))
WITH(init_recursive, TYPE(RECURSIVE))
WITH(init_errorcheck, TYPE(ERRORCHECK))
WITH(init_adaptive, TYPE(ADAPTIVE_NP))
WITH(shared, SHARED())
WITH(shared_recursive, (SHARED(), TYPE(RECURSIVE)))
WITH(shared_errorcheck, (SHARED(), TYPE(ERRORCHECK)))
WITH(robust, ROBUST())
WITH(robust_recursive, (ROBUST(), TYPE(RECURSIVE)))
WITH(robust_errorcheck, (ROBUST(), TYPE(ERRORCHECK)))
WITH(inherit, INHERIT())
WITH(inherit_recursive, (INHERIT(), TYPE(RECURSIVE)))
WITH(inherit_errorcheck, (INHERIT(), TYPE(ERRORCHECK)))

static const struct kind kinds[] = {
	{ "static-normal", static_normal },
	{ "static-recursive", static_recursive },
	{ "static-errorcheck", static_errorcheck },
	{ "static-adaptive", static_adaptive },
	{ "no-attributes", no_attributes },
	{ "default", init_default },
	{ "normal", init_normal },
	{ "recursive", init_recursive },
	{ "errorcheck", init_errorcheck },
	{ "adaptive", init_adaptive },
	{ "shared", shared },
	{ "shared-recursive", shared_recursive },
	{ "shared-errorcheck", shared_errorcheck },
	{ "robust", robust },
	{ "robust-recursive", robust_recursive },
	{ "robust-errorcheck", robust_errorcheck },
	{ "inherit", inherit },
	{ "inherit-recursive", inherit_recursive },
	{ "inherit-errorcheck", inherit_errorcheck },
	{ 0, 0 },
};

/* Calls. */

CALL(pthread_mutex_t, lock, pthread_mutex_lock(o))
CALL(pthread_mutex_t, trylock, pthread_mutex_trylock(o))
CALL(pthread_mutex_t, unlock, pthread_mutex_unlock(o))
CALL(pthread_mutex_t, destroy, pthread_mutex_destroy(o))
CALL(pthread_mutex_t, consistent, pthread_mutex_consistent(o))
CALL(pthread_mutex_t, timed_past, pthread_mutex_timedlock(o, &long_past))
CALL(pthread_mutex_t, timed_1970, pthread_mutex_timedlock(o, &before_1970))
CALL(pthread_mutex_t, timed_no_time, pthread_mutex_timedlock(o, &no_time))
CALL(pthread_mutex_t, timed_soon, ONCE(pthread_mutex_timedlock(o, &t), CLOCK_REALTIME, 1))
CALL(pthread_mutex_t, timed_late, ONCE(pthread_mutex_timedlock(o, &t), CLOCK_REALTIME, DAY_MS))
CALL(pthread_mutex_t, clock_mono_soon,
     ONCE(pthread_mutex_clocklock(o, CLOCK_MONOTONIC, &t), CLOCK_MONOTONIC, 1))
CALL(pthread_mutex_t, clock_mono_late,
     ONCE(pthread_mutex_clocklock(o, CLOCK_MONOTONIC, &t), CLOCK_MONOTONIC, DAY_MS))
CALL(pthread_mutex_t, clock_real_soon,
     ONCE(pthread_mutex_clocklock(o, CLOCK_REALTIME, &t), CLOCK_REALTIME, 1))
CALL(pthread_mutex_t, clock_no_time, pthread_mutex_clocklock(o, CLOCK_MONOTONIC, &no_time))
CALL(pthread_mutex_t, clock_unknown, pthread_mutex_clocklock(o, CLOCK_THREAD_CPUTIME_ID, &no_time))

static int lock_and_unlock(void *object)
{
	int error = pthread_mutex_lock(object);

	return error ? error : pthread_mutex_unlock(object);
}

static int try_and_unlock(void *object)
{
	int error = pthread_mutex_trylock(object);

	return error ? error : pthread_mutex_unlock(object);
}

static const struct call calls[] = {
	{ "lock", lock },
	{ "trylock", trylock },
	{ "unlock", unlock },
	{ "destroy", destroy },
	{ "consistent", consistent },
	{ "lock-and-unlock", lock_and_unlock },
	{ "timedlock-past", timed_past },
	{ "timedlock-before-1970", timed_1970 },
	{ "timedlock-no-time", timed_no_time },
	{ "timedlock-soon", timed_soon },
	{ "timedlock-late", timed_late },
	{ "clocklock-monotonic-soon", clock_mono_soon },
	{ "clocklock-monotonic-late", clock_mono_late },
	{ "clocklock-realtime-soon", clock_real_soon },
	{ "clocklock-no-time", clock_no_time },
	{ "clocklock-unknown-clock", clock_unknown },
	{ 0, 0 },
};

/* States. */

static void free_never_used(void *object)
{
	(void)object;
}

static void free_used(void *object)
{
	pthread_mutex_lock(object);
	pthread_mutex_unlock(object);
	by_other(lock_and_unlock, object);
}

static void held(void *object)
{
	pthread_mutex_lock(object);
}

static void held_twice(void *object)
{
	pthread_mutex_lock(object);
	pthread_mutex_lock(object);
}

static void held_by_other(void *object)
{
	by_other(lock, object);
}

static void held_before_fork(void *object)
{
	held(object);
	go_on_in_child();
}

static void held_by_other_before_fork(void *object)
{
	held_by_other(object);
	go_on_in_child();
}

static void free_before_fork(void *object)
{
	free_used(object);
	go_on_in_child();
}

static void owner_gone(void *object)
{
	by_fresh(lock, object);
}

static void destroyed(void *object)
{
	pthread_mutex_destroy(object);
}

static void made_again(void *object)
{
	destroyed(object);
	no_attributes(object);
}

static const struct state states[] = {
	{ "free", free_never_used },
	{ "free-used", free_used },
	{ "held-by-self", held },
	{ "held-twice", held_twice },
	{ "held-by-other", held_by_other },
	{ "held-by-gone", owner_gone },
	{ "destroyed", destroyed },
	{ "destroyed-and-made", made_again },
	{ "forked-free", free_before_fork },
	{ "forked-held", held_before_fork },
	{ "forked-other-held", held_by_other_before_fork },
	{ 0, 0 },
};

/* To a thread that never held it. */
static const char *look(void *object)
{
	int error = by_fresh(try_and_unlock, object);

	return !error ? "free" : error == EBUSY ? "held" : errno_answer(error);
}

const struct family mutexes = {
	"mutex", kinds, states, calls, sizeof(pthread_mutex_t), unlock, errno_answer, look, true,
};
