/* SPDX-License-Identifier: MIT */
/* Nobody is kept from anything: the section is merely long. */
#include "planted.h"

static pthread_mutex_t long_lock = PTHREAD_MUTEX_INITIALIZER;

static void worker(int number)
{
	(void)number;
	for (int i = 0; i < 150; i++) {
		uint64_t from;

		locks(&long_lock);
		from = now_ns();
		work(2000000, true);
		note(HELD, from, now_ns());
		pthread_mutex_unlock(&long_lock);
		work(500000, false);
	}
}

int main(void)
{
	be_alone();
	bodies[0] = bodies[1] = worker;
	run_threads(2);
	tell("preempted", &long_lock);
	return 0;
}
