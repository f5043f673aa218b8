// SPDX-License-Identifier: MIT
// What should not be done to a mutex, one kind at a time, each from a function of that name; and the
// same things done as they should be.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define APART __attribute__((noinline))

static pthread_mutex_t subject = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static unsigned patience = 2; // seconds, for what does not end

APART static void *unlocks(void *m)
{
	pthread_mutex_unlock(m);
	return 0;
}

APART static void *locks_twice(void *m)
{
	pthread_mutex_lock(m);
	pthread_mutex_lock(m);
	return 0;
}

APART static void *locks_other_way(void *arg)
{
	pthread_mutex_lock(&other);
	pthread_barrier_wait(&barrier);
	pthread_mutex_lock(&subject);
	return arg;
}

APART static void *locks_one_way(void *arg)
{
	pthread_mutex_lock(&subject);
	pthread_barrier_wait(&barrier);
	pthread_mutex_lock(&other);
	return arg;
}

APART static void *waits(void *m)
{
	pthread_mutex_lock(m);
	pthread_mutex_unlock(m);
	return 0;
}

APART static void by_another(void *(*what)(void *))
{
	pthread_t thread;

	pthread_create(&thread, 0, what, &subject);
	pthread_join(thread, 0);
}

APART static void foreign_unlock(void)
{
	pthread_mutex_lock(&subject);
	by_another(unlocks);
}

APART static void free_unlock(void)
{
	pthread_mutex_unlock(&subject);
	pthread_mutex_lock(&subject); // it is as usable as before
	pthread_mutex_unlock(&subject);
}

APART static void destroy_held(void)
{
	pthread_mutex_lock(&subject);
	pthread_mutex_destroy(&subject);
}

APART static void init_held(void)
{
	pthread_mutex_lock(&subject);
	pthread_mutex_init(&subject, 0);
}

APART static void init_again(void)
{
	pthread_mutex_init(&subject, 0);
	pthread_mutex_init(&subject, 0);
}

APART static void for_ever(void *(*one)(void *), void *(*two)(void *))
{
	pthread_t threads[2];

	pthread_create(&threads[0], 0, one, &subject);
	if (two)
		pthread_create(&threads[1], 0, two, &subject);
	sleep(patience);
}

APART static void relock(void)
{
	for_ever(locks_twice, 0);
}

APART static void deadlock(void)
{
	pthread_barrier_init(&barrier, 0, 2);
	for_ever(locks_one_way, locks_other_way);
}

APART static void long_wait(void)
{
	pthread_t thread;

	pthread_mutex_lock(&subject);
	pthread_create(&thread, 0, waits, &subject);
	sleep(1);
	pthread_mutex_unlock(&subject);
	pthread_join(thread, 0);
}

APART static void as_it_should_be(void)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t m;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	for (int i = 0; i < 3; i++) {
		pthread_mutex_init(&m, i ? &attr : 0);
		by_another(waits);
		pthread_mutex_lock(&m);
		if (i)
			pthread_mutex_lock(&m);
		if (i)
			pthread_mutex_unlock(&m);
		pthread_mutex_unlock(&m);
		pthread_mutex_trylock(&m);
		pthread_mutex_unlock(&m);
		pthread_mutex_destroy(&m);
		memset(&m, 0x55, sizeof(m));
	}
	pthread_mutex_init(&m, 0);
	pthread_mutex_destroy(&m);
}

int main(int argc, char **argv)
{
	if (argc > 2)
		patience = (unsigned)atoi(argv[2]);
#define EACH(name)                       \
	if (argc > 1 && !strcmp(argv[1], #name)) \
		name();
	EACH(foreign_unlock)
	EACH(free_unlock)
	EACH(destroy_held)
	EACH(init_held)
	EACH(init_again)
	EACH(relock)
	EACH(deadlock)
	EACH(long_wait)
	EACH(as_it_should_be)
	puts("ended");
	return 0;
}
