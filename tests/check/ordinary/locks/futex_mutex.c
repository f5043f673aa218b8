// SPDX-License-Identifier: MIT
// A mutex on a futex: three states, so that only a contended unlock calls the kernel.
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FREE, HELD, CONTENDED };

struct futex_mutex {
	atomic_int state;
};

static void sleep_while(atomic_int *word, int value)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake_one(atomic_int *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void futex_mutex_init(struct futex_mutex *m)
{
	atomic_init(&m->state, FREE);
}

bool futex_mutex_trylock(struct futex_mutex *m)
{
	int expected = FREE;

	return atomic_compare_exchange_strong_explicit(&m->state, &expected, HELD,
						       memory_order_acquire, memory_order_relaxed);
}

void futex_mutex_lock(struct futex_mutex *m)
{
	if (futex_mutex_trylock(m))
		return;
	while (atomic_exchange_explicit(&m->state, CONTENDED, memory_order_acquire) != FREE)
		sleep_while(&m->state, CONTENDED);
}

void futex_mutex_unlock(struct futex_mutex *m)
{
	if (atomic_exchange_explicit(&m->state, FREE, memory_order_release) == CONTENDED)
		wake_one(&m->state);
}
