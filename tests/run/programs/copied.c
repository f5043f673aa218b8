/* SPDX-License-Identifier: MIT */
/*
 * Copies and moves of mutexes that were used and that nobody holds: under glibc each is a mutex of its own.
 * Prints what calls answer on each, while the mutex that it was copied from is held and when it is not.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct timespec past = { 1, 0 };
static pthread_mutex_t original = PTHREAD_MUTEX_INITIALIZER, copy, second, array[2];

static void use(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
	pthread_mutex_unlock(m);
}

static void *try(void *m)
{
	int error = pthread_mutex_trylock(m);

	if (!error)
		pthread_mutex_unlock(m);
	return error ? m : 0;
}

static const char *state(pthread_mutex_t *m)
{
	pthread_t thread;
	void *held;

	pthread_create(&thread, 0, try, m);
	pthread_join(thread, &held);
	return held ? "held" : "free";
}

static void say(const char *what)
{
	printf("%s: original %s, copy %s, second %s\n", what, state(&original), state(&copy),
	       state(&second));
}

int main(void)
{
	use(&original);
	copy = original;
	second = original;
	pthread_mutex_lock(&original);
	pthread_mutex_unlock(&second);
	printf("unlocked while free: original %s\n", state(&original));
	printf("timed: %d\n", pthread_mutex_timedlock(&copy, &past));
	say("original and copy locked");
	pthread_mutex_unlock(&original);
	say("copy locked");
	pthread_mutex_lock(&second);
	pthread_mutex_unlock(&copy);
	say("second locked");
	pthread_mutex_unlock(&second);

	copy = original;
	pthread_mutex_lock(&original);
	printf("destroyed: %d\n", pthread_mutex_destroy(&copy));
	pthread_mutex_unlock(&original);

	use(&array[0]);
	array[1] = array[0];
	memset(&array[0], 0, sizeof(array[0])); /* another one in its place */
	pthread_mutex_lock(&array[0]);
	printf("moved: %s\n", state(&array[1]));
	pthread_mutex_lock(&array[1]);
	pthread_mutex_unlock(&array[0]);
	printf("in its place: %s, moved: %s\n", state(&array[0]), state(&array[1]));
	pthread_mutex_unlock(&array[1]);
	return 0;
}
