/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef WORKLOAD_SECTIONS_H
#define WORKLOAD_SECTIONS_H
/*
 * A critical section and a non-critical section, over and over, on one lock or on one of many: each
 * as likely as the others, or the k-th with a chance proportional to k^-zipf. Nested, on two
 * different locks, taken in the order of their addresses.
 *
 * The critical section reads two words on lines of their own, works, and writes each one greater:
 * their lines move from CPU to CPU as guarded data does. Lengths are drawn outside of it.
 */
#include "ledger.h"
#include "workload.h"

struct sections_line {
	uint64_t entries;
} OL_OWN_LINE;

struct sections_guarded {
	struct sections_line first, last;
};

struct sections {
	uint32_t torn; /* somebody saw the words differ from inside */
};

struct sections_own {
	bool plain; /* fixed lengths, one lock: the usual case, without a decision in its turns */
};

static inline void sections_begin(const struct workload_run *run, struct sections *w,
				  struct sections_own *own, struct workload_me *me)
{
	(void)w, (void)me;
	own->plain = run->n_locks == 1 && run->params->sections_shape == WORKLOAD_FIXED;
}

static inline struct sections_guarded *sections_data(const struct workload_run *run, uint32_t lock)
{
	return (struct sections_guarded *)run->guarded + lock;
}

static inline uint64_t sections_enter(struct sections *w, struct sections_guarded *data)
{
	return ledger_open_at(&data->first.entries, &data->last.entries, &w->torn);
}

static inline void sections_leave(struct sections_guarded *data, uint64_t entry)
{
	ol_store_relaxed(&data->last.entries, entry);
}

static inline uint32_t sections_pick(const struct workload_run *run, struct workload_me *me)
{
	if (run->n_locks == 1)
		return 0;
	if (run->zipf)
		return workload_random_choice(&me->random, run->zipf, run->n_locks);
	return workload_random_below(&me->random, run->n_locks);
}

static inline uint64_t sections_length(const struct workload_run *run, struct workload_me *me,
				       uint64_t mean)
{
	enum workload_shape shape = (enum workload_shape)run->params->sections_shape;

	return workload_random_length(&me->random, shape, (uint32_t)mean);
}

static inline void sections_single(const struct workload_run *run, struct sections *w,
				   struct workload_me *me, uint64_t work, uint32_t i)
{
	struct sections_guarded *data = sections_data(run, i);
	uint64_t entry;

	workload_acquire(me, &run->locks[i]);
	entry = sections_enter(w, data);
	workload_burn(work);
	sections_leave(data, entry);
	workload_release(me, &run->locks[i]);
}

static inline void sections_nested(const struct workload_run *run, struct sections *w,
				   struct workload_me *me, uint64_t work)
{
	uint32_t i = sections_pick(run, me), j;
	struct sections_guarded *outer, *inner;
	uint64_t outer_entry, inner_entry;

	do {
		j = sections_pick(run, me);
	} while (i == j);
	if (i > j) {
		uint32_t swap = i;

		i = j;
		j = swap;
	}
	outer = sections_data(run, i);
	inner = sections_data(run, j);
	workload_acquire(me, &run->locks[i]);
	outer_entry = sections_enter(w, outer);
	workload_acquire(me, &run->locks[j]);
	inner_entry = sections_enter(w, inner);
	workload_burn(work);
	sections_leave(inner, inner_entry);
	workload_release(me, &run->locks[j]);
	sections_leave(outer, outer_entry);
	workload_release(me, &run->locks[i]);
}

static inline bool sections_pairs(const struct workload_run *run)
{
	return run->params->sections_nested && run->n_locks > 1;
}

static inline bool sections_turn(const struct workload_run *run, struct sections *w,
				 struct sections_own *own, struct workload_me *me)
{
	uint64_t critical = run->params->sections_cs, outside = run->params->sections_ncs;

	if (own->plain) {
		sections_single(run, w, me, critical, 0);
		workload_burn(outside);
		return true;
	}
	critical = sections_length(run, me, critical);
	outside = sections_length(run, me, outside);
	if (sections_pairs(run))
		sections_nested(run, w, me, critical);
	else
		sections_single(run, w, me, critical, sections_pick(run, me));
	workload_burn(outside);
	return true;
}

static inline const char *sections_check(const struct workload_run *run, const struct sections *w,
					 uint64_t turns, unsigned inside)
{
	unsigned each = sections_pairs(run) ? 2 : 1;
	uint64_t entries = 0;

	for (uint32_t i = 0; i < run->n_locks; i++)
		entries += ol_load_relaxed(&sections_data(run, i)->first.entries);
	return ledger_verdict(ol_load_relaxed(&w->torn), entries, turns * each,
			      (turns + inside) * each);
}
#endif
