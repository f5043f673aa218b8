/* SPDX-License-Identifier: MIT */
/* The holder waits for another lock, which somebody else holds for long. */
#include "planted.h"

static pthread_mutex_t outer_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inner_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile bool over;

static void worker(int number)
{
	(void)number;
	for (int i = 0; i < 100; i++) {
		uint64_t from, before, after;

		locks(&outer_lock);
		from = now_ns();
		work(50000, true);
		before = now_ns();
		pthread_mutex_lock(&inner_lock);
		after = now_ns();
		note(KEPT, before, after);
		pthread_mutex_unlock(&inner_lock);
		note(HELD, from, now_ns());
		pthread_mutex_unlock(&outer_lock);
		rest(500000);
	}
	over = true;
}

static void slow(int number)
{
	(void)number;
	while (!over) {
		pthread_mutex_lock(&inner_lock);
		rest(3000000);
		pthread_mutex_unlock(&inner_lock);
		rest(200000);
	}
}

int main(void)
{
	be_alone();
	bodies[0] = bodies[1] = bodies[2] = worker;
	bodies[3] = slow;
	run_threads(4);
	tell("lock", &outer_lock);
	return 0;
}
