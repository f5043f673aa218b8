/* SPDX-License-Identifier: MIT */
#ifndef OVERLOCK_FOREIGN_MUSL_H
#define OVERLOCK_FOREIGN_MUSL_H
/*
 * What musl's texts of mutexes, condition variables, semaphores and rwlocks find in its other headers, in
 * our words. Its atomics are sequentially consistent, as on x86. There is no cancellation.
 */
#include <overlock/checked.h>

#include <errno.h>
#include <limits.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>

#define hidden
#define restrict	__restrict
#define weak_alias(old, new)
#define SEM_VALUE_MAX	0x7fffffff
#define PTHREAD_MUTEX_NORMAL		0
#define PTHREAD_MUTEX_RECURSIVE		1
#define PTHREAD_MUTEX_ERRORCHECK	2
#define PTHREAD_CANCEL_ENABLE		0
#define PTHREAD_CANCEL_DISABLE		1
#define PTHREAD_CANCEL_MASKED		2

/* glibc's headers may have these names already. */
#define pthread_mutex_t		ol_musl_mutex_t
#define pthread_cond_t		ol_musl_cond_t
#define pthread_rwlock_t	ol_musl_rwlock_t
#define pthread_t		ol_musl_thread_t
#define sem_t			ol_musl_sem_t
#define OL_MUSL_OBJECT(name, ints)						\
	typedef struct {							\
		union {								\
			int __i[ints];						\
			volatile int __vi[ints];				\
			void *__p[(ints) / 2];					\
		} __u;								\
	} name
OL_MUSL_OBJECT(pthread_mutex_t, 10);
OL_MUSL_OBJECT(pthread_cond_t, 12);
OL_MUSL_OBJECT(pthread_rwlock_t, 14);
typedef struct {
	volatile int __val[8];
} sem_t;
typedef struct __pthread *pthread_t;
#define locale_t		void *
struct __ptcb;
struct sigaction;

#define a_cas(p, old, new)						\
	({								\
		int ol_old = (old);					\
		__atomic_compare_exchange_n((p), &ol_old, (new), 0,	\
			__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);		\
		ol_old;							\
	})
#define a_swap(p, v)		__atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST)
#define a_fetch_add(p, v)	__atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST)
#define a_inc(p)		((void)a_fetch_add((volatile int *)(p), 1))
#define a_dec(p)		((void)a_fetch_add((volatile int *)(p), -1))
#define a_store(p, v)		__atomic_store_n((p), (v), __ATOMIC_SEQ_CST)
#define a_barrier()		__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define a_spin()		ol_checked_spin()

static inline long ol_musl_call(long n, long a, long b, long c, long d, long e)
{
	return ol_checked_raw_syscall(n, a, b, c, d, e);
}
#define OL_MUSL_CALL(n, a, b, c, d, e, ...)	ol_musl_call(n, (long)(a), b, c, (long)(d), (long)(e))
#define __syscall(...)		OL_MUSL_CALL(__VA_ARGS__, 0, 0, 0)
#define __syscall_cp		__syscall
#define __clock_gettime(...)	ol_musl_no_clock()

static inline int ol_musl_no_clock(void)
{
	return 0;
}

static inline int __pthread_setcancelstate(int new_, int *old)
{
	if (old)
		*old = PTHREAD_CANCEL_ENABLE;
	return 0;
}
#define pthread_setcancelstate	__pthread_setcancelstate
#define __pthread_testcancel()	((void)0)
#define pthread_testcancel()	((void)0)
#define pthread_cleanup_push(f, x)	{ void (*ol_f)(void *) = (f); void *ol_x = (x);
#define pthread_cleanup_pop(run)	if (run) ol_f(ol_x); }
static inline void __vm_lock(void)
{
}
static inline void __vm_unlock(void)
{
}
#define __get_tp()	((uintptr_t)ol_musl_thread())
static void *ol_musl_thread(void);
#endif
