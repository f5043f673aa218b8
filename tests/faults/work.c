/* SPDX-License-Identifier: MIT */
/*
 * work mutexes THREADS MUTEXES ROUNDS	counts under every mutex in turn
 * work conditions THREADS ROUNDS	hands a turn round by a condition variable
 * work deadline			waits for what never comes, until a deadline
 *
 * Nothing but the locks needs futexes: threads are detached and polled for. What is written stays in
 * stdio's buffer until the end, so a process that leaves early loses it.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern void deny_from_now(void) __attribute__((weak));

static struct cell {
	pthread_mutex_t mutex;
	long count;
} *cells;
static pthread_mutex_t turn_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_moved = PTHREAD_COND_INITIALIZER;
static long threads, mutexes, rounds, turn, finished, began;

static void deny(void)
{
	if (deny_from_now)
		deny_from_now();
}

/* All at once, and under the denial if it begins here. */
static void meet(void)
{
	if (__atomic_add_fetch(&began, 1, __ATOMIC_SEQ_CST) == threads) {
		deny();
		__atomic_add_fetch(&began, 1, __ATOMIC_SEQ_CST);
	}
	while (__atomic_load_n(&began, __ATOMIC_SEQ_CST) <= threads)
		sched_yield();
}

static void *count(void *unused)
{
	meet();
	for (long r = 0; r < rounds; r++)
		for (long m = 0; m < mutexes; m++) {
			pthread_mutex_lock(&cells[m].mutex);
			cells[m].count++;
			pthread_mutex_unlock(&cells[m].mutex);
		}
	__atomic_add_fetch(&finished, 1, __ATOMIC_SEQ_CST);
	return unused;
}

static struct timespec in(long ms)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += ms * 1000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static void *hand_round(void *me)
{
	meet();
	for (long r = 0; r < rounds; r++) {
		struct timespec until = in(50);

		pthread_mutex_lock(&turn_mutex);
		while (turn % threads != (long)me)
			if (pthread_cond_timedwait(&turn_moved, &turn_mutex, &until) == ETIMEDOUT)
				until = in(50);
		turn++;
		pthread_cond_broadcast(&turn_moved);
		pthread_mutex_unlock(&turn_mutex);
	}
	__atomic_add_fetch(&finished, 1, __ATOMIC_SEQ_CST);
	return 0;
}

static void start(void *(*work)(void *))
{
	for (long i = 0; i < threads; i++) {
		pthread_t thread;
		int error = pthread_create(&thread, 0, work, (void *)i);

		if (error) {
			printf("no thread: %s\n", strerror(error));
			exit(3);
		}
		pthread_detach(thread);
	}
	while (__atomic_load_n(&finished, __ATOMIC_SEQ_CST) < threads)
		sched_yield();
}

static void count_all(void)
{
	long lost = 0;

	cells = calloc((size_t)mutexes, sizeof(*cells));
	memset(cells, 0, (size_t)mutexes * sizeof(*cells)); /* the memory is there */
	start(count);
	for (long m = 0; m < mutexes; m++)
		lost += threads * rounds - cells[m].count;
	printf("lost %ld\n", lost);
}

static void wait_in_vain(void)
{
	struct timespec until = in(20);
	int error = 0;

	deny();
	pthread_mutex_lock(&turn_mutex);
	while (error != ETIMEDOUT)
		error = pthread_cond_timedwait(&turn_moved, &turn_mutex, &until);
	pthread_mutex_unlock(&turn_mutex);
	puts("in time");
}

int main(int argc, char **argv)
{
	printf("begin\n");
	threads = argc > 2 ? atol(argv[2]) : 1;
	if (argc == 5 && !strcmp(argv[1], "mutexes")) {
		mutexes = atol(argv[3]);
		rounds = atol(argv[4]);
		count_all();
	} else if (argc == 4 && !strcmp(argv[1], "conditions")) {
		rounds = atol(argv[3]);
		start(hand_round);
		printf("turns %ld\n", turn);
	} else if (argc == 2 && !strcmp(argv[1], "deadline")) {
		wait_in_vain();
	} else {
		return 2;
	}
	return 0;
}
