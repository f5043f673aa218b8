/* SPDX-License-Identifier: MIT */
/* The `./server` of the documentation: its threads contend on a mutex. It ignores its arguments. */
#include <pthread.h>

#define THREADS 4
#define ROUNDS 5000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long served;

static void *serve(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&lock);
		served++;
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, serve, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return served != (long)THREADS * ROUNDS;
}
