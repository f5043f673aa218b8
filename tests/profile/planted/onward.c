/* SPDX-License-Identifier: MIT */
/*
 * Workers pass a lock before they wait for work again: onward HOW. "waits": at once, so without the lock they would have
 * waited for the work as much longer. "works": they have something to do in between. "timed": they wait for a time.
 */
#include "planted.h"
#include <errno.h>

enum { WORKERS = 2, TASKS = 60 };

static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER, tasks_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t tasks_came = PTHREAD_COND_INITIALIZER, never = PTHREAD_COND_INITIALIZER;
static int tasks;
static bool does_work, is_timed;

static void keeper(int number)
{
	(void)number;
	pin(0);
	for (int k = 0; k < TASKS; k++) {
		uint64_t from;

		locks(&door);
		from = now_ns();
		pthread_mutex_lock(&tasks_lock);
		tasks++;
		pthread_cond_broadcast(&tasks_came);
		pthread_mutex_unlock(&tasks_lock);
		work(3000000, true);
		note(HELD, from, now_ns());
		pthread_mutex_unlock(&door);
		rest(15000000);
	}
}

static void wait_for_task(int task)
{
	pthread_mutex_lock(&tasks_lock);
	while (tasks <= task)
		pthread_cond_wait(&tasks_came, &tasks_lock);
	pthread_mutex_unlock(&tasks_lock);
}

static void wait_for_time(void)
{
	static __thread pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 4000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&own);
	while (pthread_cond_timedwait(&never, &own, &until) != ETIMEDOUT)
		;
	pthread_mutex_unlock(&own);
}

static void worker(int number)
{
	(void)number;
	pin(1);
	for (int k = 0; k < TASKS; k++) {
		wait_for_task(k);
		locks(&door);
		pthread_mutex_unlock(&door);
		if (is_timed)
			wait_for_time();
		if (does_work)
			work(1000000, false);
	}
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	does_work = !strcmp(argv[1], "works");
	is_timed = !strcmp(argv[1], "timed");
	be_alone();
	bodies[0] = keeper;
	for (int k = 1; k <= WORKERS; k++)
		bodies[k] = worker;
	run_threads(WORKERS + 1);
	tell("nothing", &door);
	return 0;
}
