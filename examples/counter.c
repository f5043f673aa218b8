/* SPDX-License-Identifier: MIT */
/* cc counter.c $(pkg-config --cflags --libs overlock) */
#include <overlock/overlock.h>
#include <pthread.h>
#include <stdio.h>

static ol_tas_yield_t lock = OL_TAS_YIELD_INIT;
static int counter;

static void *count(void *unused)
{
	for (int i = 0; i < 1000; i++) {
		ol_tas_yield_lock(&lock);
		counter++;
		ol_tas_yield_unlock(&lock);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[8];

	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], 0, count, 0);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], 0);
	printf("%d\n", counter);
	return 0;
}
