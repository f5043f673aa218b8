/* SPDX-License-Identifier: MIT */
#ifndef BENCH_REQUEST_H
#define BENCH_REQUEST_H
/* A line that asks for a cell: `workload=sections variant=ticket threads=4 seconds=0.3 cs=70`. */
#include "cell.h"

struct request {
	char variant[256]; /* as given: preemptable_ticket@tau=0@spin=500 */
	struct cell cell;
};

/* Null, or a line that says what was wrong, valid until the next call. Writes into `line`. */
const char *request_parse(struct request *request, char *line, double unit_ns);

/* Sets the library's tunables to what they were at start, then as the variant wants them. */
const char *request_tune(const struct request *request);
#endif
