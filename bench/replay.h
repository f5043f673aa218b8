/* SPDX-License-Identifier: MIT */
#ifndef BENCH_REPLAY_H
#define BENCH_REPLAY_H
/*
 * Each context does what one thread of a recorded program did: its sequence of locks, its sections and what lay
 * between them, over and over. A turn ends when the context holds nothing.
 *
 * A section reads and writes two words on lines of its lock, as those of `sections` do, so exclusion is checked.
 */
#include "ledger.h"
#include "replay_plan.h"
#include <sys/prctl.h>
#include <stdio.h>
#include <time.h>
#include <workload.h>

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
	char name[16];

	(void)run, (void)w, (void)own;
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

static inline bool replay_turn(const struct workload_run *run, struct replay *w,
			       struct replay_own *own, struct workload_me *me)
{
	const struct replay_thread *t = &replay_plan->of[me->index];
	uint64_t entered = 0;
	uint32_t held = 0;

	do {
		const struct replay_op *op = &replay_plan->op[t->first + own->next];

		own->next = own->next + 1 < t->n ? own->next + 1 : 0;
		if (op->idle_ns)
			replay_sleep(me, op->idle_ns);
		workload_burn(op->work);
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
			      inside ? UINT64_MAX : counted);
}
#endif
