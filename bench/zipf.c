/* SPDX-License-Identifier: MIT */
#include "zipf.h"
#include <math.h>
#include <stdlib.h>

/* Entry `poor` is itself with the chance it has, in units of 1/n, and else `rich`, which pays. */
static void fill_up(struct workload_choice *table, double *chance, uint32_t poor, uint32_t rich)
{
	table[poor].keep = (uint32_t)(chance[poor] * 4294967295.0);
	table[poor].other = rich;
	chance[rich] -= 1 - chance[poor];
}

/*
 * Walker's alias table. Chances descend, so the poor are at the end and the rich at the start; a rich
 * one that has paid until it is poor itself is filled up by the next.
 */
static void pair(struct workload_choice *table, double *chance, uint32_t n)
{
	uint32_t rich = 0;

	for (uint32_t i = 0; i < n; i++)
		table[i] = (struct workload_choice){ UINT32_MAX, i };
	for (uint32_t poor = n - 1; poor > rich; poor--) {
		fill_up(table, chance, poor, rich);
		for (; chance[rich] < 1 && rich + 1 < poor; rich++)
			fill_up(table, chance, rich, rich + 1);
	}
}

bool zipf_fill(struct workload_choice *table, uint32_t n, double s)
{
	double *chance = malloc(n * sizeof(*chance)), sum = 0;

	if (!chance)
		return false;
	for (uint32_t i = 0; i < n; i++)
		sum += chance[i] = pow(i + 1, -s);
	for (uint32_t i = 0; i < n; i++)
		chance[i] *= n / sum;
	pair(table, chance, n);
	free(chance);
	return true;
}
