/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef WORKLOAD_ROUNDS_H
#define WORKLOAD_ROUNDS_H
/*
 * Contexts work, and meet at a barrier, over and over: the shape of OpenMP's loops, of BLAS, of simulations. Its
 * subjects are barriers (meeting.h). A round is a turn of each.
 *
 * One context writes the number of the round before it meets the others, each in its turn; a context that is through and sees
 * an older number was let through before that one had arrived.
 *
 * All leave after the same round: context 0 says which one is the last, once the platform asks it to leave.
 */
#include "workload.h"

struct rounds {
	uint64_t round OL_OWN_LINE;
	uint64_t last; /* the number of the last round; 0: it is not known yet */
	uint32_t early;
};

struct rounds_guarded {
	char nothing;
};

struct rounds_own {
	uint64_t round; /* from 1 */
	uint32_t writer;
};

static inline void rounds_begin(const struct workload_run *run, struct rounds *w,
				struct rounds_own *own, struct workload_me *me)
{
	(void)run, (void)w, (void)own, (void)me;
}

static inline bool rounds_turn(const struct workload_run *run, struct rounds *w,
			       struct rounds_own *own, struct workload_me *me)
{
	enum workload_shape shape = (enum workload_shape)run->params->rounds_shape;
	uint64_t round = ++own->round;

	workload_burn(
		workload_random_length(&me->random, shape, (uint32_t)run->params->rounds_work));
	if (own->writer == me->index)
		ol_store_relaxed(&w->round, round);
	own->writer = own->writer + 1 < run->contexts ? own->writer + 1 : 0;
	if (me->index == 0 && workload_is_asked(me))
		ol_store_relaxed(&w->last, round);
	workload_acquire(me, run->locks);
	workload_release(me, run->locks);
	if (ol_load_relaxed(&w->round) < round)
		ol_store_relaxed(&w->early, 1u);
	if (ol_load_relaxed(&w->last) == round)
		workload_leave(me);
	return true;
}

static inline const char *rounds_check(const struct workload_run *run, const struct rounds *w,
				       uint64_t turns, unsigned inside)
{
	(void)run, (void)turns, (void)inside;
	return ol_load_relaxed(&w->early)
		       ? "a context passed the barrier before another had arrived"
		       : (const char *)0;
}
#endif
