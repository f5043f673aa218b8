/* SPDX-License-Identifier: MIT */
/* many LOCKS THREADS: the first thread holds all locks, and releases them while the others wait for them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { AT_ONCE = 100, STACK = 64 << 10 };

struct padded {
	pthread_mutex_t lock;
	char unused[88];
};

static struct padded *all;
static long n_locks, n_threads;
static atomic_long begun;

static void *waiter(void *number)
{
	long first = (long)number % n_locks;

	atomic_fetch_add(&begun, 1);
	for (long i = first; i < n_locks; i += n_threads) {
		pthread_mutex_lock(&all[i].lock);
		pthread_mutex_unlock(&all[i].lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_attr_t attr;
	pthread_t *threads;

	if (argc != 3)
		return 2;
	n_locks = atol(argv[1]);
	n_threads = atol(argv[2]);
	all = calloc((size_t)n_locks, sizeof(*all));
	threads = calloc((size_t)n_threads, sizeof(*threads));
	if (!all || !threads)
		return 1;
	for (long i = 0; i < n_locks; i++) {
		pthread_mutex_init(&all[i].lock, NULL);
		pthread_mutex_lock(&all[i].lock);
	}
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (long i = 0; i < n_threads; i++)
		if (pthread_create(&threads[i], &attr, waiter, (void *)i))
			return 1;
	while (begun < n_threads)
		usleep(1000);
	usleep(20000);
	for (long i = 0; i < n_locks; i++) {
		pthread_mutex_unlock(&all[i].lock);
		if (i % AT_ONCE == 0)
			usleep(100);
	}
	for (long i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	printf("{\"locks\": %ld, \"threads\": %ld}\n", n_locks, n_threads);
	return 0;
}
