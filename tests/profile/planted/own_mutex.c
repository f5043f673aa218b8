/* SPDX-License-Identifier: MIT */
/* A mutex of the program's own, which does not say who holds it: its holder sleeps. */
#include "planted.h"
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>

static _Atomic uint32_t own_lock; /* 0: free, 1: taken, 2: taken and waited for; Drepper's */

static void own_take(void)
{
	uint32_t free = 0;

	if (atomic_compare_exchange_strong(&own_lock, &free, 1))
		return;
	while (atomic_exchange(&own_lock, 2))
		syscall(SYS_futex, &own_lock, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static void own_release(void)
{
	if (atomic_exchange(&own_lock, 0) == 2)
		syscall(SYS_futex, &own_lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void worker(int number)
{
	(void)number;
	for (int i = 0; i < 100; i++) {
		uint64_t from = now_ns(), before, after;

		own_take();
		before = now_ns();
		note(WAITED, from, before);
		rest(2000000);
		after = now_ns();
		note(KEPT, before, after);
		note(HELD, before, after);
		own_release();
		work(100000, false);
	}
}

int main(void)
{
	be_alone();
	bodies[0] = bodies[1] = bodies[2] = worker;
	run_threads(3);
	tell("asleep", &own_lock);
	return 0;
}
