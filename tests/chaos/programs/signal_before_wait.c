/* SPDX-License-Identifier: MIT */
/* A condition variable without a condition: a signal that comes before the wait is lost. */
#include "planted.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t started = PTHREAD_COND_INITIALIZER;
static bool has_started;

static void *run(void *arg)
{
	(void)arg;
	sleep_us(2000);
	pthread_mutex_lock(&mutex);
	has_started = true;
	pthread_cond_signal(&started);
	pthread_mutex_unlock(&mutex);
	return 0;
}

int main(void)
{
	for (int round = 0; round < 10; round++) {
		pthread_t other;

		has_started = false;
		other = begin(run, 0);
		pthread_mutex_lock(&mutex);
		if (!is_fixed)
			pthread_cond_wait(&started, &mutex);
		while (!has_started)
			pthread_cond_wait(&started, &mutex);
		pthread_mutex_unlock(&mutex);
		end(other);
	}
	return 0;
}
