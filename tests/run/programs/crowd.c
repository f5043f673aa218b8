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

static void bind_to(uintptr_t place)
{
	cpu_set_t one;

	if (!bound)
		return;
	CPU_ZERO(&one);
	CPU_SET(place % (uintptr_t)sysconf(_SC_NPROCESSORS_ONLN), &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void *wait_once(void *arg)
{
	bind_to((uintptr_t)arg + 1);
	pthread_mutex_lock(&m);
	pthread_mutex_unlock(&m);
	return arg;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t threads[64];

	bound = argc > 2;
	bind_to(0);
	pthread_mutex_lock(&m);
	for (uintptr_t i = 0; i < (uintptr_t)n; i++)
		pthread_create(&threads[i], 0, wait_once, (void *)i);
	usleep(300000);
	pthread_mutex_unlock(&m);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], 0);
	return 0;
}
