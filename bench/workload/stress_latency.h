/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef WORKLOAD_STRESS_LATENCY_H
#define WORKLOAD_STRESS_LATENCY_H
/*
 * stress_latency of libslock, as Dice & Kogan 2019, section 4.3 runs it: acquire, 200 loops of a delay loop,
 * release, 5000 loops of the same. The paper's command line is `-l 1 -d 10000 -a 200 -n THREADS
 * -w 1 -c 1 -p 5000`, where
 *
 *	-l 1		is one lock, -d 10000 is 10 s, -a and -p are the two delays;
 *	-c 1		one cache line is written in the critical section, after the delay;
 *	-w 1		the write adds to what is there, rather than overwriting it.
 *
 * libslock's delay loop is an empty loop around a `nop`. It calls -a and -p cycles and divides them
 * by the length of a nop, 2 on a machine it does not know; the paper calls them loops, and so does
 * this. libslock lets threads on its mutex pause more the more they are; this does not. The line
 * that is written is the one that proves exclusion.
 */
#include "charge.h"
#include "ledger.h"
#include "workload.h"

struct stress_latency {
	char nothing;
};

struct stress_latency_guarded {
	struct ledger ledger;
};

struct stress_latency_own {
	char nothing;
};

static inline void stress_latency_delay(uint64_t loops)
{
	WORKLOAD_CHARGE(delay, loops);
	while (loops--)
		__asm__ __volatile__("nop");
}

static inline void stress_latency_begin(const struct workload_run *run, struct stress_latency *w,
					struct stress_latency_own *own, struct workload_me *me)
{
	(void)run, (void)w, (void)own, (void)me;
}

static inline bool stress_latency_turn(const struct workload_run *run, struct stress_latency *w,
				       struct stress_latency_own *own, struct workload_me *me)
{
	struct stress_latency_guarded *data = (struct stress_latency_guarded *)run->guarded;
	uint64_t entry;

	(void)w, (void)own;
	workload_acquire(me, run->locks);
	entry = ledger_open(&data->ledger);
	stress_latency_delay(run->params->stress_latency_acquire);
	ledger_close(&data->ledger, entry);
	workload_release(me, run->locks);
	stress_latency_delay(run->params->stress_latency_pause);
	return true;
}

static inline const char *stress_latency_check(const struct workload_run *run,
					       const struct stress_latency *w, uint64_t turns,
					       unsigned inside)
{
	(void)w;
	return ledger_check(&((const struct stress_latency_guarded *)run->guarded)->ledger, turns,
			    inside);
}
#endif
