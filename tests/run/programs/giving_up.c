/* SPDX-License-Identifier: MIT */
/*
 * Timed callers that give up all the time, at about the moment the lock is put on offer: the lock
 * must not be lost between the two. Everybody holds it for about as long as the deadlines are.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { TIMED = 3, ROUNDS = 1500 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long in_section;
static atomic_long progress, finished;

static struct timespec in_us(long us)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += us * 1000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static void section(long us)
{
	struct timespec end = in_us(us), now;

	if (in_section++)
		abort();
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec ||
		 (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
	in_section--;
}

/* Whoever gave up waits for the others, so that it cannot take up later what it left lying. */
static void await_progress(void)
{
	long seen = atomic_load(&progress);

	while (atomic_load(&progress) < seen + 2 && !atomic_load(&finished))
		sched_yield();
}

static void *give_up_soon(void *arg)
{
	for (long i = 0; !atomic_load(&finished); i++) {
		struct timespec t = in_us(5 + (i * 7 + (long)arg) % 40);

		if (pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &t)) {
			await_progress();
			continue;
		}
		section(10);
		pthread_mutex_unlock(&m);
	}
	return 0;
}

int main(void)
{
	pthread_t threads[TIMED];

	alarm(300);
	for (long i = 0; i < TIMED; i++)
		pthread_create(&threads[i], 0, give_up_soon, (void *)i);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&m);
		section(5 + i % 40);
		pthread_mutex_unlock(&m);
		atomic_fetch_add(&progress, 1);
	}
	atomic_store(&finished, 1);
	for (int i = 0; i < TIMED; i++)
		pthread_join(threads[i], 0);
	puts("fine");
	return 0;
}
