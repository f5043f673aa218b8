/* SPDX-License-Identifier: MIT */
/* What glibc's mutexes have become by their first use: prints their kinds, in the program's order. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t still = PTHREAD_MUTEX_INITIALIZER, tried = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t waiting = PTHREAD_MUTEX_INITIALIZER, recursive, made;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turns, sum;

static void *count(void *unused)
{
	for (int i = 0; i < 20000; i++) {
		pthread_mutex_lock(&still);
		sum++;
		pthread_mutex_unlock(&still);
	}
	pthread_mutex_lock(&waiting);
	turns++;
	pthread_cond_broadcast(&changed);
	while (turns < 3)
		pthread_cond_wait(&changed, &waiting);
	pthread_mutex_unlock(&waiting);
	return unused;
}

static int kind(const pthread_mutex_t *m)
{
	return m->__data.__kind;
}

int main(void)
{
	pthread_t threads[3];
	pthread_mutexattr_t attr;

	for (int i = 0; i < 3; i++)
		assert(pthread_create(&threads[i], 0, count, 0) == 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], 0);
	assert(sum == 60000);
	assert(pthread_mutex_trylock(&tried) == 0 && pthread_mutex_trylock(&tried) != 0);
	assert(pthread_mutex_unlock(&tried) == 0);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&recursive, &attr);
	pthread_mutex_init(&made, 0);
	assert(pthread_mutex_lock(&recursive) == 0 && pthread_mutex_lock(&recursive) == 0);
	assert(pthread_mutex_lock(&made) == 0 && pthread_mutex_unlock(&made) == 0);
	printf("%d %d %d %d %d\n", kind(&still), kind(&tried), kind(&waiting), kind(&made),
	       kind(&recursive));
	return 0;
}
