/* SPDX-License-Identifier: MIT */
#ifndef COUNTED_H
#define COUNTED_H
/* What a thread of a measured program did, and how long it waited each time. */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* Times by their logarithm, eight steps for each doubling: within 7 % of what they are. */
enum { COUNTED_STEPS = 8, COUNTED_PLACES = 64 * COUNTED_STEPS };

struct counted {
	uint64_t times, longest_ns;
	uint64_t waits[COUNTED_PLACES];
	uint64_t apart[16]; /* no cache line has two threads' */
};

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void count(struct counted *c, uint64_t ns)
{
	unsigned top = 63u - (unsigned)__builtin_clzll(ns | COUNTED_STEPS);

	c->times++;
	if (ns > c->longest_ns)
		c->longest_ns = ns;
	c->waits[(top - 2) * COUNTED_STEPS + (ns >> (top - 3)) % COUNTED_STEPS]++;
}

static inline double counted_p99_us(const struct counted *all, unsigned n)
{
	uint64_t sum = 0, seen = 0;
	unsigned place = 0;

	for (unsigned i = 0; i < n; i++)
		sum += all[i].times;
	for (; place < COUNTED_PLACES - 1; place++) {
		for (unsigned i = 0; i < n; i++)
			seen += all[i].waits[place];
		if (seen * 100 >= sum * 99)
			break;
	}
	return (double)((uint64_t)(COUNTED_STEPS + place % COUNTED_STEPS)
			<< (place / COUNTED_STEPS)) /
	       2000.0;
}

static inline double counted_longest_us(const struct counted *all, unsigned n)
{
	uint64_t longest = 0;

	for (unsigned i = 0; i < n; i++)
		if (all[i].longest_ns > longest)
			longest = all[i].longest_ns;
	return (double)longest / 1000;
}

static inline void tell(const char *program, const struct counted *all, unsigned n, double seconds)
{
	printf("{\"program\": \"%s\", \"threads\": %u, \"seconds\": %.6f, \"p99_us\": %.3f, "
	       "\"longest_us\": %.3f, \"per_thread\": [",
	       program, n, seconds, counted_p99_us(all, n), counted_longest_us(all, n));
	for (unsigned i = 0; i < n; i++)
		printf("%s%llu", i ? ", " : "", (unsigned long long)all[i].times);
	printf("]}\n");
}
#endif
