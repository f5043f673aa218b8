/* SPDX-License-Identifier: MIT */
/*
 * Unlocks free mutexes of the normal kind, which glibc forgives: afterwards each must exclude, and be
 * free again. Prints 0, or where it failed.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 1000 };

static pthread_mutex_t mutexes[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
static long count;

static void *add(void *m)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(m);
		count++;
		pthread_mutex_unlock(m);
	}
	return 0;
}

static int forgives(pthread_mutex_t *m, int times)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < times; i++)
		if (pthread_mutex_unlock(m))
			return 1;
	if (pthread_mutex_trylock(m))
		return 2;
	if (pthread_mutex_trylock(m) != EBUSY)
		return 3;
	pthread_mutex_unlock(m);
	pthread_mutex_unlock(m);
	count = 0;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], 0, add, m);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], 0);
	if (count != THREADS * ROUNDS)
		return 4;
	return 0;
}

int main(void)
{
	int failed = forgives(&mutexes[0], 1); /* never locked before */

	pthread_mutex_lock(&mutexes[1]);
	pthread_mutex_unlock(&mutexes[1]);
	if (!failed)
		failed = forgives(&mutexes[1], 3);
	printf("%d\n", failed);
	return failed;
}
