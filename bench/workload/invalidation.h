/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef WORKLOAD_INVALIDATION_H
#define WORKLOAD_INVALIDATION_H
/*
 * The invalidation diameter, Dice & Kogan 2019, Fig. 1: context 0 adds to a word, atomically, over and over; the
 * others only read it. The word has its cache sector to itself. Only the writer's turns count.
 *
 * It takes no lock: it shows what any lock pays whose waiters all watch the word that the holder
 * writes.
 */
#include "workload.h"

struct invalidation {
	uint64_t word;
} OL_OWN_LINE;

struct invalidation_guarded {
	char nothing;
};

struct invalidation_own {
	char nothing;
};

static inline void invalidation_begin(const struct workload_run *run, struct invalidation *w,
				      struct invalidation_own *own, struct workload_me *me)
{
	(void)run, (void)w, (void)own, (void)me;
}

static inline bool invalidation_turn(const struct workload_run *run, struct invalidation *w,
				     struct invalidation_own *own, struct workload_me *me)
{
	(void)run, (void)own;
	if (me->index == 0) {
		(void)ol_add_acq_rel(&w->word, 1u);
		return true;
	}
	(void)ol_load_acquire(&w->word);
	return false;
}

static inline const char *invalidation_check(const struct workload_run *run,
					     const struct invalidation *w, uint64_t turns,
					     unsigned inside)
{
	uint64_t added = ol_load_relaxed(&w->word);

	(void)run;
	if (added < turns || added > turns + inside)
		return "additions to the word were lost";
	return (const char *)0;
}
#endif
