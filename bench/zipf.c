/* SPDX-License-Identifier: MIT */
#include "zipf.h"
#include <math.h>

/*
 * Walker's alias table by Vose's method (1991). An entry's `keep` is its chance in units of 1/n
 * while that is below 1; who has too little is filled up by who has too much.
 */
static void pair(struct workload_choice *table, double *chance, uint32_t n)
{
	uint32_t poor = 0, rich = 0;

	for (uint32_t i = 0; i < n; i++)
		table[i] = (struct workload_choice){ UINT32_MAX, i };
	while (poor < n) {
		uint32_t i = poor;

		/* A rich one that has given all it could may be poor itself: it comes next. */
		while (i < n && chance[i] < 1) {
			while (rich < n && chance[rich] <= 1)
				rich++;
			if (rich == n)
				break; /* rounding left us none: all the rest are 1 */
			table[i].keep = (uint32_t)(chance[i] * 4294967295.0);
			table[i].other = rich;
			chance[rich] -= 1 - chance[i];
			chance[i] = 1;
			i = rich < poor ? rich : n;
		}
		poor++;
	}
}
