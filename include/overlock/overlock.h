/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_OVERLOCK_H
#define OL_OVERLOCK_H
/*
 * What a program includes: every lock of locks.def, inlined, a condition variable for all of them (cond.h), and
 * the library behind them.
 *
 *	static ol_mutex_t lock = OL_MUTEX_INIT;
 *
 *	ol_mutex_lock(&lock);
 *	...
 *	ol_mutex_unlock(&lock);
 *
 * Link with `pkg-config --libs overlock` or CMake's overlock::overlock. After fork() the child
 * must initialise again the locks it wants to use.
 */
#include <overlock/ops.h>
#include <overlock/cond.h>
#include <overlock/or_fail.h>
#include <overlock/locks.h>

#define OL_LOCK(id, gives_up, ...)	OL_DEFINE_COND(id) OL_DEFINE_OR_FAIL_##gives_up(id)
#include <overlock/locks.def>
#undef OL_LOCK

/* The default lock. */
typedef ol_rota_t ol_mutex_t;
#define OL_MUTEX_INIT			OL_ROTA_INIT
#define ol_mutex_lock			ol_rota_lock
#define ol_mutex_trylock		ol_rota_trylock
#define ol_mutex_timedlock		ol_rota_timedlock
#define ol_mutex_unlock			ol_rota_unlock
#define ol_mutex_lock_or_fail		ol_rota_lock_or_fail
#define ol_mutex_unlock_or_fail		ol_rota_unlock_or_fail
#define ol_mutex_is_locked		ol_rota_is_locked
#define ol_mutex_is_contended		ol_rota_is_contended
#define ol_mutex_cond_wait		ol_rota_cond_wait
#define ol_mutex_cond_timedwait		ol_rota_cond_timedwait

/*
 * For clang's -Wthread-safety: each lock's functions again, with what they do to the capability.
 * Here and not in the lock's header, where the analysis would ask the lock's own body for proof.
 */
#ifdef __clang__
#define OL_ANNOTATE_timed(id) \
	static inline bool ol_##id##_timedlock(ol_##id##_t *l, ol_ticks_t until) OL_TRY_ACQUIRES(l);
#define OL_ANNOTATE_waits(id)
#define OL_LOCK(id, gives_up, traits, source, what)				\
	static inline void ol_##id##_lock(ol_##id##_t *l) OL_ACQUIRES(l);	\
	static inline bool ol_##id##_trylock(ol_##id##_t *l) OL_TRY_ACQUIRES(l);\
	static inline void ol_##id##_unlock(ol_##id##_t *l) OL_RELEASES(l);	\
	static inline void ol_##id##_cond_wait(ol_cond_t *c, ol_##id##_t *l) OL_REQUIRES(l); \
	static inline bool ol_##id##_cond_timedwait(ol_cond_t *c, ol_##id##_t *l,	\
						    ol_ticks_t until) OL_REQUIRES(l);	\
	OL_ANNOTATE_##gives_up(id)
#include <overlock/locks.def>
#undef OL_LOCK
#undef OL_ANNOTATE_timed
#undef OL_ANNOTATE_waits
#endif
#endif
