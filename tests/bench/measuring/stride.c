/* SPDX-License-Identifier: MIT */
/* The mutant of bench/draw.c: a sampler of stride eight. */
#include "meter.h"

uint64_t meter_draw(struct meter *m)
{
	return m->acquisitions + 7 - (m->acquisitions + 3) % 8;
}
