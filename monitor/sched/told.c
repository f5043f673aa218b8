/* SPDX-License-Identifier: MIT */
#include "told.h"
#include <stdio.h>

/* The least that is counted at a place. */
static __u64 ns_at(unsigned place)
{
	if (place < STEPS)
		return place;
	return (__u64)(STEPS + place % STEPS) << (place / STEPS - 1);
}

static __u64 all(const __u64 *times)
{
	__u64 n = 0;

	for (unsigned i = 0; i < PLACES; i++)
		n += times[i];
	return n;
}

static __u64 below(const __u64 *times, unsigned percent)
{
	__u64 n = all(times), seen = 0;

	for (unsigned i = 0; i < PLACES; i++) {
		seen += times[i];
		if (n && seen * 100 >= n * percent)
			return ns_at(i);
	}
	return 0;
}

static void tell_times(const char *name, const __u64 *times)
{
	printf("\"%s\": {\"count\": %llu, \"p50\": %llu, \"p99\": %llu}", name, all(times),
	       below(times, 50), below(times, 99));
}

void tell_json(const struct told *told)
{
	printf("{\"seconds\": %.3f, \"why\": \"", told->seconds);
	for (const char *c = told->why; *c; c++)
		if (*c != '"' && *c != '\\' && *c >= ' ')
			putchar(*c);
	printf("\", ");
#define COUNT(name)	printf("\"" #name "\": %llu, ", told->sum->name);
	SCHED_COUNTS(COUNT)
#undef COUNT
	tell_times("early_ns", told->sum->early);
	printf(", ");
	tell_times("after_ns", told->sum->after);
	printf(", \"programs\": %lu, \"threads\": %lu, \"unserved\": %lu}\n",
	       told->programs->connected, told->programs->threads, told->programs->refused);
}

void tell_people(const struct told *told)
{
	const struct sched_stats *s = told->sum;
	double kept = s->taken ? 100.0 * (double)s->within / (double)s->taken : 100;

	printf("%s after %.1f s; the kernel's own scheduler is back.\n", told->why, told->seconds);
	printf("Slices: %llu. Their threads ended %llu of them, by sleeping or yielding.\n",
	       s->slices, s->slept + s->yielded);
	printf("At their end: %llu, %.2f %% of these within 50 us of the published end "
	       "(99 %% at most %llu us late). Before it: %llu.\n",
	       s->taken, kept, below(s->after, 99) / 1000, s->broken);
	printf("Put off: %llu ends, for %llu us together; %llu times the thread did not leave in "
	       "time.\n",
	       s->deferred, s->deferred_ns / 1000, s->overdue);
	printf("Led: %llu of %llu times the thread that was waited for ran first.\n", s->led,
	       s->named);
	printf("Programs with a page: %lu, threads: %lu.\n", told->programs->connected,
	       told->programs->threads);
}
