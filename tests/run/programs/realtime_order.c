/* SPDX-License-Identifier: MIT */
/*
 * Real-time waiters of three priorities, on one CPU, while the thread that holds the mutex has a lower one; prints in how
 * many of ROUNDS they did not get it in the order of their priorities.
 *
 *	realtime_order ROUNDS mutex|timed|signals|broadcast
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WAITERS = 3, LOWEST = 5, NOT_ALLOWED = 77 };
static const int priorities[WAITERS] = { 20, 40, 30 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static const char *kind;
static int got[WAITERS], count, go;
static sem_t about_to_wait;

static void be(int priority)
{
	const struct sched_param p = { .sched_priority = priority };

	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &p))
		exit(NOT_ALLOWED);
}

static bool has_condition(void)
{
	return kind[0] == 's' || kind[0] == 'b';
}

static void lock(void)
{
	struct timespec late;

	clock_gettime(CLOCK_REALTIME, &late);
	late.tv_sec += 60;
	if (kind[0] == 't')
		pthread_mutex_timedlock(&m, &late);
	else
		pthread_mutex_lock(&m);
}

/* Has a higher priority than main, and the only CPU: when it does not run, it waits. */
static void *wait_for_it(void *arg)
{
	be(*(const int *)arg);
	sem_post(&about_to_wait);
	lock();
	while (has_condition() && !go)
		pthread_cond_wait(&c, &m);
	got[count++] = *(const int *)arg;
	pthread_mutex_unlock(&m);
	return 0;
}

static void let_go(void)
{
	if (kind[0] == 'b')
		pthread_cond_broadcast(&c);
	for (int i = 0; i < WAITERS && kind[0] == 's'; i++)
		pthread_cond_signal(&c);
}

static int play(int round)
{
	pthread_t threads[WAITERS];

	count = go = 0;
	if (!has_condition())
		pthread_mutex_lock(&m);
	for (int i = 0; i < WAITERS; i++) {
		pthread_create(&threads[i], 0, wait_for_it,
			       (void *)&priorities[(i + round) % WAITERS]);
		sem_wait(&about_to_wait);
		usleep(1000);
	}
	if (has_condition())
		pthread_mutex_lock(&m);
	go = 1;
	let_go();
	pthread_mutex_unlock(&m);
	for (int i = 0; i < WAITERS; i++)
		pthread_join(threads[i], 0);
	return got[0] != 40 || got[1] != 30 || got[2] != 20;
}

int main(int n, char **words)
{
	const int rounds = n == 3 ? atoi(words[1]) : 0;
	int wrong = 0;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	sem_init(&about_to_wait, 0, 0);
	kind = n == 3 ? words[2] : "";
	alarm(60);
	be(LOWEST);
	for (int i = 0; i < rounds; i++)
		wrong += play(i);
	printf("%d of %d\n", wrong, rounds);
	return 0;
}
