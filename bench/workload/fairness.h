/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef WORKLOAD_FAIRNESS_H
#define WORKLOAD_FAIRNESS_H
/*
 * Teabe et al.'s micro-benchmark (section 5.1, Fig. 6): each context enters the critical section x times, as
 * fast as it can; in it it accesses a memory area that all share. What counts is the mean and the
 * standard deviation of the contexts' run times, and how many wait in line.
 *
 * The paper does not say how large the area is. Here it is some cache lines, each of which is read
 * and written. They all have the same number in them whenever nobody is inside.
 */
#include "ledger.h"
#include "workload.h"

#define FAIRNESS_LINES	64

struct fairness_line {
	uint64_t entries;
} __attribute__((aligned(64)));

struct fairness {
	char nothing;
};

struct fairness_guarded {
	struct fairness_line area[FAIRNESS_LINES];
	uint32_t torn; /* somebody saw the numbers differ from inside */
} OL_OWN_LINE;

struct fairness_own {
	char nothing;
};

static inline void fairness_begin(const struct workload_run *run, struct fairness *w,
				  struct fairness_own *own, struct workload_me *me)
{
	(void)run, (void)w, (void)own, (void)me;
}

static inline void fairness_access(struct fairness_guarded *data, uint64_t lines)
{
	uint64_t seen = ol_load_relaxed(&data->area[0].entries);

	for (uint64_t i = 0; i < lines; i++) {
		if (ol_load_relaxed(&data->area[i].entries) != seen)
			ol_store_relaxed(&data->torn, 1u);
		ol_store_relaxed(&data->area[i].entries, seen + 1);
	}
}

static inline bool fairness_turn(const struct workload_run *run, struct fairness *w,
				 struct fairness_own *own, struct workload_me *me)
{
	(void)w, (void)own;
	workload_acquire(me, run->locks);
	fairness_access((struct fairness_guarded *)run->guarded, run->params->fairness_lines);
	workload_release(me, run->locks);
	return true;
}

static inline const char *fairness_check(const struct workload_run *run, const struct fairness *w,
					 uint64_t turns, unsigned inside)
{
	const struct fairness_guarded *data = (const struct fairness_guarded *)run->guarded;

	(void)w;
	return ledger_verdict(ol_load_relaxed(&data->torn), ol_load_relaxed(&data->area[0].entries),
			      turns, turns + inside);
}
#endif
