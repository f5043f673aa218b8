/* SPDX-License-Identifier: MIT */
/*
 * A fixed amount of work for tests/profile/overhead.py: threads take pieces from a queue under a mutex.
 * queue THREADS PIECES NS LOCKED [yield]: each piece takes NS, and taking it LOCKED ns; without a mutex, and with a
 * sched_yield() after each. Prints the ms that all took.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static long left, piece_loops, locked_loops;
static bool yields;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void loop(long n)
{
	while (n--)
		__asm__ volatile("");
}

static void *worker(void *unused)
{
	long mine;

	(void)unused;
	do {
		if (yields) {
			mine = __atomic_fetch_sub(&left, 1, __ATOMIC_RELAXED); /* a count alone */
			loop(locked_loops + piece_loops);
			sched_yield();
			continue;
		}
		pthread_mutex_lock(&queue_lock);
		mine = left > 0 ? left-- : 0;
		loop(locked_loops);
		pthread_mutex_unlock(&queue_lock);
		loop(piece_loops);
	} while (mine > 0);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[256];
	int n = argc == 5 || argc == 6 ? atoi(argv[1]) : 0;
	double began;

	if (n < 1 || n > 256)
		return 2;
	left = atol(argv[2]);
	piece_loops = atol(argv[3]) * 3 + 1; /* a loop is some 0.3 ns */
	locked_loops = atol(argv[4]) * 3 + 1;
	yields = argc == 6;
	began = now_ms();
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, worker, NULL))
			return 1;
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	printf("%.3f\n", now_ms() - began);
	return 0;
}
