/* SPDX-License-Identifier: MIT */
#ifndef BENCH_REQUEST_H
#define BENCH_REQUEST_H
/*
 * A line that asks for a cell: `workload=sections variant=ticket threads=4 seconds=0.3 cs=70`.
 *
 *	workload	a name of workloads.def; comes before its parameters, which params.def lists
 *	variant		a lock and its tunables: preemptable_ticket@tau=0@spin=500
 *	threads		of each copy
 *	seconds		to measure, after a tenth of that to settle; with turns, the limit
 *	turns		that each thread is to take; 0: as many as it can
 *	copies		processes at once, each with a lock and threads of its own
 *	phases		parts of the time; at the end of each but the last, half of the threads leave
 *			and others come
 *	slice_us	of the scheduler, for all threads; 0: as it is
 *	seed		of all that is random; 0: another for each cell
 *	measure		0: count turns and nothing else
 */
#include "cell.h"

struct request {
	char variant[256]; /* as given: preemptable_ticket@tau=0@spin=500 */
	struct cell cell;
};

/* Null, or a line that says what was wrong, valid until the next call. Writes into `line`. */
const char *request_parse(struct request *request, char *line, double unit_ns);

/* Whether it replays a trace. */
bool request_is_replay(const struct cell *cell);

/* Sets the library's tunables to what they were at start, then as the variant wants them. */
const char *request_tune(const struct request *request);
#endif
