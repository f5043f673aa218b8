/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef WORKLOAD_LOCKLOOP_H
#define WORKLOAD_LOCKLOOP_H
/*
 * Long's micro-benchmark: lock and unlock, over and over. Between them is only what proves that the
 * lock excludes, on one line; after them nothing. The paper times 10^6 pairs by each thread.
 */
#include "ledger.h"
#include "workload.h"

struct lockloop {
	char nothing;
};

struct lockloop_guarded {
	struct ledger ledger;
};

struct lockloop_own {
	char nothing;
};

static inline void lockloop_begin(const struct workload_run *run, struct lockloop *w,
				  struct lockloop_own *own, struct workload_me *me)
{
	(void)run, (void)w, (void)own, (void)me;
}

static inline bool lockloop_turn(const struct workload_run *run, struct lockloop *w,
				 struct lockloop_own *own, struct workload_me *me)
{
	struct lockloop_guarded *data = (struct lockloop_guarded *)run->guarded;

	(void)w, (void)own;
	workload_acquire(me, run->locks);
	ledger_close(&data->ledger, ledger_open(&data->ledger));
	workload_release(me, run->locks);
	return true;
}

static inline const char *lockloop_check(const struct workload_run *run, const struct lockloop *w,
					 uint64_t turns, unsigned inside)
{
	(void)w;
	return ledger_check(&((const struct lockloop_guarded *)run->guarded)->ledger, turns,
			    inside);
}
#endif
