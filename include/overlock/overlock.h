/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_OVERLOCK_H
#define OL_OVERLOCK_H
/*
 * What a program includes: every lock of locks.def, inlined, and the library behind them.
 *
 *	static ol_tas_yield_t lock = OL_TAS_YIELD_INIT;
 *
 *	ol_tas_yield_lock(&lock);
 *	...
 *	ol_tas_yield_unlock(&lock);
 *
 * Link with `pkg-config --libs overlock` or CMake's overlock::overlock. After fork() the child
 * must initialise again the locks it wants to use.
 */
#include <overlock/ops.h>
#include <overlock/locks.h>

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
	OL_ANNOTATE_##gives_up(id)
#include <overlock/locks.def>
#undef OL_LOCK
#undef OL_ANNOTATE_timed
#undef OL_ANNOTATE_waits
#endif
#endif
