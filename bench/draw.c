/* SPDX-License-Identifier: MIT */
#include "meter.h"
#include <math.h>
#include <random.h>

uint64_t meter_draw(struct meter *m)
{
	struct workload_random r = { m->random };
	double u = (workload_random_next(&r) + 0.5) / 4294967296.0;

	m->random = r.state;
	/* How many are passed over when each is taken with probability 1 / mean. */
	return m->acquisitions + (uint64_t)(log(u) / log1p(-1.0 / m->mean));
}
