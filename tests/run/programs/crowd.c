/* SPDX-License-Identifier: MIT */
/* So many threads wait at once, for longer than any of them polls. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *wait_once(void *arg)
{
	pthread_mutex_lock(&m);
	pthread_mutex_unlock(&m);
	return arg;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t threads[64];

	pthread_mutex_lock(&m);
	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], 0, wait_once, 0);
	usleep(300000);
	pthread_mutex_unlock(&m);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], 0);
	return 0;
}
