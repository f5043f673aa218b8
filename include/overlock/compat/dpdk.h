/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_COMPAT_DPDK_H
#define OL_COMPAT_DPDK_H
/*
 * DPDK's rte_spinlock.h, rte_ticketlock.h and rte_mcslock.h, as of 22.11, with one of our locks behind.
 * To be included before them:
 *
 *	cc -include overlock/compat/dpdk.h $(pkg-config --cflags libdpdk overlock) ...
 *
 * A lock that libdpdk itself acquires keeps working only if both sides know its word. tas, ttas and
 * tas_yield have that of rte_spinlock_t; nothing here has that of rte_ticketlock_t and rte_mcslock_t,
 * which thus lose their order of arrival. Transactions are not used, as on a processor without them.
 */
#if defined(_RTE_SPINLOCK_H_) || defined(_RTE_TICKETLOCK_H_) || defined(_RTE_MCSLOCK_H_)
#error "overlock: DPDK's locks are already included; include overlock/compat/dpdk.h before them"
#endif

/* Their guards: what includes them later finds ours. */
#define _RTE_SPINLOCK_H_
#define _RTE_SPINLOCK_X86_64_H_
#define _RTE_SPINLOCK_ARM_H_
#define _RTE_TICKETLOCK_H_
#define _RTE_TICKETLOCK_X86_64_H_
#define _RTE_TICKETLOCK_ARM_H_
#define _RTE_MCSLOCK_H_
#define _RTE_MCSLOCK_X86_64_H_
#define _RTE_MCSLOCK_ARM_H_

#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_pause.h>
#if defined(__x86_64__)
#include <rte_cpuflags.h>
#include <rte_rtm.h>
#endif

#include <overlock/compat/lock.h>

/* DPDK puts locks into memory that its primary and secondary processes share. */
OL_COMPAT_SHARED;

typedef struct {
	ol_compat_t ol;
} rte_spinlock_t;

typedef struct {
	ol_compat_t ol;
} rte_ticketlock_t;

#define RTE_SPINLOCK_INITIALIZER	{ OL_COMPAT_INIT }
#define RTE_TICKETLOCK_INITIALIZER	{ OL_COMPAT_INIT }
#define TICKET_LOCK_INVALID_ID		-1

#define OL_RTE_PLAIN(kind)								\
	static inline void rte_##kind##_init(rte_##kind##_t *l)				\
	{										\
		ol_compat_init(&l->ol);							\
	}										\
	static inline void rte_##kind##_lock(rte_##kind##_t *l)				\
	{										\
		ol_compat_lock(&l->ol);							\
	}										\
	static inline int rte_##kind##_trylock(rte_##kind##_t *l)			\
	{										\
		return ol_compat_trylock(&l->ol);					\
	}										\
	static inline void rte_##kind##_unlock(rte_##kind##_t *l)			\
	{										\
		ol_compat_unlock(&l->ol);						\
	}										\
	static inline int rte_##kind##_is_locked(rte_##kind##_t *l)			\
	{										\
		return ol_compat_is_locked(&l->ol);					\
	}
OL_RTE_PLAIN(spinlock)
OL_RTE_PLAIN(ticketlock)

/* Only the owner writes `user` its own id, so a relaxed load never takes another thread for it. */
#define OL_RTE_RECURSIVE(kind, plain, count_t)						\
	typedef struct {								\
		rte_##kind##_t plain;							\
		int user; /* the owner's rte_gettid(), or -1 */				\
		count_t count;								\
	} rte_##kind##_recursive_t;							\
	static inline void rte_##kind##_recursive_init(rte_##kind##_recursive_t *l)	\
	{										\
		rte_##kind##_init(&l->plain);						\
		ol_store_relaxed(&l->user, -1);						\
		l->count = 0;								\
	}										\
	static inline void rte_##kind##_recursive_lock(rte_##kind##_recursive_t *l)	\
	{										\
		int id = rte_gettid();							\
											\
		if (ol_load_relaxed(&l->user) != id) {					\
			rte_##kind##_lock(&l->plain);					\
			ol_store_relaxed(&l->user, id);					\
		}									\
		l->count++;								\
	}										\
	static inline int rte_##kind##_recursive_trylock(rte_##kind##_recursive_t *l)	\
	{										\
		int id = rte_gettid();							\
											\
		if (ol_load_relaxed(&l->user) != id) {					\
			if (!rte_##kind##_trylock(&l->plain))				\
				return 0;						\
			ol_store_relaxed(&l->user, id);					\
		}									\
		l->count++;								\
		return 1;								\
	}										\
	static inline void rte_##kind##_recursive_unlock(rte_##kind##_recursive_t *l)	\
	{										\
		if (--l->count)								\
			return;								\
		ol_store_relaxed(&l->user, -1);						\
		rte_##kind##_unlock(&l->plain);						\
	}
OL_RTE_RECURSIVE(spinlock, sl, int)
OL_RTE_RECURSIVE(ticketlock, tl, unsigned int)

#define RTE_SPINLOCK_RECURSIVE_INITIALIZER	{ RTE_SPINLOCK_INITIALIZER, -1, 0 }
#define RTE_TICKETLOCK_RECURSIVE_INITIALIZER	{ RTE_TICKETLOCK_INITIALIZER, -1, 0 }

/* Transactional forms. rte_rwlock.h, which stays DPDK's, also asks rte_try_tm(). */

static inline int rte_tm_supported(void)
{
	return 0;
}

static inline int rte_try_tm(volatile int *lock)
{
	(void)lock;
	return 0;
}

#define OL_RTE_TM(type)									\
	static inline void rte_##type##_lock_tm(rte_##type##_t *l)			\
	{										\
		rte_##type##_lock(l);							\
	}										\
	static inline int rte_##type##_trylock_tm(rte_##type##_t *l)			\
	{										\
		return rte_##type##_trylock(l);						\
	}										\
	static inline void rte_##type##_unlock_tm(rte_##type##_t *l)			\
	{										\
		rte_##type##_unlock(l);							\
	}
OL_RTE_TM(spinlock)
OL_RTE_TM(spinlock_recursive)

/* The lock is a pointer to the last waiter's node, null while it is free. The nodes are left alone. */
typedef struct rte_mcslock {
	struct rte_mcslock *next;
	int locked;
} rte_mcslock_t;

static inline void rte_mcslock_lock(rte_mcslock_t **msl, rte_mcslock_t *me)
{
	(void)me;
	ol_compat_lock_in(msl);
}

static inline int rte_mcslock_trylock(rte_mcslock_t **msl, rte_mcslock_t *me)
{
	(void)me;
	return ol_compat_trylock_in(msl);
}

static inline void rte_mcslock_unlock(rte_mcslock_t **msl, rte_mcslock_t *me)
{
	(void)me;
	ol_compat_unlock_in(msl);
}

/* The lock by value, as DPDK has it. */
static inline int rte_mcslock_is_locked(rte_mcslock_t *msl)
{
	return ol_compat_is_locked_in(&msl);
}
#endif
