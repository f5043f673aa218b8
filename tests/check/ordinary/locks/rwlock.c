// SPDX-License-Identifier: MIT
// Readers and writers: the count of readers, or -1.
#include <stdatomic.h>

typedef struct rwlock {
	atomic_int readers;
} rwlock;

void rw_rdlock(rwlock *l)
{
	for (;;) {
		int n = atomic_load_explicit(&l->readers, memory_order_relaxed);

		if (n >= 0 && atomic_compare_exchange_weak_explicit(&l->readers, &n, n + 1,
								    memory_order_acquire,
								    memory_order_relaxed))
			return;
	}
}

void rw_rdunlock(rwlock *l)
{
	atomic_fetch_sub_explicit(&l->readers, 1, memory_order_release);
}

void rw_wrlock(struct rwlock *l)
{
	for (;;) {
		int none = 0;

		if (atomic_compare_exchange_weak_explicit(
			    &l->readers, &none, -1, memory_order_acquire, memory_order_relaxed))
			return;
	}
}

void rw_wrunlock(struct rwlock *l)
{
	atomic_store_explicit(&l->readers, 0, memory_order_release);
}
