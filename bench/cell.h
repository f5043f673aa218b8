/* SPDX-License-Identifier: MIT */
#ifndef BENCH_CELL_H
#define BENCH_CELL_H
/* One cell of the measurement: one lock, so many threads, for so long or so many turns; its results. */
#include "loops.h"
#include "meter.h"
#include "subjects.h"

struct cell {
	unsigned workload; /* its place in the loops */
	struct subject subject;
	struct workload_params params;
	unsigned threads; /* of each copy */
	unsigned copies;
	unsigned phases;
	double seconds;
	uint64_t turns;	   /* of each thread; 0: for `seconds`, which otherwise is the limit */
	uint64_t slice_ns; /* 0: as it is */
	uint64_t seed;	   /* 0: another for each cell */
	bool measured;
	double turn_ns; /* own work of a turn; 0: unknown */
};

/* What one thread's place did. */
struct place_result {
	uint64_t turns;	    /* in the measured time */
	uint64_t finish_ns; /* by count: since the start; 0: it was cut */
	uint32_t n_samples;
	struct sample unfinished; /* the wait at the end of that time; weight 0: there was none */
};

/* What one copy did. Its places and their samples follow. */
struct copy_result {
	double seconds;			 /* measured: start, warm-up and draining are left out */
	double cpu_seconds;		 /* of all threads, in that time */
	double drain_seconds;		 /* until the last thread was out, or we gave up */
	uint64_t voluntary, involuntary; /* context switches in that time */
	uint64_t arrivals;		 /* threads that ever came */
	uint64_t gap_ns;		 /* longest between one thread's releases */
	double releases;		 /* in each turn; 0: none */
	uint64_t slice_ns;		 /* as the kernel says; 0 unknown */
	bool drained;			 /* else threads were left waiting in line */
	bool cut;			 /* by count: the limit came first */
	double turn_ns;			 /* of cell_turn_ns() */
	char wrong[128];		 /* how exclusion failed; empty if it held */
	char impossible[160];		 /* why it could not be run */
	uint64_t events[OL_EVENTS];	 /* counted build */
	uint64_t wait_ns, spin_ns, hold_ns, handover_ns;
};

/* Memory that the cell's processes write and the server reads. */
struct cell_memory {
	size_t size, copy_size;
	struct meter_plan plan;
	struct cell_start *start;
	char *copies;
};

static inline struct copy_result *copy_of(const struct cell_memory *memory, unsigned copy)
{
	return (struct copy_result *)(void *)(memory->copies + copy * memory->copy_size);
}

static inline struct place_result *places_of(struct copy_result *copy)
{
	return (struct place_result *)(copy + 1);
}

/* plan.capacity of them for each place. */
static inline struct sample *samples_of(struct copy_result *copy, const struct cell *cell)
{
	return (struct sample *)(places_of(copy) + cell->threads);
}

#endif
