/* SPDX-License-Identifier: MIT */
/* many LOCKS THREADS: the first thread holds all locks, and releases them while the others wait for them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { STACK = 64 << 10, CONTENDED = 2 };

struct padded {
	pthread_mutex_t lock;
	char unused[88];
};

static struct padded *all;
static long n_locks, n_threads;

static void *waiter(void *number)
{
	long first = (long)number % n_locks;

	for (long i = first; i < n_locks; i += n_threads) {
		pthread_mutex_lock(&all[i].lock);
		pthread_mutex_unlock(&all[i].lock);
	}
	return NULL;
}

/* Until it has marked the mutex, before it sleeps; and some more, for it to do so. */
static void await_waiter(pthread_mutex_t *lock)
{
	while (__atomic_load_n(&lock->__data.__lock, __ATOMIC_RELAXED) != CONTENDED)
		sched_yield();
	usleep(1);
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
	for (long i = 0; i < n_locks; i++) {
		await_waiter(&all[i].lock);
		pthread_mutex_unlock(&all[i].lock);
	}
	for (long i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	printf("{\"locks\": %ld, \"threads\": %ld}\n", n_locks, n_threads);
	return 0;
}
