/* SPDX-License-Identifier: MIT */
/* The flag is set without the mutex: the signal may come when the waiter has checked it but does not wait yet. */
#include "planted.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stopped = PTHREAD_COND_INITIALIZER;
static bool stop;

static void *stop_soon(void *arg)
{
	(void)arg;
	work_us(300);
	if (is_fixed)
		pthread_mutex_lock(&mutex);
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&stopped);
	if (is_fixed)
		pthread_mutex_unlock(&mutex);
	return 0;
}

int main(void)
{
	for (int round = 0; round < 10; round++) {
		pthread_t other;

		stop = false;
		other = begin(stop_soon, 0);
		pthread_mutex_lock(&mutex);
		while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
			pthread_cond_wait(&stopped, &mutex);
		pthread_mutex_unlock(&mutex);
		end(other);
	}
	return 0;
}
