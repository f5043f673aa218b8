/* SPDX-License-Identifier: MIT */
/*
 * A program as it is found, for the interposer: mutexes, a condition variable, a barrier, a spinlock, deadlines.
 * Prints what it counted, and what a held mutex answers.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { THREADS = 4, TURNS = 500 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static long counted, spun;
static int turn;

static void *work(void *arg)
{
	int me = (int)(long)arg;

	pthread_barrier_wait(&barrier);
	for (int i = 0; i < TURNS; i++) {
		pthread_mutex_lock(&mutex);
		counted++;
		pthread_mutex_unlock(&mutex);
		pthread_spin_lock(&spin);
		spun++;
		pthread_spin_unlock(&spin);
	}
	for (int round = 0; round < 5; round++) {
		pthread_mutex_lock(&mutex);
		while (turn % THREADS != me)
			pthread_cond_wait(&changed, &mutex);
		turn++;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&mutex);
	}
	return 0;
}

int main(void)
{
	struct timespec past = { 0 };
	pthread_t threads[THREADS];

	pthread_barrier_init(&barrier, 0, THREADS);
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], 0, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], 0);
	pthread_mutex_lock(&mutex);
	printf("%ld %ld %d %s %s\n", counted, spun, turn, strerror(pthread_mutex_trylock(&mutex)),
	       strerror(pthread_mutex_timedlock(&mutex, &past)));
	pthread_mutex_unlock(&mutex);
	return 0;
}
