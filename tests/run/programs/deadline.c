/* SPDX-License-Identifier: MIT */
/*
 * A caller with a deadline among callers without: the mutex goes from waiter to waiter and is never
 * free to be found, since each holder keeps it until the next one is about to queue. Prints how many
 * of the timed callers acquired. Usage: deadline TIMED ATTEMPTS SECONDS
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { HUNGRY = 4, MOST_TIMED = 16 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static atomic_int arriving, others, stop;
static int attempts, seconds;
static long in_section, acquired;

static void section(void)
{
	if (in_section++)
		abort();
	/* Until another is at the door; it may still be on its way, hence the few looks more. */
	for (int i = 0; i < 2000 && !atomic_load(&stop); i++)
		if (!atomic_load(&arriving))
			sched_yield();
	in_section--;
}

static void *hungry(void *unused)
{
	while (!atomic_load(&stop)) {
		atomic_fetch_add(&arriving, 1);
		pthread_mutex_lock(&m);
		atomic_fetch_sub(&arriving, 1);
		section();
		atomic_fetch_add(&others, 1);
		pthread_mutex_unlock(&m);
	}
	return unused;
}

static void *timed(void *unused)
{
	for (int i = 0; i < attempts; i++) {
		struct timespec t;

		clock_gettime(CLOCK_MONOTONIC, &t);
		t.tv_sec += seconds;
		if (pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &t))
			continue;
		section();
		acquired++;
		pthread_mutex_unlock(&m);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[HUNGRY], callers[MOST_TIMED];
	int n = argc > 3 ? atoi(argv[1]) : 0;

	if (n < 1 || n > MOST_TIMED)
		return 2;
	attempts = atoi(argv[2]);
	seconds = atoi(argv[3]);
	for (int i = 0; i < HUNGRY; i++)
		pthread_create(&threads[i], 0, hungry, 0);
	while (atomic_load(&others) < HUNGRY)
		sched_yield(); /* until they contend */
	for (int i = 0; i < n; i++)
		pthread_create(&callers[i], 0, timed, 0);
	for (int i = 0; i < n; i++)
		pthread_join(callers[i], 0);
	atomic_store(&stop, 1);
	for (int i = 0; i < HUNGRY; i++)
		pthread_join(threads[i], 0);
	printf("%ld of %d\n", acquired, n * attempts);
	return 0;
}
