/* SPDX-License-Identifier: MIT */
/* The holder shares its CPU with busy threads of the same program. */
#include "planted.h"

static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile bool over;

static void worker(int number)
{
	pin(number & 1);
	for (int i = 0; i < 120; i++) {
		uint64_t from;

		locks(&shared_lock);
		from = now_ns();
		work(number & 1 ? 100000 : 4000000, true);
		note(HELD, from, now_ns());
		pthread_mutex_unlock(&shared_lock);
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
	bodies[2] = bodies[3] = cruncher;
	run_threads(4);
	tell("preempted", &shared_lock);
	return 0;
}
