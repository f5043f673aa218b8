/* SPDX-License-Identifier: MIT */
/* More threads than CPUs wait, for long; says so, and ends a little later, when its terminal may take more. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 16 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *wait_once(void *unused)
{
	pthread_mutex_lock(&m);
	usleep(1000);
	pthread_mutex_unlock(&m);
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS];

	pthread_mutex_lock(&m);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], 0, wait_once, 0))
			return 2;
	usleep(100000);
	pthread_mutex_unlock(&m);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], 0);
	puts("waited");
	fflush(stdout);
	usleep(500000);
	return 0;
}
