/* SPDX-License-Identifier: MIT */
#ifndef BENCH_CELL_H
#define BENCH_CELL_H
/* One cell of the measurement: one lock, so many threads, for so long. */
#include "subjects.h"

struct cell {
	unsigned workload;
	struct subject subject;
	unsigned threads;
	double seconds;
	uint64_t critical_units, outside_units;
};

struct cell_result {
	double seconds;			 /* measured: start, warm-up and draining are left out */
	double cpu_seconds;		 /* of all threads, in that time */
	double drain_seconds;		 /* until the last thread was out, or we gave up */
	uint64_t voluntary, involuntary; /* context switches in that time */
	bool drained;			 /* else threads were left waiting in line */
	char wrong[128];		 /* how exclusion failed; empty if it held */
	uint64_t events[OL_EVENTS];	 /* counted build; of the whole cell */
	uint64_t wait_ns, hold_ns;
	uint64_t turns[]; /* per thread, in the measured time */
};

enum cell_end {
	CELL_DONE,
	CELL_HUNG,	  /* it did not end when it should have, and was killed */
	CELL_INTERRUPTED, /* SIGINT, SIGTERM or SIGHUP came, and it was killed */
	CELL_IMPOSSIBLE,  /* no memory or no threads; errno says which */
};

/* Once, before the first cell: blocks the signals that cell_run() waits for. */
void cell_prepare(void);

/*
 * Runs the cell in a process of its own, which ends with it: a lock that hangs or is slow to let
 * its waiters go cannot hold up the next cell. The result, of CELL_DONE, is overwritten by the
 * next call.
 */
enum cell_end cell_run(const struct cell *cell, const struct cell_result **result);

/* The workload of that name in workloads.def, or -1. */
int cell_find_workload(const char *name);
#endif
