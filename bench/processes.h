/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PROCESSES_H
#define BENCH_PROCESSES_H
/* The server's side of a cell: its processes, from their start to their end. */
#include "cell.h"

/* Exit status of the server when a signal or a reader that left ended a cell. */
#define CELL_EXIT_INTERRUPTED	130

enum cell_end {
	CELL_DONE,
	CELL_HUNG,	  /* it did not end when it should have, and was killed */
	CELL_INTERRUPTED, /* SIGINT, SIGTERM or SIGHUP came, or the reader is gone; it was killed */
	CELL_IMPOSSIBLE,  /* cell_why() says why */
};

/*
 * Runs each copy of the cell in a process of its own, which ends with it: a lock that hangs or is
 * slow to let its waiters go cannot hold up the next cell. The memory is for cell_forget().
 */
enum cell_end cell_run(const struct cell *cell, struct cell_memory *memory);
void cell_forget(struct cell_memory *memory);
const char *cell_why(void);

/*
 * What a turn of the cell costs by itself: CPU time of one context with a lock that does nothing,
 * with measuring or without. 0: it could not be found out.
 */
double cell_turn_ns(const struct cell *cell, bool measured);
#endif
