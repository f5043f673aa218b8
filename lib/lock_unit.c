/* SPDX-License-Identifier: MIT */
/*
 * One lock as a table of functions. Compiled once per lock, plain and counted:
 *
 *	cc -DOL_ID=ticket -DOL_THIS_ticket=OL_YES -DOL_HEADER='<overlock/lock/ticket.h>' lock_unit.c
 */
#define OL_POLL_HOOK
#include OL_HEADER
#include <overlock/ops.h>
#ifdef OL_COUNTED
#include "counting.h"
#endif

#ifdef OL_COUNTED
#define OL_FUNCTIONS(id, gives_up)							\
	static void do_lock(void *l)							\
	{										\
		struct ol_call c;							\
		ol_acquire_begin(&c, l, &OL_JOIN(ol_ops_, id),				\
				 __builtin_return_address(0));				\
		ol_##id##_lock((ol_##id##_t *)l);					\
		ol_acquire_end(&c, OL_ACQUIRE);						\
	}										\
	static bool do_trylock(void *l)							\
	{										\
		struct ol_call c;							\
		ol_acquire_begin(&c, l, &OL_JOIN(ol_ops_, id),				\
				 __builtin_return_address(0));				\
		bool ok = ol_##id##_trylock((ol_##id##_t *)l);				\
		ol_acquire_end(&c, ok ? OL_ACQUIRE : OL_TRY_FAIL);			\
		return ok;								\
	}										\
	static void do_unlock(void *l)							\
	{										\
		struct ol_call c;							\
		ol_release_begin(&c, l, &OL_JOIN(ol_ops_, id),				\
				 __builtin_return_address(0));				\
		ol_##id##_unlock((ol_##id##_t *)l);					\
		ol_release_end(&c);							\
	}										\
	OL_TIMED_##gives_up(							\
	static bool do_timedlock(void *l, ol_ticks_t until)				\
	{										\
		struct ol_call c;							\
		ol_acquire_begin(&c, l, &OL_JOIN(ol_ops_, id),				\
				 __builtin_return_address(0));				\
		bool ok = ol_##id##_timedlock((ol_##id##_t *)l, until);			\
		ol_acquire_end(&c, ok ? OL_ACQUIRE : OL_GIVE_UP);			\
		return ok;								\
	})
#else
#define OL_FUNCTIONS(id, gives_up)							\
	static void do_lock(void *l)							\
	{										\
		ol_##id##_lock((ol_##id##_t *)l);					\
	}										\
	static bool do_trylock(void *l)							\
	{										\
		return ol_##id##_trylock((ol_##id##_t *)l);				\
	}										\
	static void do_unlock(void *l)							\
	{										\
		ol_##id##_unlock((ol_##id##_t *)l);					\
	}										\
	OL_TIMED_##gives_up(							\
	static bool do_timedlock(void *l, ol_ticks_t until)				\
	{										\
		return ol_##id##_timedlock((ol_##id##_t *)l, until);			\
	})
#endif
#define OL_FLATTEN	__attribute__((flatten)) /* no call within the first attempt */
#define OL_TIMED_timed(...)	__VA_ARGS__
#define OL_TIMED_waits(...)

#define OL_TIMED_POINTER_timed	do_timedlock
#define OL_TIMED_POINTER_waits	0

#define OL_DEFINE_OPS(id, gives_up, traits, source, what)				\
	extern const struct ol_lock_ops ol_ops_##id;					\
	OL_FUNCTIONS(id, gives_up)							\
	OL_FLATTEN static int do_take(void *l)						\
	{										\
		if (!((traits) & OL_AVOIDS))						\
			return !do_trylock(l);						\
		if (ol_##id##_is_locked((ol_##id##_t *)l))				\
			return 1;							\
		do_lock(l);								\
		return 0;								\
	}										\
	static int do_release(void *l)							\
	{										\
		if (((traits) & OL_FORGIVES) || ol_##id##_is_locked((ol_##id##_t *)l))	\
			do_unlock(l);							\
		return 0;								\
	}										\
	static bool do_is_locked(const void *l)						\
	{										\
		return ol_##id##_is_locked((const ol_##id##_t *)l);			\
	}										\
	static bool do_is_contended(const void *l)					\
	{										\
		return ol_##id##_is_contended((const ol_##id##_t *)l);			\
	}										\
	const struct ol_lock_ops ol_ops_##id = {					\
		#id, source, what,							\
		OL_ABI, sizeof(ol_##id##_t), _Alignof(ol_##id##_t), (traits),		\
		do_lock, do_trylock, OL_TIMED_POINTER_##gives_up, do_unlock,		\
		do_is_locked, do_is_contended, do_take, do_release,			\
	};										\
	_Static_assert(!((traits) & OL_FITS4) || sizeof(ol_##id##_t) == 4,		\
		       #id " is said to fit 4 bytes")

#include <overlock/this_lock.h>
