/* SPDX-License-Identifier: MIT */
/*
 * short_of_memory MUTEXES ROUNDS: holds many mutexes, then threads count under them, while there is no
 * address space left; halfway there is some again. Half of the mutexes are copies of one that was used. What it prints is in stdio's buffer meanwhile.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { THREADS = 4 };

static struct cell {
	pthread_mutex_t mutex;
	long count;
} *cells;
static long mutexes, rounds;
static struct rlimit before;
static pthread_barrier_t begun;

static void make_cells(void)
{
	static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
	static pthread_mutex_t used = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&used);
	pthread_mutex_unlock(&used);
	for (long m = 0; m < mutexes; m++) /* touches the memory, so that it is there */
		cells[m] = (struct cell){ m % 2 ? used : fresh, 0 };
}

/* Only the soft limit, which may be raised again. */
static void set_limit(rlim_t bytes)
{
	const struct rlimit limit = { bytes, before.rlim_max };

	if (setrlimit(RLIMIT_AS, &limit))
		exit(3);
}

/* By each of the calls that acquire; none changes errno. */
static void lock(pthread_mutex_t *m, long way)
{
	const struct timespec never = { .tv_sec = time(0) + 3600 };

	errno = 0;
	if (way % 3 == 0) {
		pthread_mutex_lock(m);
	} else if (way % 3 == 1) {
		while (pthread_mutex_timedlock(m, &never))
			;
	} else {
		while (pthread_mutex_trylock(m))
			sched_yield();
	}
	if (errno)
		exit(4);
}

static void *count(void *me)
{
	pthread_barrier_wait(&begun);
	for (long r = 0; r < rounds; r++) {
		if (r == rounds / 2 && !me)
			set_limit(before.rlim_cur);
		for (long m = 0; m < mutexes; m++) {
			lock(&cells[m].mutex, m + r);
			cells[m].count++;
			pthread_mutex_unlock(&cells[m].mutex);
		}
	}
	return 0;
}

/* Mutexes that another thread holds. */
static void *try_all(void *unused)
{
	long twice = 0;

	for (long m = 0; m < mutexes; m++)
		twice += !pthread_mutex_trylock(&cells[m].mutex);
	printf("held twice %ld\n", twice);
	return unused;
}

/* Acquired without memory, and still held once there is some. */
static void hold_all(void)
{
	pthread_t other;

	set_limit(4096);
	for (long m = 0; m < mutexes; m++)
		lock(&cells[m].mutex, 0);
	set_limit(before.rlim_cur);
	if (pthread_create(&other, 0, try_all, 0))
		exit(3);
	pthread_join(other, 0);
	for (long m = 0; m < mutexes; m++)
		pthread_mutex_unlock(&cells[m].mutex);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	long lost = 0;

	if (argc != 3)
		return 2;
	printf("begin\n");
	mutexes = atol(argv[1]);
	rounds = atol(argv[2]);
	cells = malloc((size_t)mutexes * sizeof(*cells));
	make_cells();
	getrlimit(RLIMIT_AS, &before);
	hold_all();
	make_cells(); /* again new to the threads */
	pthread_barrier_init(&begun, 0, THREADS + 1);
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], 0, count, (void *)i))
			return 3;
	set_limit(4096);
	pthread_barrier_wait(&begun);
	for (long i = 0; i < THREADS; i++)
		pthread_join(threads[i], 0);
	for (long m = 0; m < mutexes; m++)
		lost += THREADS * rounds - cells[m].count;
	printf("lost %ld\n", lost);
	return 0;
}
