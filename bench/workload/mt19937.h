/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef WORKLOAD_MT19937_H
#define WORKLOAD_MT19937_H
/*
 * The Mersenne Twister of C++'s std::mt19937 (Matsumoto, Nishimura 1998), number for number: its
 * steps are the unit of work of Dice & Kogan 2019, section 4.1.
 *
 * Like the C++ libraries it makes 624 numbers at once: one step in 624 takes about a microsecond,
 * also inside critical sections.
 */
#include "charge.h"
#include <overlock/port.h>

enum { MT19937_N = 624, MT19937_M = 397 };

struct mt19937 {
	uint32_t state[MT19937_N];
	uint32_t next; /* the place of the number to give out */
};

static inline void mt19937_seed(struct mt19937 *mt, uint32_t seed)
{
	mt->state[0] = seed;
	for (uint32_t i = 1; i < MT19937_N; i++)
		mt->state[i] = 1812433253u * (mt->state[i - 1] ^ mt->state[i - 1] >> 30) + i;
	mt->next = MT19937_N;
}

static inline uint32_t mt19937_mix(uint32_t far, uint32_t upper, uint32_t lower)
{
	uint32_t y = (upper & 0x80000000u) | (lower & 0x7fffffffu);

	return far ^ y >> 1 ^ (-(y & 1u) & 0x9908b0dfu);
}

static inline void mt19937_twist(struct mt19937 *mt)
{
	uint32_t *s = mt->state;
	unsigned i = 0;

	for (; i < MT19937_N - MT19937_M; i++)
		s[i] = mt19937_mix(s[i + MT19937_M], s[i], s[i + 1]);
	for (; i < MT19937_N - 1; i++)
		s[i] = mt19937_mix(s[i + MT19937_M - MT19937_N], s[i], s[i + 1]);
	s[i] = mt19937_mix(s[MT19937_M - 1], s[i], s[0]);
	mt->next = 0;
}

static inline uint32_t mt19937_next(struct mt19937 *mt)
{
	uint32_t y;

	if (mt->next == MT19937_N)
		mt19937_twist(mt);
	y = mt->state[mt->next++];
	y ^= y >> 11;
	y ^= y << 7 & 0x9d2c5680u;
	y ^= y << 15 & 0xefc60000u;
	return y ^ y >> 18;
}

/* `steps` numbers made and thrown away. */
static inline void mt19937_advance(struct mt19937 *mt, uint32_t steps)
{
	WORKLOAD_CHARGE(mt19937, steps);
	while (steps--) {
		uint32_t y = mt19937_next(mt);

		__asm__ __volatile__("" ::"r"(y)); /* made, though nobody looks */
	}
}

/* Uniform in [0, n), n > 0, without bias (Lemire 2019). */
static inline uint32_t mt19937_below(struct mt19937 *mt, uint32_t n)
{
	uint64_t product = (uint64_t)mt19937_next(mt) * n;

	if ((uint32_t)product < n)
		for (uint32_t least = -n % n; (uint32_t)product < least;)
			product = (uint64_t)mt19937_next(mt) * n;
	return (uint32_t)(product >> 32);
}
#endif
