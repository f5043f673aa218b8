// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/seq_file.h>
#include "times.h"

enum {
	BITS = OVERLOCK_TIME_STEP_BITS,
	STEPS = OVERLOCK_TIME_STEPS,
	PLACES = OVERLOCK_TIME_PLACES,
};

static unsigned int place_of(u64 ns)
{
	unsigned int top;

	if (ns < STEPS)
		return ns;
	top = fls64(ns) - 1;
	return min_t(unsigned int, PLACES - 1,
		     (top - BITS + 1) * STEPS + (ns >> (top - BITS)) % STEPS);
}

/* The middle of what is counted at a place. */
static u64 ns_at(unsigned int place)
{
	unsigned int shift = place / STEPS;

	if (!shift)
		return place;
	return ((u64)(STEPS + place % STEPS) << (shift - 1)) + ((1ull << (shift - 1)) >> 1);
}

void overlock_times_add(struct overlock_times __percpu *times, u64 ns)
{
	this_cpu_inc(times->count[place_of(ns)]);
}

static u64 counted_at(struct overlock_times __percpu *times, unsigned int place)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(times, cpu)->count[place]);
	return sum;
}

void overlock_times_list(struct seq_file *out, struct overlock_times __percpu *times)
{
	unsigned int place;

	for (place = 0; place < PLACES; place++) {
		u64 count = counted_at(times, place);

		if (count)
			seq_printf(out, " %llu:%llu", ns_at(place), count);
	}
}

u64 overlock_times_percentile(struct overlock_times __percpu *times, unsigned int percent)
{
	u64 all = 0, up_to = 0;
	unsigned int place;

	for (place = 0; place < PLACES; place++)
		all += counted_at(times, place);
	for (place = 0; place < PLACES; place++) {
		up_to += counted_at(times, place);
		if (up_to && up_to * 100 >= all * percent)
			return ns_at(place);
	}
	return 0;
}
