/* SPDX-License-Identifier: MIT */
/*
 * No limits: threads that are all alive at once over many mutexes, then more threads one after
 * another than ids there are at a time. Usage: many THREADS MUTEXES LATER
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t *mutexes;
static long *counters;
static long count;
static pthread_barrier_t all_here;
enum { USES = 200 };

static void *use(void *seed)
{
	unsigned long x = (unsigned long)seed * 2654435761u + 1;

	pthread_barrier_wait(&all_here);
	for (int i = 0; i < USES; i++) {
		long k =
			(long)((x = x * 6364136223846793005u + 1442695040888963407u) >> 33) % count;

		pthread_mutex_lock(&mutexes[k]);
		counters[k]++;
		pthread_mutex_unlock(&mutexes[k]);
	}
	return 0;
}

static void *use_first(void *unused)
{
	pthread_mutex_lock(&mutexes[0]);
	counters[0]++;
	pthread_mutex_unlock(&mutexes[0]);
	return unused;
}

int main(int argc, char **argv)
{
	long n = argc > 3 ? atol(argv[1]) : 0, later = argc > 3 ? atol(argv[3]) : 0, sum = 0;
	pthread_t *threads = calloc((size_t)n + 1, sizeof(*threads)), one;
	pthread_attr_t small;

	if (!n)
		return 2;
	count = atol(argv[2]);
	mutexes = calloc((size_t)count, sizeof(*mutexes));
	counters = calloc((size_t)count, sizeof(*counters));
	for (long i = 0; i < count; i += 2) /* the others are as calloc left them */
		pthread_mutex_init(&mutexes[i], 0);
	pthread_barrier_init(&all_here, 0, (unsigned)n);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (long i = 0; i < n; i++)
		if (pthread_create(&threads[i], &small, use, (void *)i))
			return 3;
	for (long i = 0; i < n; i++)
		pthread_join(threads[i], 0);
	for (long i = 0; i < later; i++) {
		if (pthread_create(&one, &small, use_first, 0))
			return 3;
		pthread_join(one, 0);
	}
	for (long i = 0; i < count; i++)
		sum += counters[i];
	printf("%ld\n", sum - n * USES - later);
	return 0;
}
