/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef WORKLOAD_RANDOM_H
#define WORKLOAD_RANDOM_H
/*
 * Random numbers and lengths, by integers only: a kernel has no floating point.
 *
 * The generator is xorshift64* (Vigna 2016): one word, a few cycles, good upper bits.
 */
#include <overlock/port.h>

struct workload_random {
	uint64_t state; /* anything but 0 */
};

/* Neighbouring seeds give unrelated streams: a step of splitmix64 (Steele, Lea, Flood 2014). */
static inline void workload_random_seed(struct workload_random *r, uint64_t seed)
{
	uint64_t z = seed + 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	z ^= z >> 31;
	r->state = z ? z : 1;
}

static inline uint32_t workload_random_next(struct workload_random *r)
{
	r->state ^= r->state >> 12;
	r->state ^= r->state << 25;
	r->state ^= r->state >> 27;
	return (uint32_t)(r->state * 0x2545f4914f6cdd1du >> 32);
}

/* Uniform in [0, n), as far as 2^32 is a multiple of n: off by n parts in 2^32. */
static inline uint32_t workload_random_below(struct workload_random *r, uint32_t n)
{
	return (uint32_t)((uint64_t)workload_random_next(r) * n >> 32);
}

#define WORKLOAD_ONE	(1u << 24) /* 1, where a fraction is needed; lengths reach 2^32 then */

/*
 * Exponential with mean WORKLOAD_ONE, by comparing uniform numbers (von Neumann 1951): the first of
 * a run u1 > u2 > ... is exponential on [0, 1) if the run's length is odd; each even run before it
 * adds 1. Takes four to five numbers.
 */
static inline uint32_t workload_random_exponential(struct workload_random *r)
{
	uint32_t whole = 0;

	for (;; whole += WORKLOAD_ONE) {
		uint32_t first = workload_random_next(r), least = first, next;
		bool odd = true;

		while ((next = workload_random_next(r)) < least) {
			least = next;
			odd = !odd;
		}
		if (odd)
			return whole + (first >> 8);
	}
}

/*
 * Bounded Pareto with shape 1 on [L, 1000 L]: P(length > x) falls as 1/x, as the running times of
 * processes do (Harchol-Balter and Downey 1996). Its mean is L ln(1000) 1000/999 = L * 6.91467, so
 * a mean of 1 makes L 0.144620. One length in a thousand takes a tenth of the time.
 */
#define WORKLOAD_PARETO_SPAN	1000u
#define WORKLOAD_PARETO_LEAST	2426322u /* 0.144620 * WORKLOAD_ONE */

static inline uint64_t workload_random_pareto(struct workload_random *r)
{
	/* L / (1 - u (1 - 1/SPAN)), the quantile of u, with numerator and denominator times 2^32 */
	uint64_t u = workload_random_next(r);
	uint64_t below = ((uint64_t)1 << 32) - u + u / WORKLOAD_PARETO_SPAN;

	return ((uint64_t)WORKLOAD_PARETO_LEAST << 32) / below;
}

enum workload_shape {
	WORKLOAD_FIXED,
	WORKLOAD_UNIFORM, /* from 0 to twice the mean */
	WORKLOAD_EXPONENTIAL,
	WORKLOAD_PARETO,
};

/* A length of that shape and mean, in the mean's unit; the mean must be below 2^31. */
static inline uint64_t workload_random_length(struct workload_random *r, enum workload_shape shape,
					      uint32_t mean)
{
	switch (shape) {
	case WORKLOAD_UNIFORM:
		return workload_random_below(r, 2 * mean + 1);
	case WORKLOAD_EXPONENTIAL:
		return ((uint64_t)mean * workload_random_exponential(r) + WORKLOAD_ONE / 2) /
		       WORKLOAD_ONE;
	case WORKLOAD_PARETO:
		return ((uint64_t)mean * workload_random_pareto(r) + WORKLOAD_ONE / 2) /
		       WORKLOAD_ONE;
	case WORKLOAD_FIXED:
		break;
	}
	return mean;
}

/*
 * A choice among n with unequal chances, by one look into a table (Walker's alias method, 1977):
 * entry i is i with a chance of keep / 2^32, else `other`. The platform makes the table.
 */
struct workload_choice {
	uint32_t keep, other;
};

static inline uint32_t workload_random_choice(struct workload_random *r,
					      const struct workload_choice *table, uint32_t n)
{
	uint32_t i = workload_random_below(r, n);

	return workload_random_next(r) < table[i].keep ? i : table[i].other;
}
#endif
