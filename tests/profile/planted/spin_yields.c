/* SPDX-License-Identifier: MIT */
/* Waiters yield in a loop, to each other. */
#include "planted.h"
#include <stdatomic.h>

static _Atomic int polite_lock;
static volatile bool over;

static void polite_take(void)
{
	while (atomic_exchange(&polite_lock, 1))
		sched_yield();
}

static void holder(int number)
{
	(void)number;
	pin(0);
	for (int i = 0; i < 100; i++) {
		polite_take();
		work(4000000, false);
		atomic_store(&polite_lock, 0);
		work(300000, false);
	}
	over = true;
}

static void waiter(int number)
{
	(void)number;
	pin(1);
	while (!over) {
		uint64_t from = now_ns();

		polite_take();
		note(WAITED, from, now_ns());
		atomic_store(&polite_lock, 0);
		rest(1000000);
	}
}

int main(void)
{
	be_alone();
	bodies[0] = holder;
	bodies[1] = bodies[2] = waiter;
	run_threads(3);
	tell("yields", NULL);
	return 0;
}
