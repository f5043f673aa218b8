/* SPDX-License-Identifier: MIT */
/* The holder shares its CPU with busy threads of the same program. */
#include "planted.h"

static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile bool over;
static _Atomic int crunching;

enum { CRUNCHERS = 3, WAITERS = 4 }; /* four: their waits count, whichever thread has the CPU */

static void section(uint64_t ns)
{
	uint64_t from;

	locks(&shared_lock);
	from = now_ns();
	work(ns, true);
	note(HELD, from, now_ns());
	pthread_mutex_unlock(&shared_lock);
}

static void holder(int number)
{
	(void)number;
	pin(0);
	while (crunching < CRUNCHERS)
		rest(1000000);
	for (int i = 0; i < 16; i++) {
		section(30000000);
		work(3000000, false);
	}
	over = true;
}

static void waiter(int number)
{
	(void)number;
	pin(1);
	while (!over) {
		section(100000);
		work(1000000, false);
	}
}

static void cruncher(int number)
{
	(void)number;
	pin(0);
	pthread_setname_np(pthread_self(), "cruncher");
	crunching++;
	while (!over)
		work(1000000, false);
}

int main(void)
{
	be_alone_in_turns();
	bodies[0] = holder;
	for (int k = 1; k <= CRUNCHERS; k++)
		bodies[k] = cruncher;
	for (int k = 1; k <= WAITERS; k++)
		bodies[CRUNCHERS + k] = waiter;
	run_threads(1 + CRUNCHERS + WAITERS);
	tell("preempted", &shared_lock);
	return 0;
}
