/* SPDX-License-Identifier: MIT */
/* Threads take turns of 200 us each, so that most wait for longer than a few ms. Usage: rounds THREADS TURNS */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int turns;

static long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void *take_turns(void *arg)
{
	for (int i = 0; i < turns; i++) {
		pthread_mutex_lock(&m);
		for (long end = now_ns() + 200000; now_ns() < end;)
			;
		pthread_mutex_unlock(&m);
	}
	return arg;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t threads[64];

	turns = argc > 2 ? atoi(argv[2]) : 1;
	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], 0, take_turns, 0);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], 0);
	return 0;
}
