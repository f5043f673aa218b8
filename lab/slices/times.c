/* SPDX-License-Identifier: MIT */
#include "times.h"
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

__u64 times_below(const __u64 *times, unsigned percent)
{
	__u64 n = all(times), seen = 0;

	for (unsigned i = 0; i < PLACES; i++) {
		seen += times[i];
		if (n && seen * 100 >= n * percent)
			return ns_at(i);
	}
	return 0;
}

void times_tell(const char *name, const __u64 *times)
{
	printf("\"%s\": {\"count\": %llu, \"p50\": %llu, \"p99\": %llu}", name, all(times),
	       times_below(times, 50), times_below(times, 99));
}
