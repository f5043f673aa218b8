// SPDX-License-Identifier: MIT
// A condition variable that counts its signals, and the mutex that it waits with.
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

struct mutex {
	atomic_int state;
};

struct cond {
	atomic_uint signals;
};

void mutex_lock(struct mutex *m)
{
	while (atomic_exchange_explicit(&m->state, 1, memory_order_acquire))
		syscall(SYS_futex, &m->state, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
}

void mutex_unlock(struct mutex *m)
{
	atomic_store_explicit(&m->state, 0, memory_order_release);
	syscall(SYS_futex, &m->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void cond_wait(struct cond *c, struct mutex *m)
{
	unsigned seen = atomic_load_explicit(&c->signals, memory_order_relaxed);

	mutex_unlock(m);
	syscall(SYS_futex, &c->signals, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
	mutex_lock(m);
}

void cond_signal(struct cond *c)
{
	atomic_fetch_add_explicit(&c->signals, 1, memory_order_relaxed);
	syscall(SYS_futex, &c->signals, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void cond_broadcast(struct cond *c)
{
	atomic_fetch_add_explicit(&c->signals, 1, memory_order_relaxed);
	syscall(SYS_futex, &c->signals, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
