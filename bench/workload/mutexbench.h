/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef WORKLOAD_MUTEXBENCH_H
#define WORKLOAD_MUTEXBENCH_H
/*
 * MutexBench, Dice & Kogan 2019, section 4.1: the critical section advances an mt19937 by 4 steps; the
 * non-critical section draws a number from [0, 200) from the same generator and advances it by so
 * many. Each context has a generator of its own. Dice & Kogan 2019, section 4.6 gives locktorture this form with
 * 20 steps and [0, 400).
 *
 * Beyond the paper's, the critical section writes the line that proves exclusion.
 */
#include "ledger.h"
#include "mt19937.h"
#include "workload.h"

struct mutexbench {
	char nothing;
};

struct mutexbench_guarded {
	struct ledger ledger;
};

struct mutexbench_own {
	struct mt19937 mt;
};

static inline void mutexbench_begin(const struct workload_run *run, struct mutexbench *w,
				    struct mutexbench_own *own, struct workload_me *me)
{
	(void)run, (void)w;
	mt19937_seed(&own->mt, workload_random_next(&me->random));
}

static inline bool mutexbench_turn(const struct workload_run *run, struct mutexbench *w,
				   struct mutexbench_own *own, struct workload_me *me)
{
	struct mutexbench_guarded *data = (struct mutexbench_guarded *)run->guarded;
	const struct workload_params *params = run->params;
	uint64_t entry;

	(void)w;
	workload_acquire(me, run->locks);
	entry = ledger_open(&data->ledger);
	mt19937_advance(&own->mt, (uint32_t)params->mutexbench_cs_steps);
	ledger_close(&data->ledger, entry);
	workload_release(me, run->locks);
	mt19937_advance(&own->mt, mt19937_below(&own->mt, (uint32_t)params->mutexbench_ncs_range));
	return true;
}

static inline const char *mutexbench_check(const struct workload_run *run,
					   const struct mutexbench *w, uint64_t turns,
					   unsigned inside)
{
	(void)w;
	return ledger_check(&((const struct mutexbench_guarded *)run->guarded)->ledger, turns,
			    inside);
}
#endif
