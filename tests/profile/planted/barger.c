/* SPDX-License-Identifier: MIT */
/*
 * One thread takes the lock again and again, past another one that was woken for it and has no CPU. Who has
 * the lock sleeps: that is why the other waits, most of the time.
 */
#include "planted.h"

static pthread_mutex_t passed_by = PTHREAD_MUTEX_INITIALIZER;
static volatile bool over;

static void barger(int number)
{
	(void)number;
	pin(0);
	for (int i = 1; !over; i++) {
		uint64_t from, after;

		if (i % 16 == 0)
			rest(10000000); /* else the other never has it */
		pthread_mutex_lock(&passed_by);
		from = now_ns();
		rest(1000000);
		after = now_ns();
		note(KEPT, from, after);
		note(HELD, from, after);
		pthread_mutex_unlock(&passed_by);
	}
}

static void waiter(int number)
{
	(void)number;
	pin(1);
	for (int i = 0; i < 20; i++) {
		locks(&passed_by);
		pthread_mutex_unlock(&passed_by);
		rest(2000000);
	}
	over = true;
}

static void intruder(int number)
{
	(void)number;
	intrude(1, &over);
}

int main(void)
{
	be_alone();
	bodies[0] = intruder;
	bodies[1] = barger;
	bodies[2] = waiter;
	run_threads(3);
	tell("asleep", &passed_by);
	return 0;
}
