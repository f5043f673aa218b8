/* SPDX-License-Identifier: MIT */
/* A real-time thread takes the holder's CPU; the waiters have another. */
#include "planted.h"

static pthread_mutex_t fifo_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile bool over;

static void worker(int number)
{
	pin(number & 1);
	for (int i = 0; number & 1 ? !over : i < 100; i++) {
		uint64_t from;

		locks(&fifo_lock);
		from = now_ns();
		work(number & 1 ? 100000 : 3000000, true);
		note(HELD, from, now_ns());
		pthread_mutex_unlock(&fifo_lock);
		work(200000, false);
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
	tell("preempted", &fifo_lock);
	return 0;
}
