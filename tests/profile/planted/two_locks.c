/* SPDX-License-Identifier: MIT */
/* Two locks are taken alike often; the holder of one of them sleeps. */
#include "planted.h"

static pthread_mutex_t fine_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t sick_lock = PTHREAD_MUTEX_INITIALIZER;

static void worker(int number)
{
	(void)number;
	for (int i = 0; i < 100; i++) {
		uint64_t from, before, after;

		pthread_mutex_lock(&fine_lock);
		work(2000, false);
		pthread_mutex_unlock(&fine_lock);
		locks(&sick_lock);
		from = now_ns();
		before = now_ns();
		rest(1500000);
		after = now_ns();
		note(KEPT, before, after);
		note(HELD, from, after);
		pthread_mutex_unlock(&sick_lock);
	}
}

int main(void)
{
	be_alone();
	bodies[0] = bodies[1] = bodies[2] = worker;
	run_threads(3);
	tell("asleep", &sick_lock);
	return 0;
}
