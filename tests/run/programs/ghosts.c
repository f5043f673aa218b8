/* SPDX-License-Identifier: MIT */
/*
 * A mutex that is free at a fork, but whose lock says that threads wait for it, which the child does not have. Prints
 * what the child gets from a trylock, a lock, a timedlock, each on a mutex of its own, and the lock's words afterwards.
 * Usage: ghosts WORD
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MUTEXES = 3 };

static pthread_mutex_t m[MUTEXES];

static int until_long_after(pthread_mutex_t *mutex)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += 1000;
	return pthread_mutex_timedlock(mutex, &t);
}

static int (*const calls[MUTEXES])(pthread_mutex_t *) = {
	pthread_mutex_trylock,
	pthread_mutex_lock,
	until_long_after,
};

/* The first refusal ends it: the others would wait for ever. */
static int child(void)
{
	uint32_t word;
	int error;

	for (int i = 0; i < MUTEXES; i++) {
		error = calls[i](&m[i]);
		if (error) {
			printf("%s\n", strerror(error));
			return 1;
		}
		pthread_mutex_unlock(&m[i]);
		memcpy(&word, &m[i], sizeof(word));
		printf("acquired, %d waiters\n", (word & 0x03fffff0u) >> 4);
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint32_t word = argc > 1 ? (uint32_t)strtoul(argv[1], 0, 0) : 0;
	int status;

	for (int i = 0; i < MUTEXES; i++) {
		pthread_mutex_lock(&m[i]);
		pthread_mutex_unlock(&m[i]);
		memcpy(&m[i], &word, sizeof(word));
	}
	fflush(stdout);
	if (!fork())
		exit(child());
	return wait(&status) < 0 || status;
}
