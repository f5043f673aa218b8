// SPDX-License-Identifier: MIT
// glibc's sem_t before 2.21, a model in our words: sem_post() reads the number of waiters after it has
// added the unit, when the semaphore may be gone (BZ 12674).
#include <overlock/checked.h>

struct semaphore {
	unsigned value;
	unsigned waiters;
};

static bool take(struct semaphore *s)
{
	unsigned value = __atomic_load_n(&s->value, __ATOMIC_RELAXED);

	while (value)
		if (__atomic_compare_exchange_n(&s->value, &value, value - 1, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return true;
	return false;
}

static void down(void *o)
{
	struct semaphore *s = o;

	if (take(s))
		return;
	__atomic_fetch_add(&s->waiters, 1, __ATOMIC_SEQ_CST);
	do
		ol_checked_futex_wait(&s->value, 0, ~0u, false);
	while (!take(s));
	__atomic_fetch_sub(&s->waiters, 1, __ATOMIC_SEQ_CST);
}

static void up(void *o)
{
	struct semaphore *s = o;

	__atomic_fetch_add(&s->value, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->waiters, __ATOMIC_SEQ_CST))
		ol_checked_futex_wake(&s->value, 1, ~0u);
}

const struct ol_checked_lock overlock_checked = {
	.name = "glibc semaphore before 2.21 (model)",
	.size = sizeof(struct semaphore),
	.down = down,
	.up = up,
};
