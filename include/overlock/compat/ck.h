/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_COMPAT_CK_H
#define OL_COMPAT_CK_H
/*
 * Concurrency Kit's ck_spinlock.h, as of 0.7.1, with one of our locks behind: fas, cas, dec, ticket, mcs,
 * clh and anderson. Not here: hclh, and the ck_elide_ forms. To be included instead of ck_spinlock.h or
 * before it:
 *
 *	cc -include overlock/compat/ck.h $(pkg-config --cflags overlock) ...
 *
 * Queue locks lose their order of arrival. Nodes and slots of the caller are accepted and not needed.
 */
#ifdef CK_SPINLOCK_H
#error "overlock: ck_spinlock.h is already included; include overlock/compat/ck.h before it"
#endif

/* Their guards, and what says that a lock exists: what includes them later finds ours. */
#define CK_SPINLOCK_H
#define CK_F_SPINLOCK_ANDERSON
#define CK_F_SPINLOCK_CAS
#define CK_F_SPINLOCK_CLH
#define CK_F_SPINLOCK_DEC
#define CK_F_SPINLOCK_FAS
#define CK_F_SPINLOCK_MCS
#define CK_F_SPINLOCK_TICKET
#define CK_F_SPINLOCK_TICKET_TRYLOCK

/* Programs rely on what ck_spinlock.h includes. A program in C++ cannot: these are C only. */
#if __has_include(<ck_pr.h>) && !defined(__cplusplus)
#include <ck_backoff.h>
#include <ck_cc.h>
#include <ck_elide.h>
#include <ck_md.h>
#include <ck_pr.h>
#endif

#include <overlock/compat/lock.h>

#define OL_CK_SPINLOCK(kind)								\
	struct ck_spinlock_##kind {							\
		ol_compat_t ol;								\
	};										\
	typedef struct ck_spinlock_##kind ck_spinlock_##kind##_t;			\
	static inline void ck_spinlock_##kind##_init(struct ck_spinlock_##kind *l)	\
	{										\
		ol_compat_init(&l->ol);							\
	}										\
	static inline bool ck_spinlock_##kind##_trylock(struct ck_spinlock_##kind *l)	\
	{										\
		return ol_compat_trylock(&l->ol);					\
	}										\
	static inline bool ck_spinlock_##kind##_locked(struct ck_spinlock_##kind *l)	\
	{										\
		return ol_compat_is_locked(&l->ol);					\
	}										\
	static inline void ck_spinlock_##kind##_lock(struct ck_spinlock_##kind *l)	\
	{										\
		ol_compat_lock(&l->ol);							\
	}										\
	static inline void ck_spinlock_##kind##_unlock(struct ck_spinlock_##kind *l)	\
	{										\
		ol_compat_unlock(&l->ol);						\
	}

#define OL_CK_SPINLOCK_EB(kind)								\
	OL_CK_SPINLOCK(kind)								\
	static inline void ck_spinlock_##kind##_lock_eb(struct ck_spinlock_##kind *l)	\
	{										\
		ol_compat_lock(&l->ol);							\
	}

OL_CK_SPINLOCK_EB(fas)
OL_CK_SPINLOCK_EB(cas)
OL_CK_SPINLOCK_EB(dec)
OL_CK_SPINLOCK(ticket)

#define CK_SPINLOCK_FAS_INITIALIZER	{ OL_COMPAT_INIT }
#define CK_SPINLOCK_CAS_INITIALIZER	{ OL_COMPAT_INIT }
#define CK_SPINLOCK_DEC_INITIALIZER	{ OL_COMPAT_INIT }
#define CK_SPINLOCK_TICKET_INITIALIZER	{ OL_COMPAT_INIT }

static inline void ck_spinlock_ticket_lock_pb(struct ck_spinlock_ticket *l, unsigned int backoff)
{
	(void)backoff;
	ol_compat_lock(&l->ol);
}

#define CK_SPINLOCK_INITIALIZER	CK_SPINLOCK_FAS_INITIALIZER
#define ck_spinlock_t		ck_spinlock_fas_t
#define ck_spinlock_init(l)	ck_spinlock_fas_init(l)
#define ck_spinlock_trylock(l)	ck_spinlock_fas_trylock(l)
#define ck_spinlock_locked(l)	ck_spinlock_fas_locked(l)
#define ck_spinlock_lock(l)	ck_spinlock_fas_lock(l)
#define ck_spinlock_lock_eb(l)	ck_spinlock_fas_lock_eb(l)
#define ck_spinlock_unlock(l)	ck_spinlock_fas_unlock(l)

/* MCS: the lock is a pointer to the last waiter's node, null while it is free. */
struct ck_spinlock_mcs {
	unsigned int locked;
	struct ck_spinlock_mcs *next;
};
typedef struct ck_spinlock_mcs *ck_spinlock_mcs_t;
typedef struct ck_spinlock_mcs ck_spinlock_mcs_context_t;

#define CK_SPINLOCK_MCS_INITIALIZER	(NULL)

static inline void ck_spinlock_mcs_init(struct ck_spinlock_mcs **queue)
{
	*queue = NULL;
}

static inline bool ck_spinlock_mcs_trylock(struct ck_spinlock_mcs **queue,
					   struct ck_spinlock_mcs *node)
{
	(void)node;
	return ol_compat_trylock_in(queue);
}

static inline bool ck_spinlock_mcs_locked(struct ck_spinlock_mcs **queue)
{
	struct ck_spinlock_mcs *seen = ol_load_acquire(queue);

	return ol_compat_is_locked_in(&seen);
}

static inline void ck_spinlock_mcs_lock(struct ck_spinlock_mcs **queue,
					struct ck_spinlock_mcs *node)
{
	(void)node;
	ol_compat_lock_in(queue);
}

static inline void ck_spinlock_mcs_unlock(struct ck_spinlock_mcs **queue,
					  struct ck_spinlock_mcs *node)
{
	(void)node;
	ol_compat_unlock_in(queue);
}

/*
 * CLH: unlock is told the node alone, so the node remembers its lock. The lock lies in the node that init
 * is given and stays there, while in CK a thread leaves with another node than it brought. Either way
 * each thread ends with one node, and the lock with one.
 */
struct ck_spinlock_clh {
	ol_compat_t ol;
	struct ck_spinlock_clh *held;
};
typedef struct ck_spinlock_clh ck_spinlock_clh_t;

static inline void ck_spinlock_clh_init(struct ck_spinlock_clh **lock,
					struct ck_spinlock_clh *unowned)
{
	ol_compat_init(&unowned->ol);
	*lock = unowned;
}

static inline bool ck_spinlock_clh_locked(struct ck_spinlock_clh **lock)
{
	return ol_compat_is_locked(&(*lock)->ol);
}

static inline void ck_spinlock_clh_lock(struct ck_spinlock_clh **lock,
					struct ck_spinlock_clh *thread)
{
	ol_compat_lock(&(*lock)->ol);
	thread->held = *lock;
}

static inline void ck_spinlock_clh_unlock(struct ck_spinlock_clh **thread)
{
	ol_compat_unlock(&(*thread)->held->ol);
}

/* Anderson's: no more threads than slots in CK; here any number. */
struct ck_spinlock_anderson_thread {
	unsigned int locked;
	unsigned int position;
};
typedef struct ck_spinlock_anderson_thread ck_spinlock_anderson_thread_t;

struct ck_spinlock_anderson {
	struct ck_spinlock_anderson_thread *slots;
	ol_compat_t ol;
};
typedef struct ck_spinlock_anderson ck_spinlock_anderson_t;

static inline void ck_spinlock_anderson_init(struct ck_spinlock_anderson *l,
					     struct ck_spinlock_anderson_thread *slots,
					     unsigned int count)
{
	(void)count;
	l->slots = slots;
	ol_compat_init(&l->ol);
}

static inline bool ck_spinlock_anderson_locked(struct ck_spinlock_anderson *l)
{
	return ol_compat_is_locked(&l->ol);
}

static inline void ck_spinlock_anderson_lock(struct ck_spinlock_anderson *l,
					     struct ck_spinlock_anderson_thread **slot)
{
	ol_compat_lock(&l->ol);
	*slot = l->slots;
}

static inline void ck_spinlock_anderson_unlock(struct ck_spinlock_anderson *l,
					       struct ck_spinlock_anderson_thread *slot)
{
	(void)slot;
	ol_compat_unlock(&l->ol);
}
#endif
