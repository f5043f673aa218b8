/* SPDX-License-Identifier: MIT */
/* The functions that programs find in place of glibc's. Their callers are the sites. */
#include "chaos.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define CALLER	    __builtin_return_address(0)
#define VISIT(kind) ol_chaos_visit(CHAOS_##kind, caller)
#define BARE(...)   __VA_ARGS__

/*
 * A function, and what it does unless the library is idle. It is not idle before the start, and so before anybody
 * knows where calls go on to; VISIT starts the library. That part is a function of its own, for an idle call is to
 * be a jump.
 */
#define CALL(name, parameters, arguments)                                             \
	static int do_##name(BARE parameters, const void *caller);                    \
                                                                                      \
	int name parameters                                                           \
	{                                                                             \
		if (__builtin_expect(ol_chaos_idle, true))                            \
			return ol_chaos_real.name arguments;                          \
		return do_##name(BARE arguments, CALLER);                             \
	}                                                                             \
                                                                                      \
	static __attribute__((noinline)) int do_##name(BARE parameters, const void *caller)

/* A call that waits, timed. */
#define WAITED(kind, call)                                                     \
	__extension__({                                                        \
		struct chaos_site *waited_at = ol_chaos_site(CHAOS_##kind, caller); \
		uint64_t waited_since = ol_chaos_wait_begin(waited_at);        \
		int waited = ol_chaos_real.call;                               \
                                                                               \
		ol_chaos_wait_end(waited_at, waited_since);                    \
		waited;                                                        \
	})

/* Locks. */

/* An owner that died leaves the lock to us. */
static int acquired(int done, const void *caller)
{
	if (!done || done == EOWNERDEAD)
		VISIT(holder);
	return done;
}

#define LOCK(name, try_name, type, busy)                       \
	CALL(name, (type * l), (l))                            \
	{                                                      \
		int done;                                      \
                                                               \
		VISIT(waiter);                                 \
		done = ol_chaos_real.try_name(l);              \
		if (done == (busy))                            \
			done = WAITED(waiter, name(l));        \
		return acquired(done, caller);                 \
	}

#define TRY(name, type)                                              \
	CALL(name, (type * l), (l))                                  \
	{                                                            \
		VISIT(waiter);                                       \
		return acquired(ol_chaos_real.name(l), caller);      \
	}

#define TIMED(name, type)                                                             \
	CALL(name, (type *restrict l, const struct timespec *restrict at), (l, at))   \
	{                                                                             \
		VISIT(waiter);                                                        \
		return acquired(WAITED(waiter, name(l, at)), caller);                 \
	}

#define CLOCKED(name, type)                                                                    \
	CALL(name, (type *restrict l, clockid_t clock, const struct timespec *restrict at),    \
	     (l, clock, at))                                                                   \
	{                                                                                      \
		VISIT(waiter);                                                                 \
		return acquired(WAITED(waiter, name(l, clock, at)), caller);                   \
	}

/* The lock may be gone when it is released: only the caller is looked at. */
#define UNLOCK(name, type)                                     \
	CALL(name, (type * l), (l))                            \
	{                                                      \
		int done;                                      \
                                                               \
		VISIT(before_unlock);                          \
		done = ol_chaos_real.name(l);                  \
		VISIT(after_unlock);                           \
		return done;                                   \
	}

LOCK(pthread_mutex_lock, pthread_mutex_trylock, pthread_mutex_t, EBUSY)
TRY(pthread_mutex_trylock, pthread_mutex_t)
TIMED(pthread_mutex_timedlock, pthread_mutex_t)
CLOCKED(pthread_mutex_clocklock, pthread_mutex_t)
UNLOCK(pthread_mutex_unlock, pthread_mutex_t)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, pthread_rwlock_t, EBUSY)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, pthread_rwlock_t, EBUSY)
TRY(pthread_rwlock_tryrdlock, pthread_rwlock_t)
TRY(pthread_rwlock_trywrlock, pthread_rwlock_t)
TIMED(pthread_rwlock_timedrdlock, pthread_rwlock_t)
TIMED(pthread_rwlock_timedwrlock, pthread_rwlock_t)
CLOCKED(pthread_rwlock_clockrdlock, pthread_rwlock_t)
CLOCKED(pthread_rwlock_clockwrlock, pthread_rwlock_t)
UNLOCK(pthread_rwlock_unlock, pthread_rwlock_t)
LOCK(pthread_spin_lock, pthread_spin_trylock, pthread_spinlock_t, EBUSY)
TRY(pthread_spin_trylock, pthread_spinlock_t)
UNLOCK(pthread_spin_unlock, pthread_spinlock_t)
LOCK(mtx_lock, mtx_trylock, mtx_t, thrd_busy)
TRY(mtx_trylock, mtx_t)
TIMED(mtx_timedlock, mtx_t)
UNLOCK(mtx_unlock, mtx_t)

/* Condition variables. */

/*
 * A thread that was woken and has no CPU does not hold the mutex. So we give it back, and sleep: nobody can
 * tell that it was ours meanwhile. A recursive one that is held more than once is held once more by us: as in
 * the wait itself, one level is given back.
 */
static void wake(struct chaos_site *s, int done, void *mutex, int (*unlock)(void *),
		 int (*lock)(void *))
{
	uint64_t ns = s ? ol_chaos_draw(s) : 0;

	if (!ns || (done && done != ETIMEDOUT) || unlock(mutex))
		return;
	ol_chaos_nap(s, ns);
	lock(mutex);
}

#define WAIT_WITH(prefix, name, parameters, arguments, timed_out)                              \
	CALL(name, parameters, arguments)                                                      \
	{                                                                                      \
		int done;                                                                      \
                                                                                               \
		VISIT(before_wait);                                                            \
		done = WAITED(before_wait, name arguments);                                    \
		wake(ol_chaos_site(CHAOS_wake, caller), done == (timed_out) ? 0 : done, m,     \
		     (int (*)(void *))ol_chaos_real.prefix##_unlock,                           \
		     (int (*)(void *))ol_chaos_real.prefix##_lock);                            \
		VISIT(after_wake);                                                             \
		return done;                                                                   \
	}

WAIT_WITH(pthread_mutex, pthread_cond_wait,
	  (pthread_cond_t *restrict c, pthread_mutex_t *restrict m), (c, m), 0)
WAIT_WITH(pthread_mutex, pthread_cond_timedwait,
	  (pthread_cond_t *restrict c, pthread_mutex_t *restrict m,
	   const struct timespec *restrict at),
	  (c, m, at), ETIMEDOUT)
WAIT_WITH(pthread_mutex, pthread_cond_clockwait,
	  (pthread_cond_t *restrict c, pthread_mutex_t *restrict m, clockid_t clock,
	   const struct timespec *restrict at),
	  (c, m, clock, at), ETIMEDOUT)
WAIT_WITH(mtx, cnd_wait, (cnd_t * c, mtx_t *m), (c, m), 0)
WAIT_WITH(mtx, cnd_timedwait,
	  (cnd_t *restrict c, mtx_t *restrict m, const struct timespec *restrict at), (c, m, at),
	  thrd_timedout)

#define SIGNAL(name, type)                                     \
	CALL(name, (type * c), (c))                            \
	{                                                      \
		int done;                                      \
                                                               \
		VISIT(before_signal);                          \
		done = ol_chaos_real.name(c);                  \
		VISIT(after_signal);                           \
		return done;                                   \
	}

SIGNAL(pthread_cond_signal, pthread_cond_t)
SIGNAL(pthread_cond_broadcast, pthread_cond_t)
SIGNAL(cnd_signal, cnd_t)
SIGNAL(cnd_broadcast, cnd_t)
SIGNAL(sem_post, sem_t)

/* Other waits. */

#define WAIT(name, parameters, arguments)                      \
	CALL(name, parameters, arguments)                      \
	{                                                      \
		int done;                                      \
                                                               \
		VISIT(before_wait);                            \
		done = WAITED(before_wait, name arguments);    \
		VISIT(after_wake);                             \
		return done;                                   \
	}

WAIT(sem_wait, (sem_t * s), (s))
WAIT(sem_trywait, (sem_t * s), (s))
WAIT(sem_timedwait, (sem_t *restrict s, const struct timespec *restrict at), (s, at))
WAIT(sem_clockwait, (sem_t *restrict s, clockid_t clock, const struct timespec *restrict at),
     (s, clock, at))
WAIT(pthread_barrier_wait, (pthread_barrier_t * b), (b))
WAIT(pthread_join, (pthread_t thread, void **result), (thread, result))
WAIT(thrd_join, (thrd_t thread, int *result), (thread, result))

/* Initialisation. The routine has no argument: this thread calls it, if any does. */

static __thread struct {
	void (*routine)(void);
	const void *caller;
} initialising;

static void initialise(void)
{
	void (*routine)(void) = initialising.routine;

	ol_chaos_visit(CHAOS_once, initialising.caller);
	routine();
}

CALL(pthread_once, (pthread_once_t * once, void (*routine)(void)), (once, routine))
{
	VISIT(waiter);
	initialising.routine = routine;
	initialising.caller = caller;
	return ol_chaos_real.pthread_once(once, initialise);
}

void call_once(once_flag *once, void (*routine)(void))
{
	if (ol_chaos_idle) {
		ol_chaos_real.call_once(once, routine);
		return;
	}
	ol_chaos_visit(CHAOS_waiter, CALLER);
	initialising.routine = routine;
	initialising.caller = CALLER;
	ol_chaos_real.call_once(once, initialise);
}

/* Threads. */

struct born {
	void *(*begin)(void *);
	thrd_start_t begin_c11;
	void *arg;
	const void *caller;
	uint64_t place;
};

static struct born come_to_life(void *arg)
{
	struct born b = *(struct born *)arg;

	free(arg);
	ol_chaos_thread_start(b.place);
	ol_chaos_visit(CHAOS_start, b.caller);
	return b;
}

static void *live(void *arg)
{
	struct born b = come_to_life(arg);

	return b.begin(b.arg);
}

static int live_c11(void *arg)
{
	struct born b = come_to_life(arg);

	return b.begin_c11(b.arg);
}

static struct born *bear(struct born b)
{
	struct born *kept = malloc(sizeof(*kept));

	if (!kept)
		return 0;
	b.place = ol_chaos_child();
	*kept = b;
	return kept;
}

CALL(pthread_create,
     (pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*begin)(void *),
      void *restrict arg),
     (thread, attributes, begin, arg))
{
	struct born *b;
	int done;

	ol_chaos_site(CHAOS_start, caller); /* which starts the library */
	b = bear((struct born){ .begin = begin, .arg = arg, .caller = caller });
	if (!b)
		return EAGAIN;
	done = ol_chaos_real.pthread_create(thread, attributes, live, b);
	if (done)
		free(b);
	VISIT(created);
	return done;
}

CALL(thrd_create, (thrd_t * thread, thrd_start_t begin, void *arg), (thread, begin, arg))
{
	struct born *b;
	int done;

	ol_chaos_site(CHAOS_start, caller);
	b = bear((struct born){ .begin_c11 = begin, .arg = arg, .caller = caller });
	if (!b)
		return thrd_nomem;
	done = ol_chaos_real.thrd_create(thread, live_c11, b);
	if (done != thrd_success)
		free(b);
	VISIT(created);
	return done;
}

/* Futexes: Rust's locks, C++20's atomics and others call them by syscall(). */

static bool waits(long operation)
{
	return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET ||
	       operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2;
}

static bool wakes(long operation)
{
	return operation == FUTEX_WAKE || operation == FUTEX_WAKE_BITSET ||
	       operation == FUTEX_WAKE_OP || operation == FUTEX_REQUEUE ||
	       operation == FUTEX_CMP_REQUEUE || operation == FUTEX_UNLOCK_PI;
}

long syscall(long number, ...)
{
	long a[6], done, operation;
	va_list args;

	/* There may be fewer; then it is the caller's registers, as glibc's own takes them. */
	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (ol_chaos_idle || number != SYS_futex) {
		ol_chaos_begin();
		return ol_chaos_real.syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	}
	operation = a[1] & FUTEX_CMD_MASK;
	if (waits(operation))
		ol_chaos_visit(CHAOS_before_wait, CALLER);
	else if (wakes(operation))
		ol_chaos_visit(CHAOS_before_signal, CALLER);
	done = ol_chaos_real.syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (waits(operation))
		ol_chaos_visit(CHAOS_after_wake, CALLER);
	else if (wakes(operation))
		ol_chaos_visit(CHAOS_after_signal, CALLER);
	return done;
}
