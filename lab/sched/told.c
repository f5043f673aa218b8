/* SPDX-License-Identifier: MIT */
#include "told.h"
#include <stdio.h>

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
	times_tell("early_ns", told->sum->early);
	printf(", ");
	times_tell("after_ns", told->sum->after);
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
	       s->taken, kept, times_below(s->after, 99) / 1000, s->broken);
	printf("Put off: %llu ends, for %llu us together; %llu times the thread did not leave in "
	       "time.\n",
	       s->deferred, s->deferred_ns / 1000, s->overdue);
	printf("Led: %llu of %llu times the thread that was waited for ran first.\n", s->led,
	       s->named);
	printf("Programs with a page: %lu, threads: %lu.\n", told->programs->connected,
	       told->programs->threads);
}
