/* SPDX-License-Identifier: MIT */
/* No struct: a typedef and inline functions. */
#ifndef FLAG_H
#define FLAG_H
#include <stdatomic.h>
#include <stdbool.h>

typedef atomic_flag spin_t;

static inline void spin_lock(spin_t *l)
{
	while (atomic_flag_test_and_set_explicit(l, memory_order_acquire))
		;
}

static inline bool spin_trylock(spin_t *l)
{
	return !atomic_flag_test_and_set_explicit(l, memory_order_acquire);
}

static inline void spin_unlock(spin_t *l)
{
	atomic_flag_clear_explicit(l, memory_order_release);
}

#endif
