/* SPDX-License-Identifier: MIT */
#ifndef BENCH_ANSWER_H
#define BENCH_ANSWER_H
/* What goes to standard output, one JSON object per line. */
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
