/* SPDX-License-Identifier: MIT */
#ifndef BENCH_THROW_LOCKED_H
#define BENCH_THROW_LOCKED_H
/*
 * What throw.h was when Dice & Kogan 2019 measured it: the lock under test is held around every search for an
 * exception table, as the runtime's mutex was. One throw makes several searches, always as many.
 */
#include "throwing.h"
#include <ledger.h>
#include <workload.h>

struct throw_locked {
	uint64_t searches; /* that one throw makes */
};

struct throw_locked_guarded {
	struct ledger ledger;
};

struct throw_locked_own {
	const struct workload_run *run;
	struct workload_me *me;
	struct throwing_search search;
	uint64_t entry, searches;
};

static inline struct ledger *throw_locked_ledger(const struct workload_run *run)
{
	return &((struct throw_locked_guarded *)run->guarded)->ledger;
}

static void throw_locked_before(void *arg)
{
	struct throw_locked_own *own = (struct throw_locked_own *)arg;

	workload_acquire(own->me, own->run->locks);
	own->entry = ledger_open(throw_locked_ledger(own->run));
	own->searches++;
}

static void throw_locked_after(void *arg)
{
	struct throw_locked_own *own = (struct throw_locked_own *)arg;

	ledger_close(throw_locked_ledger(own->run), own->entry);
	workload_release(own->me, own->run->locks);
}

static inline void throw_locked_begin(const struct workload_run *run, struct throw_locked *w,
				      struct throw_locked_own *own, struct workload_me *me)
{
	(void)w;
	own->run = run;
	own->me = me;
	own->search = (struct throwing_search){ throw_locked_before, throw_locked_after, own };
}

static inline bool throw_locked_turn(const struct workload_run *run, struct throw_locked *w,
				     struct throw_locked_own *own, struct workload_me *me)
{
	(void)run, (void)me;
	own->searches = 0;
	throwing_once(&own->search);
	if (ol_load_relaxed(&w->searches) != own->searches)
		ol_store_relaxed(&w->searches, own->searches);
	return true;
}

static inline const char *throw_locked_check(const struct workload_run *run,
					     const struct throw_locked *w, uint64_t turns,
					     unsigned inside)
{
	const struct ledger *l = throw_locked_ledger(run);
	uint64_t each = ol_load_relaxed(&w->searches);

	if (turns && !each)
		return "no search for an exception table was seen, so the lock was not taken";
	return ledger_verdict(ol_load_relaxed(&l->torn), ol_load_relaxed(&l->opened), turns * each,
			      (turns + inside) * each);
}
#endif
