/* SPDX-License-Identifier: MIT */
#ifndef BENCH_BURN_H
#define BENCH_BURN_H
/* Work of a known length: a chain of operations each of which needs the one before. */
#include <stdint.h>

static inline void workload_burn(uint64_t units)
{
	uint64_t x = units;

	for (uint64_t i = 0; i < units; i++) {
		x = x * 6364136223846793005u + 1;
		__asm__ __volatile__("" : "+r"(x)); /* neither unrolled away nor folded */
	}
}

/* How long a unit takes on an otherwise idle CPU, in ns. */
double burn_unit_ns(void);
#endif
