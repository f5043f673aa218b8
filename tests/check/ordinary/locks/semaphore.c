// SPDX-License-Identifier: MIT
// A semaphore on a futex.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

struct sem {
	atomic_uint units;
	atomic_uint waiters;
};

void sem_init(struct sem *s, unsigned units)
{
	atomic_init(&s->units, units);
	atomic_init(&s->waiters, 0);
}

void sem_wait(struct sem *s)
{
	for (;;) {
		unsigned n = atomic_load(&s->units);

		if (n) {
			if (atomic_compare_exchange_strong(&s->units, &n, n - 1))
				return;
			continue;
		}
		atomic_fetch_add(&s->waiters, 1);
		syscall(SYS_futex, &s->units, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
		atomic_fetch_sub(&s->waiters, 1);
	}
}

void sem_post(struct sem *s)
{
	atomic_fetch_add(&s->units, 1);
	if (atomic_load(&s->waiters))
		syscall(SYS_futex, &s->units, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
