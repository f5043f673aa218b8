/* SPDX-License-Identifier: MIT */
/*
 * A server that adds, at each line of its input, what its threads count under one mutex.
 * Usage: guarded THREADS ROUNDS [racy | overflows]: without the mutex, or with a write behind the end
 * of what it allocated.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static long counted, finished, rounds;
static int is_racy;

static void *count(void *unused)
{
	for (long i = 0; i < rounds; i++) {
		char *volatile piece = malloc((size_t)(100 + i));

		piece[0] = 0;
		if (!is_racy)
			pthread_mutex_lock(&m);
		counted++;
		if (!is_racy)
			pthread_mutex_unlock(&m);
		free(piece);
	}
	pthread_mutex_lock(&m);
	finished++;
	pthread_cond_signal(&done);
	pthread_mutex_unlock(&m);
	return unused;
}

static void serve(long threads)
{
	pthread_attr_t detached;
	pthread_t thread;

	finished = 0;
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	for (long i = 0; i < threads; i++)
		if (pthread_create(&thread, &detached, count, 0))
			exit(3);
	pthread_mutex_lock(&m);
	while (finished < threads)
		pthread_cond_wait(&done, &m);
	pthread_mutex_unlock(&m);
}

int main(int argc, char **argv)
{
	volatile char *piece = malloc(10);
	char line[16];
	const char *wrong = argc > 3 ? argv[3] : "";

	rounds = argc > 2 ? atol(argv[2]) : 0;
	is_racy = !strcmp(wrong, "racy");
	while (fgets(line, sizeof(line), stdin)) {
		serve(atol(argv[1]));
		printf("%ld\n", counted);
		fflush(stdout);
	}
	piece[strcmp(wrong, "overflows") ? 0 : 10] = 0;
	free((void *)piece);
	return 0;
}
