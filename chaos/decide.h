/* SPDX-License-Identifier: MIT */
#ifndef OL_CHAOS_DECIDE_H
#define OL_CHAOS_DECIDE_H
/* Whether a thread, or a vCPU, loses its CPU: a function of the seed and of what it did itself. */
#include <stdint.h>

/*
 * Who visits a site for the nth time, n above this, sleeps there by this over n of the rate: a hot
 * loop costs the logarithm of its length in sleep.
 */
enum { CHAOS_FULL_VISITS = 64 };

struct chaos_odds {
	uint64_t seed, shortest_ns, longest_ns;
	double rate;
};

/* splitmix64's finaliser (Steele, Lea, Flood 2014). */
static inline uint64_t chaos_mixed(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* How long it is without a CPU at its nth visit of that site, in ns; 0: it is not. */
static inline uint64_t chaos_decided(const struct chaos_odds *odds, uint64_t who, uint64_t site,
				     uint64_t n)
{
	uint64_t x = chaos_mixed(odds->seed ^ chaos_mixed(who ^ chaos_mixed(site ^ n)));
	double rate = odds->rate;

	if (n >= CHAOS_FULL_VISITS)
		rate *= (double)CHAOS_FULL_VISITS / (double)(n + 1);
	if ((double)(x >> 11) * 0x1p-53 >= rate)
		return 0;
	return odds->shortest_ns + chaos_mixed(x) % (odds->longest_ns - odds->shortest_ns + 1);
}
#endif
