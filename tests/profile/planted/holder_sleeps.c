/* SPDX-License-Identifier: MIT */
/* The holder sleeps, as one does that waits for an answer from elsewhere. */
#include "planted.h"

static pthread_mutex_t slow_lock = PTHREAD_MUTEX_INITIALIZER;

static void worker(int number)
{
	(void)number;
	for (int i = 0; i < 100; i++) {
		uint64_t from, before, after;

		locks(&slow_lock);
		from = now_ns();
		work(100000, true);
		before = now_ns();
		rest(2000000);
		after = now_ns();
		note(KEPT, before, after);
		note(HELD, from, after);
		pthread_mutex_unlock(&slow_lock);
		work(100000, false);
	}
}

int main(void)
{
	be_alone();
	bodies[0] = bodies[1] = bodies[2] = worker;
	run_threads(3);
	tell("asleep", &slow_lock);
	return 0;
}
