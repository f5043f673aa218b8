// SPDX-License-Identifier: MIT
// Functions that a macro defines; POSIX's answers: 0 is success.
#include <errno.h>
#include <stdatomic.h>

#define DEFINE_LOCK(name)                                                     \
	struct name {                                                         \
		_Atomic char held;                                            \
	};                                                                    \
	int name##_trylock(struct name *l)                                    \
	{                                                                     \
		return atomic_exchange_explicit(&l->held, 1,                  \
						memory_order_acquire) ?       \
			       EBUSY :                                        \
			       0;                                             \
	}                                                                     \
	int name##_lock(struct name *l)                                       \
	{                                                                     \
		while (name##_trylock(l))                                     \
			;                                                     \
		return 0;                                                     \
	}                                                                     \
	int name##_unlock(struct name *l)                                     \
	{                                                                     \
		atomic_store_explicit(&l->held, 0, memory_order_release);     \
		return 0;                                                     \
	}

DEFINE_LOCK(posix_lock)
