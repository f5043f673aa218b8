// SPDX-License-Identifier: MIT
// A mutex, a condition variable that moves its waiters by requeueing, and a semaphore, all on futexes; and what
// can be wrong with each. -DMUTANT=NAME picks a fault.
#include <overlock/checked.h>

#include <stdatomic.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	none,
	wakes_nobody,
	forgets_sleepers,
	sleeps_unseen,
	moves_nobody,
	moves_unmarked,
	signals_none,
	reads_late
};
#ifndef MUTANT
#define MUTANT none
#endif
#define IS(mutant)	(MUTANT == (mutant))

struct all {
	atomic_uint lock;    /* 0 free, 1 held, 2 held and wanted */
	atomic_uint signals; /* of the condition variable */
	atomic_uint value;   /* of the semaphore */
	atomic_uint sleepers;
};

static void lock_as(struct all *a, unsigned held)
{
	unsigned is_free = 0;

	if (held == 1 && atomic_compare_exchange_strong_explicit(
				 &a->lock, &is_free, 1, memory_order_acquire, memory_order_relaxed))
		return;
	while (atomic_exchange_explicit(&a->lock, IS(forgets_sleepers) ? 1 : 2,
					memory_order_acquire))
		syscall(SYS_futex, &a->lock, FUTEX_WAIT_PRIVATE, IS(forgets_sleepers) ? 1 : 2, 0, 0,
			0);
}

static void lock(void *o)
{
	lock_as(o, 1);
}

static void unlock(void *o)
{
	struct all *a = o;

	if (atomic_exchange_explicit(&a->lock, 0, memory_order_release) == 2 && !IS(wakes_nobody))
		syscall(SYS_futex, &a->lock, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

static void wait(void *o)
{
	struct all *a = o;
	unsigned seen = atomic_load_explicit(&a->signals, memory_order_relaxed);

	unlock(o);
	if (IS(sleeps_unseen))
		seen = atomic_load_explicit(&a->signals, memory_order_relaxed);
	syscall(SYS_futex, &a->signals, FUTEX_WAIT_PRIVATE, seen, 0, 0, 0);
	lock_as(o, IS(moves_unmarked) ? 1 : 2);
}

static void wake_one(void *o)
{
	struct all *a = o;

	if (!IS(signals_none))
		atomic_fetch_add_explicit(&a->signals, 1, memory_order_relaxed);
	syscall(SYS_futex, &a->signals, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

/* With the lock held: one wakes, and the others wait for the lock. */
static void wake_all(void *o)
{
	struct all *a = o;
	unsigned now = atomic_fetch_add_explicit(&a->signals, 1, memory_order_relaxed) + 1;

	if (IS(moves_nobody))
		syscall(SYS_futex, &a->signals, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
	else
		syscall(SYS_futex, &a->signals, FUTEX_CMP_REQUEUE_PRIVATE, 1, 1000L, &a->lock, now);
}

static bool take(struct all *a)
{
	unsigned value = atomic_load_explicit(&a->value, memory_order_relaxed);

	while (value)
		if (atomic_compare_exchange_weak_explicit(&a->value, &value, value - 1,
							  memory_order_acquire,
							  memory_order_relaxed))
			return true;
	return false;
}

static void down(void *o)
{
	struct all *a = o;

	while (!take(a))
		syscall(SYS_futex, &a->value, FUTEX_WAIT_BITSET_PRIVATE, 0, 0, 0, 6);
}

static void up(void *o)
{
	struct all *a = o;

	atomic_fetch_add_explicit(&a->value, 1, memory_order_release);
	if (!IS(reads_late) || atomic_load_explicit(&a->sleepers, memory_order_relaxed) == 0)
		syscall(SYS_futex, &a->value, FUTEX_WAKE_BITSET_PRIVATE, 1, 0, 0,
			IS(wakes_nobody) ? 8 : 2);
}

const struct ol_checked_lock overlock_checked = {
	.name = "waiting",
	.size = sizeof(struct all),
#ifdef SEMAPHORE
	.down = down,
	.up = up,
#else
	.lock = lock,
	.unlock = unlock,
	.wait = wait,
	.signal = wake_one,
	.broadcast = wake_all,
#endif
};
