/* SPDX-License-Identifier: MIT */
/* The lock is soon free again, but the thread that was woken for it finds its CPU taken. */
#include "planted.h"

static pthread_mutex_t passed_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile bool has_it, wants_it, bursts, over;

/* Lets go when the waiter sleeps and the intruder has its CPU. */
static void owner(int number)
{
	(void)number;
	pin(0);
	for (int i = 0; i < 100; i++) {
		uint64_t from;

		pthread_mutex_lock(&passed_lock);
		from = now_ns();
		has_it = true;
		while (!wants_it)
			work(1000, true);
		work(200000, true);
		has_it = false;
		bursts = true;
		while (bursts)
			work(1000, true);
		note(HELD, from, now_ns());
		pthread_mutex_unlock(&passed_lock);
		rest(5000000);
	}
	over = true;
}

static void waiter(int number)
{
	(void)number;
	pin(1);
	while (!over) {
		rest(100000);
		if (!has_it)
			continue;
		wants_it = true; /* until we have it: the owner may have it once more before us */
		locks(&passed_lock);
		wants_it = false;
		pthread_mutex_unlock(&passed_lock);
	}
}

static void intruder(int number)
{
	(void)number;
	be_real_time();
	pin(1);
	pthread_setname_np(pthread_self(), "intruder");
	while (!over) {
		rest(100000);
		if (!bursts)
			continue;
		bursts = false;
		work(3000000, false);
	}
}

int main(void)
{
	be_alone();
	bodies[0] = owner;
	bodies[1] = waiter;
	bodies[2] = intruder;
	run_threads(3);
	tell("next", &passed_lock);
	return 0;
}
