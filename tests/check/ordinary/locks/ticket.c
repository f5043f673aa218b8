// SPDX-License-Identifier: MIT
// A ticket lock of C11's atomics.
#include <stdatomic.h>

typedef struct {
	atomic_uint next;
	atomic_uint serving;
} ticket_lock_t;

void ticket_init(ticket_lock_t *l)
{
	atomic_init(&l->next, 0);
	atomic_init(&l->serving, 0);
}

void ticket_acquire(ticket_lock_t *l)
{
	unsigned mine = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed);

	while (atomic_load_explicit(&l->serving, memory_order_acquire) != mine)
		;
}

void ticket_release(ticket_lock_t *l)
{
	unsigned mine = atomic_load_explicit(&l->serving, memory_order_relaxed);

	atomic_store_explicit(&l->serving, mine + 1, memory_order_release);
}
