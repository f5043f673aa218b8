/* SPDX-License-Identifier: MIT */
/* Threads that exit holding, a process that exits holding, and mutexes used after main(). */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_key_t key;

static void *hold_both(void *unused)
{
	pthread_mutex_lock(&m);
	pthread_mutex_lock(&checked);
	pthread_setspecific(key, &other);
	return unused;
}

/* After the thread's own storage has begun to go. */
static void use_late(void *mutex)
{
	pthread_mutex_lock(mutex);
	pthread_mutex_unlock(mutex);
}

static void *try_both(void *unused)
{
	printf("%d %d %d\n", pthread_mutex_trylock(&m) == EBUSY,
	       pthread_mutex_trylock(&checked) == EBUSY, pthread_mutex_unlock(&checked) == EPERM);
	return unused;
}

static void at_exit(void)
{
	pthread_mutex_lock(&other);
	pthread_mutex_unlock(&other);
	puts("at exit");
}

int main(void)
{
	pthread_t thread;

	alarm(300);
	atexit(at_exit);
	pthread_key_create(&key, use_late);
	for (int i = 0; i < 2; i++) {
		pthread_create(&thread, 0, i ? try_both : hold_both, 0);
		pthread_join(thread, 0);
	}
	pthread_mutex_unlock(&m);
	pthread_mutex_lock(&m);
	exit(7);
}
