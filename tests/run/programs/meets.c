/* SPDX-License-Identifier: MIT */
/*
 * Two threads meet at a barrier, on one CPU, argv[1] times; one is late, so that a waiter that yields does so more than
 * once. Prints how often they slept meanwhile: a thread that yields or is preempted gives its CPU away involuntarily, as
 * the kernel counts it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static pthread_barrier_t barrier;
static int rounds;

static long sleeps(void)
{
	struct rusage used;

	getrusage(RUSAGE_THREAD, &used);
	return used.ru_nvcsw;
}

static void *meet(void *yields)
{
	long before;

	pthread_barrier_wait(&barrier);
	before = sleeps();
	for (int i = 0; i < rounds; i++) {
		for (long y = 0; y < (long)yields; y++)
			sched_yield();
		pthread_barrier_wait(&barrier);
	}
	return (void *)(sleeps() - before);
}

static void stay_on_one_cpu(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		exit(2);
}

int main(int argc, char **argv)
{
	pthread_t other;
	void *here, *there;

	rounds = argc > 1 ? atoi(argv[1]) : 1;
	stay_on_one_cpu();
	pthread_barrier_init(&barrier, 0, 2);
	pthread_create(&other, 0, meet, 0);
	here = meet((void *)4);
	pthread_join(other, &there);
	printf("%ld\n", (long)here + (long)there);
	return 0;
}
