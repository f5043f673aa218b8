/* SPDX-License-Identifier: MIT */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H
/* What happens in the cell's own processes. */
#include "cell.h"
#include <pthread.h>

/* Where the copies meet before they start, so that all are measured over the same time. */
struct cell_start {
	pthread_barrier_t all;
	uint64_t when; /* set by the first one through */
};

/* Each fills in the copy's result, and returns false if that was impossible, and says why there. */
bool run_copy(const struct cell *cell, const struct cell_memory *memory, unsigned copy);
#endif
