/* SPDX-License-Identifier: MIT */
#ifndef OVERLOCK_FOREIGN_CK_H
#define OVERLOCK_FOREIGN_CK_H
/*
 * Concurrency Kit's ck_pr for the texts of its spinlocks, in our words: relaxed accesses and full fences, as
 * in its port for any machine that GCC knows. What is read of a pointer orders what follows, as its address
 * dependencies do.
 */
#include <overlock/checked.h>

#include <stddef.h>

#define CK_CC_INLINE	inline
#define CK_CC_UNLIKELY(x)	(x)
#define CK_CC_LIKELY(x)	(x)
#define CK_ELIDE_PROTOTYPE(...)
#define CK_ELIDE_TRYLOCK_PROTOTYPE(...)
typedef unsigned ck_backoff_t;
#define CK_BACKOFF_INITIALIZER	1
#define ck_backoff_eb(c)	ol_checked_spin_endlessly()
#define ck_pr_stall()		ol_checked_spin_endlessly()
#define ck_pr_barrier()		__asm__ volatile("" ::: "memory")
#define ck_pr_fence_lock()	__sync_synchronize()
#define ck_pr_fence_unlock()	__sync_synchronize()
#define ck_pr_fence_acquire()	__sync_synchronize()
#define ck_pr_fence_release()	__sync_synchronize()
#define ck_pr_fence_load()	__sync_synchronize()
#define ck_pr_fence_store()	__sync_synchronize()
#define ck_pr_fence_store_atomic() __sync_synchronize()
#define ck_pr_load_uint(p)	__atomic_load_n((p), __ATOMIC_RELAXED)
#define ck_pr_load_ptr(p)	__atomic_load_n((p), __ATOMIC_CONSUME)
#define ck_pr_store_uint(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define ck_pr_store_ptr(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define ck_pr_fas_uint(p, v)	__atomic_exchange_n((p), (v), __ATOMIC_RELAXED)
#define ck_pr_fas_ptr(p, v)	__atomic_exchange_n((p), (v), __ATOMIC_CONSUME)
#define ck_pr_faa_uint(p, v)	__atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define ck_pr_cas_uint(p, old, new)	__sync_bool_compare_and_swap((p), (old), (new))
#define ck_pr_cas_ptr(p, old, new)	__sync_bool_compare_and_swap((p), (old), (new))
#endif
