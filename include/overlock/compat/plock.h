/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OL_COMPAT_PLOCK_H
#define OL_COMPAT_PLOCK_H
/*
 * Progressive locks, as HAProxy has them, whose waiters yield their CPU after a short spin. Include it
 * instead of plock.h; -include does not do, since plock.h has no include guard and would come again.
 *
 * The program's own plock.h does the rest, so the word is as before:
 *
 *	R, S, W		counts of readers, seekers and writers, from the low bits up; a seeker and a
 *			writer also count as readers, a writer also as a seeker
 *
 * OVERLOCK_COMPAT_LOCK has no effect: none of our locks has seekers. The time to spin is `spin`, as for
 * tas_yield.
 */
#if __has_include(<import/plock.h>)
#include <import/plock.h>
#else
#include <plock.h>
#endif
#include <overlock/port.h>

static inline void ol_pl_rest(ol_ticks_t tired)
{
	if (ol_passed(tired))
		ol_yield();
	else
		ol_relax_until(tired);
}

/*
 * For both widths of word. All that waits is here, for plock.h differs from version to version: 2.6 pauses
 * between two looks, later ones pause longer each time, and a writer that waits for readers to leave does
 * not pause at all. What only tries or releases is plock.h's.
 */
#define OL_PLOCK(suffix, type, R1, R, S1, S, W1, W)					\
	static OL_COLD type ol_pl_wait_unlock_##suffix(const type *lock, type mask)	\
	{										\
		ol_ticks_t tired = ol_after(1, ol_tune(spin));				\
		type word;								\
											\
		while ((word = ol_load_acquire(lock)) & mask)				\
			ol_pl_rest(tired);						\
		return word;								\
	}										\
	static OL_COLD type ol_pl_wait_new_##suffix(const type *lock, type old)		\
	{										\
		ol_ticks_t tired = ol_after(1, ol_tune(spin));				\
		type word;								\
											\
		while ((word = ol_load_acquire(lock)) == old)				\
			ol_pl_rest(tired);						\
		return word;								\
	}										\
	static OL_COLD void ol_pl_wait_readers_##suffix(const type *lock)		\
	{										\
		ol_ticks_t tired = ol_after(1, ol_tune(spin));				\
											\
		while ((ol_load_acquire(lock) & (type)(R)) != (type)(R1))		\
			ol_pl_rest(tired);						\
	}										\
	/* Adds `mine` unless one of the bits `others` is set. */			\
	static inline int ol_pl_claim_##suffix(type *lock, type mine, type others)	\
	{										\
		if (ol_load_relaxed(lock) & others)					\
			return 0;							\
		if (!(ol_add_acquire(lock, mine) & others))				\
			return 1;							\
		ol_add_relaxed(lock, (type)-mine);					\
		return 0;								\
	}										\
	static inline void ol_pl_take_##suffix(type *lock, type mine, type others)	\
	{										\
		while (!ol_pl_claim_##suffix(lock, mine, others))			\
			ol_pl_wait_unlock_##suffix(lock, others);			\
	}										\
	/* Holding W: once the readers have left, but for the writer itself. */		\
	static inline void ol_pl_alone_##suffix(const type *lock)			\
	{										\
		if (OL_UNLIKELY((ol_load_acquire(lock) & (type)(R)) != (type)(R1)))	\
			ol_pl_wait_readers_##suffix(lock);				\
	}										\
	static inline void ol_pl_take_r_##suffix(type *lock)				\
	{										\
		ol_pl_take_##suffix(lock, (type)(R1), (type)(W));			\
	}										\
	static inline void ol_pl_take_s_##suffix(type *lock)				\
	{										\
		ol_pl_take_##suffix(lock, (type)((S1) | (R1)), (type)((W) | (S)));	\
	}										\
	static inline void ol_pl_take_w_##suffix(type *lock)				\
	{										\
		ol_pl_take_##suffix(lock, (type)((W1) | (S1) | (R1)), (type)((W) | (S)));	\
		ol_pl_alone_##suffix(lock);						\
	}										\
	static inline int ol_pl_try_w_##suffix(type *lock)				\
	{										\
		if (!ol_pl_claim_##suffix(lock, (type)((W1) | (S1) | (R1)),		\
					  (type)((W) | (S))))				\
			return 0;							\
		ol_pl_alone_##suffix(lock);						\
		return 1;								\
	}										\
	static inline void ol_pl_stow_##suffix(type *lock)				\
	{										\
		ol_add_acquire(lock, (type)(W1));					\
		ol_pl_alone_##suffix(lock);						\
	}
OL_PLOCK(long, unsigned long, PLOCK64_RL_1, PLOCK64_RL_ANY, PLOCK64_SL_1, PLOCK64_SL_ANY,
	 PLOCK64_WL_1, PLOCK64_WL_ANY)
OL_PLOCK(int, unsigned int, PLOCK32_RL_1, PLOCK32_RL_ANY, PLOCK32_SL_1, PLOCK32_SL_ANY,
	 PLOCK32_WL_1, PLOCK32_WL_ANY)

#define OL_PL(call, lock)								\
	(sizeof(*(lock)) == sizeof(long) ? ol_pl_##call##_long((unsigned long *)(lock))	\
					 : ol_pl_##call##_int((unsigned int *)(lock)))

#undef pl_take_r
#undef pl_take_s
#undef pl_take_w
#undef pl_try_w
#undef pl_stow
#define pl_take_r(lock)		OL_PL(take_r, lock)
#define pl_take_s(lock)		OL_PL(take_s, lock)
#define pl_take_w(lock)		OL_PL(take_w, lock)
#define pl_try_w(lock)		OL_PL(try_w, lock)
#define pl_stow(lock)		OL_PL(stow, lock)

/* Other macros of newer versions name these where they are used, which is after this. */
#undef pl_wait_unlock_long
#undef pl_wait_unlock_int
#define pl_wait_unlock_long	ol_pl_wait_unlock_long
#define pl_wait_unlock_int	ol_pl_wait_unlock_int
#define pl_wait_new_long	ol_pl_wait_new_long
#define pl_wait_new_int		ol_pl_wait_new_int
#endif
