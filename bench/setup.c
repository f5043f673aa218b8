/* SPDX-License-Identifier: MIT */
#define WORKLOAD_MEASURED 1
#include "setup.h"
#include "params.h"
#include "replay_plan.h"
#include "zipf.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Short beside a drain, and long enough for the awaited thread to be off its CPU for a slice. */
#define PATIENCE_NS	20000000

bool impossible(struct copy_result *result, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(result->impossible, sizeof(result->impossible), format, args);
	va_end(args);
	return false;
}

/* Whole cache lines, with the neighbour that processors fetch with each. */
static size_t in_lines(size_t size)
{
	return (size + 127) / 128 * 128;
}

/* Memory of whole cache lines, all zero. */
static void *lines(size_t n, size_t size)
{
	size_t all;
	void *p;

	if (__builtin_mul_overflow(n, in_lines(size ? size : 1), &all))
		return NULL;
	p = aligned_alloc(128, all);
	if (p)
		memset(p, 0, all);
	return p;
}

static bool set_up_locks(struct run *run, const struct subject *subject)
{
	size_t stride = in_lines(subject->ops->size);
	uint32_t n = run->platform.n_locks;
	char *memory = lines(n, stride);
	struct handover *handovers = lines(n, sizeof(struct handover));

	run->platform.locks = lines(1, n * sizeof(struct workload_lock));
	/* As a workload indexes it: its lines are its own affair. */
	run->platform.guarded = lines(1, n * run->loops->guarded);
	if (!memory || !handovers || !run->platform.locks || !run->platform.guarded)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		char *l = memory + i * stride;

		run->platform.locks[i] = (struct workload_lock){ subject->ops, l, handovers + i };
		if (subject_meets(subject))
			*(uint32_t *)l = run->platform.contexts;
		if (subject->init)
			subject->init(l);
	}
	return true;
}

static bool set_up_zipf(struct run *run)
{
	uint32_t n = run->platform.n_locks;
	uint64_t milli = params_get(&run->cell->params, run->loops->name, "zipf", 0);
	struct workload_choice *table;

	if (!milli)
		return true;
	run->platform.zipf = table = lines(1, n * sizeof(*table));
	return table && zipf_fill(table, n, (double)milli / 1000);
}

static void set_up_context(struct run *run, const struct cell_memory *memory, unsigned copy,
			   unsigned i)
{
	const struct cell *cell = run->cell;
	struct workload_me *me = &run->contexts[i];
	struct workload_random own;
	uint64_t seed = cell->seed << 32 ^ ((uint64_t)copy * cell->threads + i);

	me->run = run;
	me->index = i;
	me->limit = cell->turns;
	workload_random_seed(&me->random, seed);
	workload_random_seed(&own, ~seed);
	me->meter = (struct meter){
		.random = own.state,
		.contexts = cell->threads,
		.target = memory->plan.target,
		.capacity = memory->plan.capacity,
		.samples = samples_of(run->result, cell) + (size_t)i * memory->plan.capacity,
	};
	/* Not while a lock is held. */
	memset(me->meter.samples, 0, me->meter.capacity * sizeof(me->meter.samples[0]));
}

static uint32_t count_locks(const struct run *run)
{
	if (replay_plan && strcmp(run->loops->name, "replay") == 0)
		return replay_plan->locks;
	return (uint32_t)params_get(&run->cell->params, run->loops->name, "locks", 1);
}

struct run *set_up(const struct cell *cell, const struct cell_memory *memory, unsigned copy)
{
	struct run *run = lines(1, sizeof(*run));

	if (!run)
		return NULL;
	run->cell = cell;
	run->result = copy_of(memory, copy);
	run->places = places_of(run->result);
	run->loops = (cell->measured ? loops_measured : loops_plain) + cell->workload;
	run->loop = cell->turns ? run->loops->by_count : run->loops->by_time;
	run->platform.contexts = cell->threads;
	run->platform.params = &cell->params;
	run->platform.n_locks = count_locks(run);
	run->platform.patience = ol_ticks_from_ns(PATIENCE_NS);
	run->working = run->arrivals = cell->threads;
	run->shared = lines(1, run->loops->shared);
	run->own_size = in_lines(run->loops->own);
	run->own = lines(cell->threads, run->own_size);
	run->contexts = lines(cell->threads, sizeof(struct workload_me));
	if (!run->shared || !run->own || !run->contexts || !set_up_locks(run, &cell->subject) ||
	    !set_up_zipf(run))
		return NULL;
	for (unsigned i = 0; i < cell->threads; i++)
		set_up_context(run, memory, copy, i);
	pthread_attr_init(&run->attr);
	pthread_attr_setstacksize(&run->attr, 256 * 1024); /* thousands are a fair question */
	pthread_attr_setdetachstate(&run->attr, PTHREAD_CREATE_DETACHED);
	sem_init(&run->empty, 0, 0);
	sem_init(&run->led, 0, 0);
	errno = pthread_barrier_init(&run->start, NULL, cell->threads + 1);
	return errno ? NULL : run;
}
