/* SPDX-License-Identifier: MIT */
/*
 * When a thread yields in its waits: run/spins/waiting.c by a clock of this program's, in which a round takes ROUND
 * ticks and a yield as long as the test says. Ends with the number of the wait that went wrong.
 */
#include <x86intrin.h>

static unsigned long long read_clock(void);
#define __rdtsc() read_clock()
#include WAITING

#include <stdio.h>

enum { ROUND = 20, AT_ONCE_NS = 300, OTHERS_NS = 1000000, APART_NS = 50000000 };

static unsigned long long now;
static uint64_t yield_ticks;
static unsigned reads; /* of this look: the third is behind a yield */

static unsigned long long read_clock(void)
{
	if (++reads == 3)
		now += yield_ticks;
	return now;
}

/* Two jumps of one loop, which rounds take in turn. */
static struct site sites[] = {
	{ .loop = sites, .counter = OL_REGISTER_NONE },
	{ .loop = sites, .counter = OL_REGISTER_NONE },
};

static uint64_t all_yields(void)
{
	return sites[0].yields + sites[1].yields;
}

/* A wait of that many rounds' time; the number of yields. */
static uint64_t yields_in(uint64_t ns, uint64_t yield_ns)
{
	uint64_t before = all_yields(), spun = 0;
	unsigned jump = 0;

	yield_ticks = ol_ticks_from_ns(yield_ns);
	now += ol_ticks_from_ns(APART_NS);
	while (spun < ol_ticks_from_ns(ns)) {
		uint64_t round = (uint64_t)me.rounds * ROUND;

		now += round;
		spun += round;
		reads = 0;
		ol_spins_look(&sites[jump++ % 2], 0);
	}
	return all_yields() - before;
}

/* The first looks of a thread are rounds apart; in between one wait ended and another began. */
static bool yields_after_short_waits(void)
{
	static struct site counting = {
		.loop = &counting, .counter = 0, .bound = OL_REGISTER_NONE, .bound_is = OL_NO_BOUND
	};
	uint64_t count = 0;
	uint32_t step = 3;

	me = (struct waiter){ .left = 1, .rounds = 1, .times = 1 };
	now += ol_ticks_from_ns(APART_NS);
	for (unsigned k = 0; k < 1000; k++) {
		now += (uint64_t)me.rounds * ROUND;
		count += me.rounds * step;
		reads = 0;
		ol_spins_look(&counting, &count);
		step = k < 2 ? 3 : 1;
	}
	return counting.yields > 0;
}

/*
 * A loop that counts gives away what its rounds take, a slice of time, and two yields: the first one, before it is known
 * by what it counts, and the one in which it was over.
 */
static bool gives_away_what_it_counts(void)
{
	enum { ROUNDS = 1000000 };
	static struct site counting = {
		.loop = &counting, .counter = 0, .bound = OL_REGISTER_NONE, .bound_is = ROUNDS
	};

	me = (struct waiter){ .left = 1, .rounds = 1, .times = 1 };
	yield_ticks = ol_ticks_from_ns(OTHERS_NS);
	now += ol_ticks_from_ns(APART_NS);
	for (uint64_t count = 0; count < ROUNDS;) {
		now += (uint64_t)me.rounds * ROUND;
		count += me.rounds;
		reads = 0;
		ol_spins_look(&counting, &count);
	}
	return counting.yields > 0 &&
	       counting.yielded <= (uint64_t)ROUNDS * ROUND + slack + 2 * yield_ticks;
}

int main(void)
{
	static const struct {
		unsigned ns, yield_ns;
		bool yields;
	} waits[] = {
		{ 100000, AT_ONCE_NS, true }, /* learns how long rounds and yields are */
		{ 3000, AT_ONCE_NS, false },  { 500000, OTHERS_NS, true },
		{ 3000, OTHERS_NS, true },  /* somebody wanted its CPU */
		{ 3000, AT_ONCE_NS, true }, /* nobody does any more */
		{ 3000, AT_ONCE_NS, false },
	};

	ol_spins_set_patience(5000);
	for (unsigned k = 0; k < sizeof(waits) / sizeof(*waits); k++)
		if ((yields_in(waits[k].ns, waits[k].yield_ns) > 0) != waits[k].yields)
			return (int)k + 1;
	if (!yields_after_short_waits())
		return 7;
	return gives_away_what_it_counts() ? 0 : 8;
}
