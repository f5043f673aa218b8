/* SPDX-License-Identifier: MIT */
/* Threads that allocate large and small blocks, and wait for each other in between; prints "fine" in the end. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, ROUNDS = 20, BLOCKS = 100 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static char *shared[BLOCKS];

/* What one thread has allocated another one frees. */
static void *work(void *unused)
{
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < BLOCKS; i++) {
			size_t size = (size_t)(i % 2 ? 20000 + 400 * i : 16 + i);
			char *made = malloc(size), *old;

			if (!made)
				exit(2);
			memset(made, i, size);
			pthread_mutex_lock(&m);
			old = shared[i];
			shared[i] = made;
			pthread_mutex_unlock(&m);
			free(old);
		}
	}
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], 0, work, 0))
			return 2;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], 0);
	puts("fine");
	return fflush(stdout); /* the report may wait for the terminal, at the end */
}
