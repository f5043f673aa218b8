/* SPDX-License-Identifier: MIT */
#include "burn.h"
#include <overlock/ops.h>

/* Long enough for the clock's own cost not to show, short enough to fit between two preemptions. */
#define UNITS	20000u
#define TRIES	64

double burn_unit_ns(void)
{
	uint64_t least = UINT64_MAX;

	/* The shortest of many: whatever disturbs a try can only lengthen it. */
	for (int i = 0; i < TRIES; i++) {
		uint64_t start = ol_clock(), took;

		workload_burn(UNITS);
		took = ol_clock() - start;
		if (took < least)
			least = took;
	}
	return (double)least / UNITS;
}
