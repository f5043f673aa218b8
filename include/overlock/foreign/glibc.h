/* SPDX-License-Identifier: MIT */
#ifndef OVERLOCK_FOREIGN_GLIBC_H
#define OVERLOCK_FOREIGN_GLIBC_H
/*
 * What glibc's texts in nptl find in its internal headers, in our words, for 64-bit machines. The types are
 * those of the installed <pthread.h>. There is no cancellation, no elision and no robust or priority mutex.
 */
#include <overlock/checked.h>

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#undef assert
#define assert(x)	((x) ? (void)0 : ol_checked_assert_fail(#x, __FILE__, __LINE__, ""))
#define __HAVE_64B_ATOMICS	1
#define USE_64B_ATOMICS		1 /* its names in later versions */
#define HAVE_64B_ATOMICS	1
#define __always_inline		inline
#define __glibc_likely(x)	(x)
#define __glibc_unlikely(x)	(x)
#define attribute_hidden
#define __attribute_noinline__	__attribute__((noinline))
#define LIBC_PROBE(...)
#define versioned_symbol(...)
#define compat_symbol(...)
#define libc_hidden_def(x)
#define libc_hidden_ver(...)
#define libc_hidden_proto(...)
#define libc_hidden_data_def(x)
#define hidden_def(x)
#define strong_alias(...)
#define weak_alias(...)
#define SHLIB_COMPAT(...)	0
#define OTHER_SHLIB_COMPAT(...)	0
#define SHARED
#define __set_errno(e)		(errno = (e))
#define __timespec64		timespec
#define __pthread_testcancel()	((void)0)
#define futex_abstimed_supported_clockid(clock)	true
#define valid_nanoseconds(n)	true
#define ignore_value(x)		((void)(x))

#define atomic_load_relaxed(p)			__atomic_load_n((p), __ATOMIC_RELAXED)
#define atomic_load_acquire(p)			__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define atomic_store_relaxed(p, v)		__atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define atomic_store_release(p, v)		__atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define atomic_exchange_relaxed(p, v)		__atomic_exchange_n((p), (v), __ATOMIC_RELAXED)
#define atomic_exchange_acquire(p, v)		__atomic_exchange_n((p), (v), __ATOMIC_ACQUIRE)
#define atomic_exchange_release(p, v)		__atomic_exchange_n((p), (v), __ATOMIC_RELEASE)
#define atomic_exchange_rel			atomic_exchange_release
#define atomic_exchange_acq			atomic_exchange_acquire
#define atomic_fetch_add_relaxed(p, v)		__atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define atomic_fetch_add_acquire(p, v)		__atomic_fetch_add((p), (v), __ATOMIC_ACQUIRE)
#define atomic_fetch_add_release(p, v)		__atomic_fetch_add((p), (v), __ATOMIC_RELEASE)
#define atomic_fetch_add_acq_rel(p, v)		__atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL)
#define atomic_fetch_and_relaxed(p, v)		__atomic_fetch_and((p), (v), __ATOMIC_RELAXED)
#define atomic_fetch_and_release(p, v)		__atomic_fetch_and((p), (v), __ATOMIC_RELEASE)
#define atomic_fetch_or_relaxed(p, v)		__atomic_fetch_or((p), (v), __ATOMIC_RELAXED)
#define atomic_fetch_or_acquire(p, v)		__atomic_fetch_or((p), (v), __ATOMIC_ACQUIRE)
#define atomic_fetch_or_release(p, v)		__atomic_fetch_or((p), (v), __ATOMIC_RELEASE)
#define atomic_fetch_xor_release(p, v)		__atomic_fetch_xor((p), (v), __ATOMIC_RELEASE)
#define atomic_thread_fence_acquire()		__atomic_thread_fence(__ATOMIC_ACQUIRE)
#define atomic_full_barrier()			__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define atomic_spin_nop()			ol_checked_spin()
#define OL_GLIBC_CAS(p, old, new, order)					\
	__atomic_compare_exchange_n((p), (old), (new), 0, (order), __ATOMIC_RELAXED)
#define atomic_compare_exchange_weak_relaxed(p, old, new) OL_GLIBC_CAS(p, old, new, __ATOMIC_RELAXED)
#define atomic_compare_exchange_weak_acquire(p, old, new) OL_GLIBC_CAS(p, old, new, __ATOMIC_ACQUIRE)
#define atomic_compare_exchange_weak_release(p, old, new) OL_GLIBC_CAS(p, old, new, __ATOMIC_RELEASE)
#define atomic_compare_and_exchange_val_acq(p, new, old)			\
	({									\
		__typeof__(*(p)) ol_old = (old);				\
		OL_GLIBC_CAS(p, &ol_old, new, __ATOMIC_ACQUIRE);		\
		ol_old;								\
	})
#define atomic_compare_and_exchange_bool_acq(p, new, old)			\
	(atomic_compare_and_exchange_val_acq(p, new, old) != (old))

/* Of a thread: its number, and its list of robust mutexes. */
struct ol_glibc_thread {
	int tid;
	void *robust_prev;
	struct {
		void *list;
		long futex_offset;
		void *list_op_pending;
	} robust_head;
};
static struct ol_glibc_thread ol_glibc_threads[16];
#define THREAD_SELF			(&ol_glibc_threads[ol_checked_self()])
#define THREAD_GETMEM(self, member)	((self)->member)
#define THREAD_SETMEM(self, member, v)	((self)->member = (v))
#define SINGLE_THREAD_P			false

static inline void ol_glibc_start(void)
{
	for (int i = 0; i < 16; i++) {
		ol_glibc_threads[i].tid = i + 1;
		ol_glibc_threads[i].robust_head.list = &ol_glibc_threads[i].robust_head;
	}
}

#define FUTEX_PRIVATE	0
#define FUTEX_SHARED	1
#define LLL_PRIVATE	0
#define LLL_SHARED	1

static inline int futex_wait(unsigned *word, unsigned value, int private_)
{
	return -ol_checked_futex_wait(word, value, ~0u, false);
}

static inline void futex_wait_simple(unsigned *word, unsigned value, int private_)
{
	futex_wait(word, value, private_);
}

static inline void futex_wake(unsigned *word, int n, int private_)
{
	ol_checked_futex_wake(word, n, ~0u);
}
#define lll_futex_wake(word, n, private)	ol_checked_futex_wake(word, n, ~0u)

static inline int __futex_abstimed_wait_cancelable64(unsigned *word, unsigned value,
						     clockid_t clock, const struct timespec *until,
						     int private_)
{
	return -ol_checked_futex_wait(word, value, ~0u, until != 0);
}
#define __futex_abstimed_wait64	__futex_abstimed_wait_cancelable64

/* The normal mutex's two halves, which lowlevellock.h and nptl/pthread_mutex_unlock.c name. */
#undef pthread_cleanup_push
#undef pthread_cleanup_pop
#define pthread_cleanup_push(f, x)	{ void (*ol_f)(void *) = (void (*)(void *))(f); void *ol_x = (x);
#define pthread_cleanup_pop(run)	if (run) ol_f(ol_x); }
struct _pthread_cleanup_buffer;
#define __pthread_cleanup_push(b, f, x)	((void)(f))
#define __pthread_cleanup_pop(b, run)	((void)0)
#endif
