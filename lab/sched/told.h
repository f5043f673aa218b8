/* SPDX-License-Identifier: MIT */
#ifndef SCHED_TOLD_H
#define SCHED_TOLD_H
/* What overlock-sched prints when it ends. */
#include "programs.h"
#include "shared.h"

struct told {
	double seconds;
	const char *why;
	const struct sched_stats *sum;
	const struct programs *programs;
};

void tell_json(const struct told *told);
void tell_people(const struct told *told);
#endif
