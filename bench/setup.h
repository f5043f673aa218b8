/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SETUP_H
#define BENCH_SETUP_H
/* A copy of a cell, ready to run: locks, what they guard, and places for contexts. */
#include "cell.h"
#include "platform.h"
#include <pthread.h>
#include <semaphore.h>

struct run {
	struct workload_run platform;
	const struct cell *cell;
	const struct loops *loops;
	struct copy_result *result;
	struct place_result *places;
	workload_loop *loop;
	char *shared, *own;
	size_t own_size; /* of one context, whole lines */
	uint64_t began;	 /* when the threads were let go */
	pthread_barrier_t start;
	sem_t led; /* the team has begun, or cannot */
	const char *no_team;
	pthread_attr_t attr;
	struct workload_me *contexts;
	sem_t empty;
	uint32_t working OL_OWN_LINE; /* places not yet empty */
	uint32_t arrivals;
	int failed; /* errno of a thread that could not come */
};

/* Null, with errno, if memory is short. */
struct run *set_up(const struct cell *cell, const struct cell_memory *memory, unsigned copy);

/* Says why in the result; false. */
bool impossible(struct copy_result *result, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
#endif
