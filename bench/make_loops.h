/* SPDX-License-Identifier: MIT */
/* Makes LOOPS of all workloads, each one's turn inlined; for loops_plain.c and loops_measured.c. */
#include "loops.h"
#include "platform.h"
#include <workload_headers.h>

/* The run is copied, so that the compiler sees that no lock changes it and keeps it in registers. */
#define LOOP(name, how, going_on)							\
	static void name##_by_##how(const struct workload_run *whole, void *shared, void *own, \
				    struct workload_me *me)				\
	{										\
		const struct workload_run run = *whole;					\
		uint64_t turns = me->turns;						\
		name##_begin(whole, (struct name *)shared, (struct name##_own *)own, me);	\
		while (going_on) {							\
			turns += name##_turn(&run, (struct name *)shared,		\
					     (struct name##_own *)own, me);		\
			ol_store_release(&me->turns, turns); /* for verify() */	\
		}									\
	}

#define WORKLOAD(name, what)								\
	LOOP(name, time, !ol_load_relaxed(&me->stop))					\
	LOOP(name, count, turns < me->limit && !ol_load_relaxed(&me->stop))		\
	static const char *name##_verdict(const struct workload_run *run, const void *shared, \
					  uint64_t turns, unsigned inside)		\
	{										\
		return name##_check(run, (const struct name *)shared, turns, inside);	\
	}
#include "workloads.def"
#undef WORKLOAD

#define WORKLOAD(name, what)								\
	{											\
		#name, what, sizeof(struct name), sizeof(struct name##_guarded),		\
		sizeof(struct name##_own), name##_by_time, name##_by_count, name##_verdict,	\
	},
const struct loops LOOPS[] = {
#include "workloads.def"
	{ 0 },
};
#undef WORKLOAD
