/* SPDX-License-Identifier: MIT */
/*
 * So many threads wait at once, for longer than any of them polls; each, and who makes them wait, bound to a CPU
 * of its own if there is a second argument.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static bool bound;

static cpu_set_t cpu_of(uintptr_t place)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(place % (uintptr_t)sysconf(_SC_NPROCESSORS_ONLN), &one);
	return one;
}

static void *wait_once(void *arg)
{
	pthread_mutex_lock(&m);
	pthread_mutex_unlock(&m);
	return arg;
}

/* Bound before it begins: nobody sees it elsewhere. */
static void start(pthread_t *thread, uintptr_t place)
{
	cpu_set_t its = cpu_of(place);
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	if (bound)
		pthread_attr_setaffinity_np(&attr, sizeof(its), &its);
	pthread_create(thread, &attr, wait_once, 0);
	pthread_attr_destroy(&attr);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t threads[64];

	bound = argc > 2;
	if (bound) {
		cpu_set_t its = cpu_of(0);

		sched_setaffinity(0, sizeof(its), &its);
	}
	pthread_mutex_lock(&m);
	for (uintptr_t i = 0; i < (uintptr_t)n; i++)
		start(&threads[i], i + 1);
	usleep(300000);
	pthread_mutex_unlock(&m);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], 0);
	return 0;
}
