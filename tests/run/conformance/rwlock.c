/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "cases.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* Kinds. */

#define STATIC(name, initializer)					\
	static void name(void *object)					\
	{								\
		static const pthread_rwlock_t fresh = initializer;	\
									\
		memcpy(object, &fresh, sizeof(fresh));			\
	}
STATIC(static_default, PTHREAD_RWLOCK_INITIALIZER)
STATIC(static_writer, PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP)

static void no_attributes(void *object)
{
	pthread_rwlock_init(object, 0);
}

#define WITH(name, set)								\
	static void name(void *object)						\
	{									\
		pthread_rwlockattr_t attr;					\
										\
		pthread_rwlockattr_init(&attr);					\
		set;								\
		if (pthread_rwlock_init(object, &attr))				\
			exit(3);						\
		pthread_rwlockattr_destroy(&attr);				\
	}
#define PREFER(what)	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_##what)
#define SHARED()	pthread_rwlockattr_setpshared(&attr, PTHREAD_PROCESS_SHARED)
WITH(prefer_reader, PREFER(READER_NP))
WITH(prefer_writer, PREFER(WRITER_NP))
WITH(nonrecursive, PREFER(WRITER_NONRECURSIVE_NP))
WITH(shared, SHARED())
WITH(shared_nonrecursive, (SHARED(), PREFER(WRITER_NONRECURSIVE_NP)))

static const struct kind kinds[] = {
	{ "static", static_default },
	{ "static-nonrecursive", static_writer },
	{ "no-attributes", no_attributes },
	{ "prefer-reader", prefer_reader },
	{ "prefer-writer", prefer_writer },
	{ "nonrecursive", nonrecursive },
	{ "shared", shared },
	{ "shared-nonrecursive", shared_nonrecursive },
	{ 0, 0 },
};

/* Calls. */

CALL(pthread_rwlock_t, rdlock, pthread_rwlock_rdlock(o))
CALL(pthread_rwlock_t, wrlock, pthread_rwlock_wrlock(o))
CALL(pthread_rwlock_t, tryrdlock, pthread_rwlock_tryrdlock(o))
CALL(pthread_rwlock_t, trywrlock, pthread_rwlock_trywrlock(o))
CALL(pthread_rwlock_t, unlock, pthread_rwlock_unlock(o))
CALL(pthread_rwlock_t, destroy, pthread_rwlock_destroy(o))

#define TIMED(side)									\
	CALL(pthread_rwlock_t, side##_past, pthread_rwlock_timed##side(o, &long_past))	\
	CALL(pthread_rwlock_t, side##_1970, pthread_rwlock_timed##side(o, &before_1970)) \
	CALL(pthread_rwlock_t, side##_no_time, pthread_rwlock_timed##side(o, &no_time))	\
	CALL(pthread_rwlock_t, side##_soon,						\
	     ONCE(pthread_rwlock_timed##side(o, &t), CLOCK_REALTIME, 1))		\
	CALL(pthread_rwlock_t, side##_late,						\
	     ONCE(pthread_rwlock_timed##side(o, &t), CLOCK_REALTIME, DAY_MS))		\
	CALL(pthread_rwlock_t, side##_mono_soon,					\
	     ONCE(pthread_rwlock_clock##side(o, CLOCK_MONOTONIC, &t), CLOCK_MONOTONIC, 1)) \
	CALL(pthread_rwlock_t, side##_mono_late,					\
	     ONCE(pthread_rwlock_clock##side(o, CLOCK_MONOTONIC, &t), CLOCK_MONOTONIC, DAY_MS)) \
	CALL(pthread_rwlock_t, side##_unknown,						\
	     pthread_rwlock_clock##side(o, CLOCK_THREAD_CPUTIME_ID, &long_past))
TIMED(rdlock)
TIMED(wrlock)

static int write_and_unlock(void *object)
{
	int error = pthread_rwlock_trywrlock(object);

	return error ? error : pthread_rwlock_unlock(object);
}

static int read_and_unlock(void *object)
{
	int error = pthread_rwlock_tryrdlock(object);

	return error ? error : pthread_rwlock_unlock(object);
}

/* Reads, although it may do so already. */
static int read_again(void *object)
{
	int error = pthread_rwlock_rdlock(object);

	return error ? error : pthread_rwlock_unlock(object);
}

#define TIMED_CALLS(side)					\
	{ "timed" #side "-past", side##_past },			\
	{ "timed" #side "-before-1970", side##_1970 },		\
	{ "timed" #side "-no-time", side##_no_time },		\
	{ "timed" #side "-soon", side##_soon },			\
	{ "timed" #side "-late", side##_late },			\
	{ "clock" #side "-monotonic-soon", side##_mono_soon },	\
	{ "clock" #side "-monotonic-late", side##_mono_late },	\
	{ "clock" #side "-unknown-clock", side##_unknown }
static const struct call calls[] = {
	{ "rdlock", rdlock },	{ "tryrdlock", tryrdlock },
	TIMED_CALLS(rdlock),	{ "rdlock-and-unlock", read_again },
	{ "wrlock", wrlock },	{ "trywrlock", trywrlock },
	TIMED_CALLS(wrlock),	{ "unlock", unlock },
	{ "destroy", destroy }, { 0, 0 },
};

/* States. */

static void unused(void *object)
{
	(void)object;
}

static void used(void *object)
{
	pthread_rwlock_wrlock(object);
	pthread_rwlock_unlock(object);
	by_other(read_again, object);
}

static void read_by_self(void *object)
{
	pthread_rwlock_rdlock(object);
}

static void read_twice(void *object)
{
	pthread_rwlock_rdlock(object);
	pthread_rwlock_rdlock(object);
}

static void read_by_other(void *object)
{
	by_other(rdlock, object);
}

static void written_by_self(void *object)
{
	pthread_rwlock_wrlock(object);
}

static void written_by_other(void *object)
{
	by_other(wrlock, object);
}

static volatile bool at_the_door;

static void *write_it(void *object)
{
	at_the_door = true;
	pthread_rwlock_wrlock(object);
	pthread_rwlock_unlock(object);
	return 0;
}

/* With time to get there; that readers pass it does not depend on its having got there. */
static void writer_comes(void *object)
{
	pthread_t thread;

	pthread_create(&thread, 0, write_it, object);
	while (!at_the_door)
		sched_yield();
	nanosleep(&(struct timespec){ 0, 2000000 }, 0);
}

static void read_by_self_writer_waits(void *object)
{
	read_by_self(object);
	writer_comes(object);
}

/* A writer that waits keeps new readers of this kind out: so it has got there. */
static void writer_is_there(void *object)
{
	read_by_other(object);
	writer_comes(object);
	while (by_fresh(read_and_unlock, object) != EBUSY)
		sched_yield();
}

static void free_forked(void *object)
{
	used(object);
	go_on_in_child();
}

static void read_forked(void *object)
{
	read_by_self(object);
	go_on_in_child();
}

static void written_forked(void *object)
{
	written_by_self(object);
	go_on_in_child();
}

static void written_by_other_forked(void *object)
{
	written_by_other(object);
	go_on_in_child();
}

/* The parent's writer queued, but not in the child. */
static void read_forked_writer_waits(void *object)
{
	read_by_self_writer_waits(object);
	go_on_in_child();
}

static void destroyed_and_made(void *object)
{
	pthread_rwlock_destroy(object);
	no_attributes(object);
}

static const struct state states[] = {
	{ "free", unused },
	{ "free-used", used },
	{ "read-by-self", read_by_self },
	{ "read-twice", read_twice },
	{ "read-by-other", read_by_other },
	{ "written-by-self", written_by_self },
	{ "written-by-other", written_by_other },
	{ "read-by-self-writer-waits", read_by_self_writer_waits },
	{ "read-by-other-writer-waits", writer_is_there },
	{ "destroyed-and-made", destroyed_and_made },
	{ "forked-free", free_forked },
	{ "forked-read", read_forked },
	{ "forked-written", written_forked },
	{ "forked-other-written", written_by_other_forked },
	{ "forked-read-writer-waits", read_forked_writer_waits },
	{ 0, 0 },
};

/* To a thread that never held it: who may come in? */
static const char *look(void *object)
{
	if (!by_fresh(write_and_unlock, object))
		return "free";
	return by_fresh(read_and_unlock, object) ? "closed" : "readable";
}

const struct family rwlocks = {
	"rwlock", kinds, states, calls, sizeof(pthread_rwlock_t), unlock, errno_answer, look, true,
};
