/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef WORKLOAD_REPLAY_TURNS_H
#define WORKLOAD_REPLAY_TURNS_H
/*
 * Each context does what one thread of a recorded program did: its sequence of locks, its sections and what lay
 * between them, over and over. A turn ends when the context holds nothing.
 *
 * A section reads and writes two words on lines of its lock, as those of `sections` do, so exclusion is checked.
 *
 * Threads that sleep are not for every platform: bench/replay.h and guest/loads/module/replay_threads.h include this,
 * and define first:
 *
 *	struct replay_head *replay_plan
 *	replay_came(me)			a context comes
 *	replay_sleep(me, ns)		sleeps so long; less if the context is to leave
 *	replay_work(me, units)		workload_burn() outside of sections
 *	replay_pass_over(me)		the context is at its trace's end, and will begin again
 */
#include "ledger.h"
#include "replay_format.h"
#include "workload.h"

struct replay_line {
	uint64_t entries;
} OL_OWN_LINE;

struct replay_guarded {
	struct replay_line first, last;
	uint64_t entry; /* of who is inside */
};

struct replay {
	struct replay_line
		of[REPLAY_THREADS]; /* acquisitions of each context that are released again */
	uint32_t torn;
};

struct replay_own {
	uint64_t next;
};

static inline void replay_begin(const struct workload_run *run, struct replay *w,
				struct replay_own *own, struct workload_me *me)
{
	(void)run, (void)w, (void)own;
	replay_came(me);
}

static inline void replay_acquire(const struct workload_run *run, struct replay *w,
				  struct workload_me *me, uint32_t lock)
{
	struct replay_guarded *data = (struct replay_guarded *)run->guarded + lock;

	workload_acquire(me, &run->locks[lock]);
	data->entry = ledger_open_at(&data->first.entries, &data->last.entries, &w->torn);
}

static inline void replay_release(const struct workload_run *run, struct workload_me *me,
				  uint32_t lock)
{
	struct replay_guarded *data = (struct replay_guarded *)run->guarded + lock;

	ol_store_relaxed(&data->last.entries, data->entry);
	workload_release(me, &run->locks[lock]);
}

/* What comes before an operation. */
static inline void replay_reach(struct workload_me *me, const struct replay_op *op, uint32_t held)
{
	if (op->kind == REPLAY_NOTHING)
		replay_pass_over(me);
	if (op->idle_ns)
		replay_sleep(me, op->idle_ns);
	if (held)
		workload_burn(op->work);
	else
		replay_work(me, op->work);
}

static inline bool replay_turn(const struct workload_run *run, struct replay *w,
			       struct replay_own *own, struct workload_me *me)
{
	const struct replay_thread *t = &replay_plan->of[me->index];
	uint64_t entered = 0;
	uint32_t held = 0;

	do {
		const struct replay_op *op = &replay_ops(replay_plan)[t->first + own->next];

		own->next = own->next + 1 < t->n ? own->next + 1 : 0;
		replay_reach(me, op, held);
		if (op->kind == REPLAY_ACQUIRE) {
			replay_acquire(run, w, me, op->lock);
			held++;
			entered++;
		} else if (op->kind == REPLAY_RELEASE) {
			replay_release(run, me, op->lock);
			held--;
		}
	} while (held);
	ol_store_relaxed(&w->of[me->index].entries, w->of[me->index].entries + entered);
	return entered > 0;
}

/* A context that is still inside may have entered as often as there are acquisitions in a turn. */
static inline const char *replay_check(const struct workload_run *run, const struct replay *w,
				       uint64_t turns, unsigned inside)
{
	uint64_t entries = 0, counted = 0;

	(void)turns;
	for (uint32_t i = 0; i < run->n_locks; i++)
		entries += ol_load_relaxed(
			&((struct replay_guarded *)run->guarded + i)->first.entries);
	for (uint32_t i = 0; i < run->contexts; i++)
		counted += ol_load_relaxed(&w->of[i].entries);
	return ledger_verdict(ol_load_relaxed(&w->torn), entries, counted,
			      inside ? ~(uint64_t)0 : counted);
}
#endif
