/* SPDX-License-Identifier: MIT */
/*
 * Time of an uncontended pthread_mutex_lock() and unlock(), whoever serves them: the least of many
 * bursts, in ticks per pair.
 *
 *	mutex_ticks alone|company
 *
 * With company a second thread is alive: glibc then uses the atomics that it spares a single one.
 */
#include <overlock/ops.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PAIRS = 1000, BURSTS = 2000 };

static void *sleeper(void *unused)
{
	(void)unused;
	pause();
	return 0;
}

static ol_ticks_t burst(pthread_mutex_t *m)
{
	ol_ticks_t began = ol_now();

	for (int i = 0; i < PAIRS; i++) {
		pthread_mutex_lock(m);
		pthread_mutex_unlock(m);
	}
	return ol_now() - began;
}

int main(int argc, char **argv)
{
	static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	ol_ticks_t least = OL_NEVER;
	pthread_t thread;

	if (argc != 2)
		return 2;
	if (strcmp(argv[1], "company") == 0 && pthread_create(&thread, 0, sleeper, 0))
		return 1;
	for (int b = 0; b < BURSTS; b++)
		least = ol_earlier(least, burst(&m));
	printf("%.2f\n", (double)least / PAIRS);
	return 0;
}
