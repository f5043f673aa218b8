/* SPDX-License-Identifier: MIT */
/* The lock is soon free again, but the thread that was woken for it finds its CPU taken. */
#include "planted.h"

static pthread_mutex_t passed_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile bool over;

/* Has the lock for a moment, and then works long without it. */
static void owner(int number)
{
	(void)number;
	pin(0);
	while (!over) {
		uint64_t from;

		locks(&passed_lock);
		from = now_ns();
		work(400000, true);
		note(HELD, from, now_ns());
		pthread_mutex_unlock(&passed_lock);
		work(5000000, false);
	}
}

static void waiter(int number)
{
	(void)number;
	pin(1);
	for (int i = 0; i < 150; i++) {
		uint64_t from;

		locks(&passed_lock);
		from = now_ns();
		note(HELD, from, from);
		pthread_mutex_unlock(&passed_lock);
		rest(300000);
	}
	over = true;
}

/* Runs for long whenever the waiter sleeps. */
static void intruder(int number)
{
	(void)number;
	pin(1);
	pthread_setname_np(pthread_self(), "intruder");
	be_real_time();
	while (!over) {
		rest(200000);
		work(3000000, false);
	}
}

int main(void)
{
	bodies[0] = owner;
	bodies[1] = waiter;
	bodies[2] = intruder;
	run_threads(3);
	tell("next", &passed_lock);
	return 0;
}
