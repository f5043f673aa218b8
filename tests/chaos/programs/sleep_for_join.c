/* SPDX-License-Identifier: MIT */
/* Instead of a join, the owner gives the worker 12 ms, which needs 50 µs: unless it loses its CPU. */
#include "planted.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long *buffer;
static bool stop;

static void *fill(void *arg)
{
	(void)arg;
	for (bool goes_on = true; goes_on;) {
		pthread_mutex_lock(&mutex);
		goes_on = !stop;
		++*buffer;
		pthread_mutex_unlock(&mutex);
		work_us(50);
	}
	return 0;
}

int main(void)
{
	for (int round = 0; round < 3; round++) {
		static long room;
		struct timespec enough = { 0, 12000000 };
		pthread_t worker;

		stop = false;
		buffer = &room;
		worker = begin(fill, 0);
		work_us(1000);
		pthread_mutex_lock(&mutex);
		stop = true;
		pthread_mutex_unlock(&mutex);
		if (is_fixed)
			end(worker);
		else
			nanosleep(&enough, 0);
		buffer = 0; /* as free() would leave it, but sure to be noticed */
		if (!is_fixed)
			end(worker);
	}
	return 0;
}
