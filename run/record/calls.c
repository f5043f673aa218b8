/* SPDX-License-Identifier: MIT */
/* The functions that programs find in place of glibc's. Their callers are the sites. */
#include "recorder.h"

#include <errno.h>

#define CALLER	    __builtin_return_address(0)
#define BARE(...)   __VA_ARGS__

/* A function, and what it does unless the library is idle: an idle call is a jump. */
#define CALL(name, parameters, arguments)                                             \
	static int do_##name(BARE parameters, const void *caller);                    \
                                                                                      \
	int name parameters                                                           \
	{                                                                             \
		if (__builtin_expect(ol_record_idle, false))                          \
			return ol_record_real.name arguments;                         \
		return do_##name(BARE arguments, CALLER);                             \
	}                                                                             \
                                                                                      \
	static int do_##name(BARE parameters, const void *caller)

/* An owner that died leaves the lock to us. */
static bool is_acquired(int done)
{
	return !done || done == EOWNERDEAD;
}

/* Ours if it is free; else we look at its holder, and wait for it. */
#define LOCK(name, try_name, type, busy, class, kind)                                      \
	CALL(name, (type * l), (l))                                                        \
	{                                                                                  \
		struct record_call c = ol_record_ask(l, RECORD_##class, caller);           \
		int done = ol_record_real.try_name(l);                                     \
                                                                                           \
		if (done == (busy)) {                                                      \
			if (c.whom == RECORD_NOBODY)                                       \
				c.whom = RECORD_UNKNOWN;                                   \
			done = ol_record_real.name(l);                                     \
		} else {                                                                   \
			c.whom = RECORD_NOBODY;                                            \
		}                                                                          \
		ol_record_answer(&c, is_acquired(done) ? RECORD_##kind : RECORD_fail);     \
		return done;                                                               \
	}

#define ATTEMPT(name, type, parameters, arguments, class, kind)                            \
	CALL(name, parameters, arguments)                                                  \
	{                                                                                  \
		struct record_call c = ol_record_ask(l, RECORD_##class, caller);           \
		int done = ol_record_real.name arguments;                                  \
                                                                                           \
		ol_record_answer(&c, is_acquired(done) ? RECORD_##kind : RECORD_fail);     \
		return done;                                                               \
	}

/* Nobody was in the way of one that succeeds. */
#define TRY(name, type, class, kind)                                                       \
	CALL(name, (type * l), (l))                                                        \
	{                                                                                  \
		struct record_call c = ol_record_ask(l, RECORD_##class, caller);           \
		int done = ol_record_real.name(l);                                         \
                                                                                           \
		if (is_acquired(done))                                                     \
			c.whom = RECORD_NOBODY;                                            \
		ol_record_answer(&c, is_acquired(done) ? RECORD_##kind : RECORD_fail);     \
		return done;                                                               \
	}

#define TIMED(name, type, class, kind)                                                     \
	ATTEMPT(name, type, (type *restrict l, const struct timespec *restrict at), (l, at), class, kind)
#define CLOCKED(name, type, class, kind)                                                   \
	ATTEMPT(name, type,                                                                \
		(type *restrict l, clockid_t clock, const struct timespec *restrict at),   \
		(l, clock, at), class, kind)

#define UNLOCK(name, type, class)                                                          \
	CALL(name, (type * l), (l))                                                        \
	{                                                                                  \
		struct record_call c = ol_record_release(l, RECORD_##class, caller);       \
		int done = ol_record_real.name(l);                                         \
                                                                                           \
		ol_record_released(&c, RECORD_release);                                    \
		return done;                                                               \
	}

LOCK(pthread_mutex_lock, pthread_mutex_trylock, pthread_mutex_t, EBUSY, mutex, acquire)
TRY(pthread_mutex_trylock, pthread_mutex_t, mutex, acquire)
TIMED(pthread_mutex_timedlock, pthread_mutex_t, mutex, acquire)
CLOCKED(pthread_mutex_clocklock, pthread_mutex_t, mutex, acquire)
UNLOCK(pthread_mutex_unlock, pthread_mutex_t, mutex)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, pthread_rwlock_t, EBUSY, rwlock, read)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, pthread_rwlock_t, EBUSY, rwlock, acquire)
TRY(pthread_rwlock_tryrdlock, pthread_rwlock_t, rwlock, read)
TRY(pthread_rwlock_trywrlock, pthread_rwlock_t, rwlock, acquire)
TIMED(pthread_rwlock_timedrdlock, pthread_rwlock_t, rwlock, read)
TIMED(pthread_rwlock_timedwrlock, pthread_rwlock_t, rwlock, acquire)
CLOCKED(pthread_rwlock_clockrdlock, pthread_rwlock_t, rwlock, read)
CLOCKED(pthread_rwlock_clockwrlock, pthread_rwlock_t, rwlock, acquire)
UNLOCK(pthread_rwlock_unlock, pthread_rwlock_t, rwlock)
LOCK(pthread_spin_lock, pthread_spin_trylock, pthread_spinlock_t, EBUSY, spinlock, acquire)
TRY(pthread_spin_trylock, pthread_spinlock_t, spinlock, acquire)
UNLOCK(pthread_spin_unlock, pthread_spinlock_t, spinlock)
LOCK(mtx_lock, mtx_trylock, mtx_t, thrd_busy, mutex, acquire)
TRY(mtx_trylock, mtx_t, mutex, acquire)
TIMED(mtx_timedlock, mtx_t, mutex, acquire)
UNLOCK(mtx_unlock, mtx_t, mutex)

/* glibc acquires the mutex again within the call: a wait for it is part of the wait for the condition. */
#define WAIT(name, parameters, arguments)                                                  \
	CALL(name, parameters, arguments)                                                  \
	{                                                                                  \
		struct record_call c = ol_record_release(m, RECORD_mutex, caller);         \
		int done;                                                                  \
                                                                                           \
		ol_record_released(&c, RECORD_wait);                                       \
		done = ol_record_real.name arguments;                                      \
		ol_record_woken(m, caller);                                                \
		return done;                                                               \
	}

WAIT(pthread_cond_wait, (pthread_cond_t *restrict c_, pthread_mutex_t *restrict m), (c_, m))
WAIT(pthread_cond_timedwait,
     (pthread_cond_t *restrict c_, pthread_mutex_t *restrict m, const struct timespec *restrict at),
     (c_, m, at))
WAIT(pthread_cond_clockwait,
     (pthread_cond_t *restrict c_, pthread_mutex_t *restrict m, clockid_t clock,
      const struct timespec *restrict at),
     (c_, m, clock, at))
WAIT(cnd_wait, (cnd_t * c_, mtx_t *m), (c_, m))
WAIT(cnd_timedwait, (cnd_t *restrict c_, mtx_t *restrict m, const struct timespec *restrict at),
     (c_, m, at))
