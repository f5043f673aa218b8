/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef MONITOR_TIMES_H
#define MONITOR_TIMES_H
/* Times counted by their logarithm, four steps for each doubling: within 12 % of what they are. */
#include <linux/types.h>

enum { STEP_BITS = 2, STEPS = 1 << STEP_BITS, PLACES = 64 * STEPS };

#ifdef __bpf__
static inline __attribute__((always_inline)) __u32 step_of(__u64 ns)
{
	__u32 top = 0, step;
	__u64 v = ns;

	if (ns < STEPS)
		return ns;
	for (step = 32; step; step /= 2) {
		if (v >> step) {
			v >>= step;
			top += step;
		}
	}
	return (top - STEP_BITS + 1) * STEPS + (ns >> (top - STEP_BITS)) % STEPS;
}

static inline __attribute__((always_inline)) void note(__u64 *times, __u64 ns)
{
	times[step_of(ns) % PLACES]++;
}
#else
/* Below which so many percent of them are. */
__u64 times_below(const __u64 *times, unsigned percent);

/* "name": {"count": ..., "p50": ..., "p99": ...} */
void times_tell(const char *name, const __u64 *times);
#endif
#endif
