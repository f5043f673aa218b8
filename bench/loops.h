/* SPDX-License-Identifier: MIT */
#ifndef BENCH_LOOPS_H
#define BENCH_LOOPS_H
/* The workloads, each as a loop of turns: with measuring, and without it. */
#include <stddef.h>
#include <workload.h>

typedef void workload_loop(const struct workload_run *run, void *shared, void *own,
			   struct workload_me *me);

struct loops {
	const char *name, *what;
	size_t shared, guarded, own; /* sizes */
	workload_loop *by_time;	     /* until me->stop */
	workload_loop *by_count;     /* until me->turns is me->limit, or me->stop */
	const char *(*check)(const struct workload_run *run, const void *shared, uint64_t turns,
			     unsigned inside);
};

/* In the order of workloads.def, ended by a null name. */
extern const struct loops loops_plain[], loops_measured[];
#endif
