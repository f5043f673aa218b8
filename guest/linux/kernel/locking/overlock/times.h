/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OVERLOCK_TIMES_H
#define OVERLOCK_TIMES_H
/*
 * Times counted by their logarithm, on each CPU for itself: eight steps for each doubling, so that
 * a time is told within 6 % of its value, from 0 to 18 minutes.
 */
#include <linux/percpu.h>
#include <linux/types.h>

struct seq_file;

enum {
	OVERLOCK_TIME_STEP_BITS = 3,
	OVERLOCK_TIME_STEPS = 1 << OVERLOCK_TIME_STEP_BITS,
	OVERLOCK_TIME_PLACES = 38 * OVERLOCK_TIME_STEPS,
};

struct overlock_times {
	u64 count[OVERLOCK_TIME_PLACES];
};

void overlock_times_add(struct overlock_times __percpu *times, u64 ns);

/* As " NS:COUNT", for each time that was counted. */
void overlock_times_list(struct seq_file *out, struct overlock_times __percpu *times);

/* What so many of a hundred do not exceed; 0 if nothing was counted. */
u64 overlock_times_percentile(struct overlock_times __percpu *times, unsigned int percent);

#endif
