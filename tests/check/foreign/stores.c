// SPDX-License-Identifier: MIT
// Who comes second stores to a word again and again. Under C11 all of it may come before the first one's
// store.
#include <overlock/checked.h>
#include <stdatomic.h>

struct lock {
	atomic_uint held, came;
	_Alignas(8) atomic_uint told;
};

static void lock(void *lock)
{
	struct lock *l = lock;

	atomic_store_explicit(&l->told, 1, memory_order_relaxed);
	if (atomic_fetch_add_explicit(&l->came, 1, memory_order_relaxed))
		for (unsigned i = 0; i < STORES; i++)
			atomic_store_explicit(&l->told, i, memory_order_relaxed);
	while (atomic_exchange_explicit(&l->held, 1, memory_order_acquire))
		;
}

static void unlock(void *lock)
{
	struct lock *l = lock;

	atomic_store_explicit(&l->held, 0, memory_order_release);
}

const struct ol_checked_lock overlock_checked = {
	.name = "stores",
	.size = sizeof(struct lock),
	.lock = lock,
	.unlock = unlock,
};
