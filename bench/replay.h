/* SPDX-License-Identifier: MIT */
#ifndef BENCH_REPLAY_H
#define BENCH_REPLAY_H
/* Replays of recorded programs by threads here; bench/workload/replay_turns.h has the rest. */
#include "replay_plan.h"
#include <sys/prctl.h>
#include <stdio.h>
#include <time.h>
#include <workload.h>

static inline void replay_came(struct workload_me *me)
{
	char name[16];

	snprintf(name, sizeof(name), "replay-%u", (unsigned)me->index % REPLAY_THREADS);
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_TIMERSLACK, 1); /* sleeps are as long as they were */
}

/* In steps, so that a context that is to leave soon does. */
static inline void replay_sleep(const struct workload_me *me, uint64_t ns)
{
	const uint64_t step = 20000000;

	while (ns && !ol_load_relaxed(&me->stop)) {
		uint64_t now = ns < step ? ns : step;
		struct timespec t = { 0, (long)now };

		nanosleep(&t, NULL);
		ns -= now;
	}
}

static inline void replay_work(struct workload_me *me, uint64_t units)
{
	(void)me;
	workload_burn(units);
}

static inline void replay_pass_over(struct workload_me *me)
{
	(void)me;
}

#include <replay_turns.h>
#endif
