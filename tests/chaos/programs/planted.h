/* SPDX-License-Identifier: MIT */
#ifndef PLANTED_H
#define PLANTED_H
/*
 * What the planted programs share. Each has one bug that shows only if a thread loses its CPU at a bad moment;
 * -DFIXED compiles the program without it.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef FIXED
enum { is_fixed = 1 };
#else
enum { is_fixed = 0 };
#endif

static inline void work_us(long us)
{
	struct timespec t, now;

	clock_gettime(CLOCK_MONOTONIC, &t);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - t.tv_sec) * 1000000 + (now.tv_nsec - t.tv_nsec) / 1000 < us);
}

/* As if for I/O: the CPU is free meanwhile. */
static inline void sleep_us(long us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&t, 0);
}

static inline void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "invariant violated: %s\n", what);
	abort();
}

static inline pthread_t begin(void *(*f)(void *), void *arg)
{
	pthread_t t;

	must(!pthread_create(&t, 0, f, arg), "a thread was created");
	return t;
}

static inline void end(pthread_t t)
{
	pthread_join(t, 0);
}
#endif
