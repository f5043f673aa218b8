/* SPDX-License-Identifier: MIT */
/* A spinlock of the program's own. A real-time thread takes the holder's CPU, a waiter spins on another. */
#include "planted.h"
#include <stdatomic.h>

static _Atomic int spin_lock;
static volatile bool over;

static void spin_take(void)
{
	while (atomic_exchange(&spin_lock, 1))
		while (atomic_load(&spin_lock))
			__builtin_ia32_pause();
}

static void worker(int number)
{
	pin(number & 1);
	for (int i = 0; number & 1 ? !over : i < 60; i++) {
		uint64_t from = now_ns(), begun;

		spin_take();
		begun = now_ns();
		note(WAITED, from, begun);
		work(number & 1 ? 100000 : 3000000, true);
		note(HELD, begun, now_ns());
		atomic_store(&spin_lock, 0);
		work(100000, false);
	}
	over = true;
}

static void intruder(int number)
{
	(void)number;
	intrude(0, &over);
}

int main(void)
{
	be_alone();
	bodies[0] = intruder;
	bodies[1] = bodies[2] = worker;
	run_threads(3);
	tell("preempted", &spin_lock);
	return 0;
}
