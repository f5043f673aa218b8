/* SPDX-License-Identifier: MIT */
#ifndef PLANTED_H
#define PLANTED_H
/*
 * Test-and-set locks with a fault that is known: PLANTED(id, before, acquire) is one that runs
 * `before` with the number of its calls so far, and then acquires if `acquire`.
 */
#include <overlock/ops.h>

static inline void planted_wait(uint64_t ns)
{
	ol_ticks_t until = ol_after(1, ol_ticks_from_ns(ns));

	while (!ol_passed(until))
		ol_relax_until(until);
}

#define PLANTED(id, before, acquire)						\
	typedef struct ol_##id {						\
		uint32_t word, calls;						\
	} ol_##id##_t;								\
	static inline bool ol_##id##_is_locked(const ol_##id##_t *l)		\
	{									\
		return ol_load_relaxed(&l->word) != 0;				\
	}									\
	static inline bool ol_##id##_is_contended(const ol_##id##_t *l)		\
	{									\
		(void)l;							\
		return false;							\
	}									\
	static inline bool ol_##id##_trylock(ol_##id##_t *l)			\
	{									\
		return !ol_xchg_acquire(&l->word, 1u);				\
	}									\
	static inline void ol_##id##_lock(ol_##id##_t *l)			\
	{									\
		uint32_t calls = ol_add_relaxed(&l->calls, 1u);			\
		(void)calls;							\
		before;								\
		while ((acquire) && !ol_##id##_trylock(l))			\
			ol_relax();						\
	}									\
	static inline void ol_##id##_unlock(ol_##id##_t *l)			\
	{									\
		ol_store_release(&l->word, 0u);					\
	}
#endif
