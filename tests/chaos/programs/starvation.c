/* SPDX-License-Identifier: MIT */
/* A heartbeat needs the lock that a batch job gives back only to take it again; a watchdog expects it in time. */
#include "planted.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, turnstile = PTHREAD_MUTEX_INITIALIZER;
static bool over;

static void lock(void)
{
	if (is_fixed)
		pthread_mutex_lock(&turnstile);
	pthread_mutex_lock(&mutex);
	if (is_fixed)
		pthread_mutex_unlock(&turnstile);
}

static void *batch(void *arg)
{
	(void)arg;
	for (int i = 0; i < 1000 && !__atomic_load_n(&over, __ATOMIC_RELAXED); i++) {
		lock();
		work_us(20);
		pthread_mutex_unlock(&mutex);
	}
	return 0;
}

static long ms(const struct timespec *from, const struct timespec *to)
{
	return (to->tv_sec - from->tv_sec) * 1000 + (to->tv_nsec - from->tv_nsec) / 1000000;
}

int main(void)
{
	pthread_t job = begin(batch, 0);

	for (int beat = 0; beat < 10; beat++) {
		struct timespec before, after;

		work_us(300);
		clock_gettime(CLOCK_MONOTONIC, &before);
		lock();
		pthread_mutex_unlock(&mutex);
		clock_gettime(CLOCK_MONOTONIC, &after);
		must(ms(&before, &after) < 60, "a heartbeat is not later than 60 ms");
	}
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	end(job);
	return 0;
}
