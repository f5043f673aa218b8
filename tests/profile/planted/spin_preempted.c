/* SPDX-License-Identifier: MIT */
/* A spinlock of the program's own. Its holder shares a CPU with busy threads, a waiter spins on another. */
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
	for (int i = 0; i < 150; i++) {
		uint64_t from = now_ns(), begun;

		spin_take();
		begun = now_ns();
		note(WAITED, from, begun);
		work(number & 1 ? 100000 : 4000000, true);
		note(HELD, begun, now_ns());
		atomic_store(&spin_lock, 0);
		work(100000, false);
	}
	over = true;
}

static void cruncher(int number)
{
	(void)number;
	pin(0);
	pthread_setname_np(pthread_self(), "cruncher");
	while (!over)
		work(1000000, false);
}

int main(void)
{
	bodies[0] = bodies[1] = worker;
	bodies[2] = cruncher;
	run_threads(3);
	tell("preempted", &spin_lock);
	return 0;
}
