/* SPDX-License-Identifier: MIT */
/*
 * Condition variables under load; a lost wake-up hangs, and the alarm ends it.
 * Usage: conditions ITEMS, which sets the length of all parts.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void run(void *(*function)(void *), int n)
{
	pthread_t threads[64];

	for (long i = 0; i < n; i++)
		pthread_create(&threads[i], 0, function, (void *)i);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], 0);
}

/* A bounded buffer; half of the takers wait with a deadline. */

enum { SLOTS = 4, PAIRS = 4 };
static long items;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static long slots[SLOTS], used, first, sum, timeouts;

static void wait_for(pthread_cond_t *c, bool timed)
{
	struct timespec t;

	if (!timed) {
		pthread_cond_wait(c, &m);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += 200000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	timeouts += pthread_cond_clockwait(c, &m, CLOCK_MONOTONIC, &t) == ETIMEDOUT;
}

static void *give_or_take(void *arg)
{
	long me = (long)arg;

	for (long i = 0; i < items; i++) {
		pthread_mutex_lock(&m);
		if (me % 2) {
			while (used == SLOTS)
				wait_for(&emptied, false);
			slots[(first + used++) % SLOTS] = me * items + i;
		} else {
			while (!used)
				wait_for(&filled, me % 4);
			sum += slots[first++ % SLOTS];
			used--;
		}
		if (i % 2) { /* with the mutex held, and without */
			pthread_cond_signal(me % 2 ? &filled : &emptied);
			pthread_mutex_unlock(&m);
		} else {
			pthread_mutex_unlock(&m);
			pthread_cond_signal(me % 2 ? &filled : &emptied);
		}
	}
	return 0;
}

static bool buffer(void)
{
	long expected = 0;

	for (long me = 1; me < 2 * PAIRS; me += 2)
		for (long i = 0; i < items; i++)
			expected += me * items + i;
	run(give_or_take, 2 * PAIRS);
	return sum == expected && !used;
}

/* Everybody meets, again and again. */

enum { MEMBERS = 32 };
static long rounds;
static pthread_cond_t met = PTHREAD_COND_INITIALIZER;
static long here, round_number;

static void *meet(void *unused)
{
	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&m);
		if (++here == MEMBERS) {
			here = 0;
			round_number++;
			pthread_cond_broadcast(&met);
		} else {
			for (long mine = round_number; mine == round_number;)
				pthread_cond_wait(&met, &m);
		}
		pthread_mutex_unlock(&m);
	}
	return unused;
}

/* One signal, one waiter: as many signals as waits must do. */

static pthread_cond_t turn_of[2] = { PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER };
static long passes;

static void *pass(void *arg)
{
	long me = (long)arg;

	for (int i = 0; i < items; i++) {
		pthread_mutex_lock(&m);
		while (passes % 2 != me)
			pthread_cond_wait(&turn_of[me], &m);
		passes++;
		pthread_mutex_unlock(&m);
		pthread_cond_signal(&turn_of[!me]);
	}
	return 0;
}

int main(int argc, char **argv)
{
	items = argc > 1 ? atol(argv[1]) : 100;
	rounds = items / 50 + 1;
	alarm(300);
	if (!buffer())
		return puts("the buffer lost or invented something"), 1;
	run(meet, MEMBERS);
	if (round_number != rounds)
		return puts("a meeting was missed"), 1;
	run(pass, 2);
	if (passes != 2 * items)
		return puts("a pass was missed"), 1;
	puts("fine");
	return 0;
}
