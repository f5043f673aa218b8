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

static volatile bool over;

static void sleeper(int number)
{
	(void)number;
	for (int i = 0; i < 150; i++) {
		uint64_t from, after;

		own_take();
		from = now_ns();
		rest(2000000);
		after = now_ns();
		note(KEPT, from, after);
		note(HELD, from, after);
		own_release();
		work(300000, false);
	}
	over = true;
}

/* Comes when the other has the lock, which it found free: nothing in the kernel tells who has it. */
static void visitor(int number)
{
	(void)number;
	while (!over) {
		uint64_t from = now_ns();

		own_take();
		note(WAITED, from, now_ns());
		own_release();
		rest(1000000);
	}
}

int main(void)
{
	be_alone();
	bodies[0] = sleeper;
	bodies[1] = visitor;
	run_threads(2);
	tell("asleep", &own_lock);
	return 0;
}
