// SPDX-License-Identifier: MIT
// Rust's std::sync::Mutex on futexes, a model in our words: 0 free, 1 locked, 2 locked and contended. Its
// spinning only reads, and is left out.
#include <overlock/checked.h>

struct mutex {
	unsigned state;
};

static bool try_to_lock(void *o)
{
	struct mutex *m = o;
	unsigned was = 0;

	return __atomic_compare_exchange_n(&m->state, &was, 1, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static void lock_contended(struct mutex *m)
{
	unsigned state = __atomic_load_n(&m->state, __ATOMIC_RELAXED);

	if (state == 0 && try_to_lock(m))
		return;
	for (;;) {
		if (state != 2 && __atomic_exchange_n(&m->state, 2, __ATOMIC_ACQUIRE) == 0)
			return;
		ol_checked_futex_wait(&m->state, 2, ~0u, false);
		state = __atomic_load_n(&m->state, __ATOMIC_RELAXED);
	}
}

static void lock(void *o)
{
	if (!try_to_lock(o))
		lock_contended(o);
}

static void release(void *o)
{
	struct mutex *m = o;

	if (__atomic_exchange_n(&m->state, 0, __ATOMIC_RELEASE) == 2)
		ol_checked_futex_wake(&m->state, 1, ~0u);
}

#ifndef OL_ONLY_MUTEX
const struct ol_checked_lock overlock_checked = {
	.name = "Rust std mutex (model)",
	.size = sizeof(struct mutex),
	.lock = lock,
	.trylock = try_to_lock,
	.unlock = release,
};
#endif
