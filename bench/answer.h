/* SPDX-License-Identifier: MIT */
#ifndef BENCH_ANSWER_H
#define BENCH_ANSWER_H
/*
 * What goes to standard output, one JSON object per line: the facts, then for each request a cell or
 * an error. A cell sums over its copies; what cannot be known is left out:
 *
 *	acquisitions, per_thread, copies	units of work in the measured time, by whom; one lock's
 *			acquisitions, where a turn takes one
 *	seconds, cpu_seconds, voluntary, involuntary	the time, and what all threads used in it
 *	turn_ns, work_seconds	CPU time of one turn, taken alone with a lock that does nothing; of all
 *	arrivals	threads that ever came
 *	drained, drain_seconds	whether all threads got out afterwards, and in what time
 *	cut		the limit came before the last turn
 *	wrong		how exclusion failed; else empty
 *	finish_ns	by count: when each thread was done, from the common start; null: it was cut
 *	slice_us	the scheduler's slice, as the kernel says
 *	gap_ns		the longest time between two releases of one thread, less the work between them
 *	latency, handover	samples and what each weighs: from before acquiring to after it, and
 *			from the last release, if we waited for that; a wait that the end of the
 *			measured time cut short counts with what it had lasted
 *	queue		others waiting for the lock when one came: mean and most seen
 *	events, wait_ns, spin_ns	counted build: lib/site.h
 *	hold_ns, handover_ns	if it keeps times
 */
#include "request.h"

struct facts {
	double unit_ns;	   /* of workload_burn() */
	double measure_ns; /* what measuring adds to a turn; 0 unknown */
};

void answer_facts(const struct facts *facts);
void answer_cell(const struct request *request, const struct cell_memory *memory);

/* `kind`: usage, impossible or hung. */
void answer_error(const char *kind, const char *message);

/* How exclusion failed in a copy, or empty. */
const char *answer_wrong(const struct cell *cell, const struct cell_memory *memory);
#endif
