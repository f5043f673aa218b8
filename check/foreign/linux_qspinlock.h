/* SPDX-License-Identifier: MIT */
/* What linux_qspinlock.c and linux_qrwlock.c share: the loop that waits for the pending bit gives up. */
#include <overlock/foreign/linux.h>
#include "qspinlock_types.h"
#include "qspinlock.h"

static inline void ol_spin_before_queue(void)
{
	ol_checked_spin();
}
#undef atomic_cond_read_relaxed
#define atomic_cond_read_relaxed(v, cond)					\
	({									\
		__typeof__(&(v)->counter) ol_p = &(v)->counter;			\
		int VAL;							\
		while (VAL = READ_ONCE(*ol_p), !(cond))				\
			ol_spin_before_queue();					\
		VAL;								\
	})
#include "qspinlock.c"
#undef atomic_cond_read_relaxed
#define atomic_cond_read_relaxed(v, c)	smp_cond_load_relaxed(&(v)->counter, (c))
