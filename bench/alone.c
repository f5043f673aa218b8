/* SPDX-License-Identifier: MIT */
#define WORKLOAD_MEASURED 1
#include "alone.h"
#include "setup.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void nothing(void *l)
{
	(void)l;
}

static const struct ol_lock_ops no_lock = {
	.id = "nothing",
	.abi = OL_ABI,
	.size = 4,
	.align = 4,
	.lock = nothing,
	.unlock = nothing,
};

/* Long enough for the clock's own cost not to show, and short beside a slice. */
#define TRY_NS	1000000u
#define TRIES	15

static uint64_t cpu_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* CPU time of so many turns. */
static uint64_t try(struct run *run, uint64_t turns)
{
	struct workload_me *me = &run->contexts[0];
	uint64_t since;

	memset(run->own, 0, run->own_size);
	meter_begin(&me->meter, ol_now());
	me->limit = me->turns + turns;
	since = cpu_clock();
	run->loop(&run->platform, run->shared, run->own, me);
	return cpu_clock() - since;
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

bool run_alone(const struct cell *cell, const struct cell_memory *memory)
{
	struct cell alone = *cell;
	uint64_t took[TRIES], median, turns = 1;
	unsigned tries = TRIES;
	struct run *run;

	alone.subject = (struct subject){ .ops = &no_lock };
	alone.threads = 1;
	alone.turns = 1;
	run = set_up(&alone, memory, 0);
	if (!run)
		return impossible(copy_of(memory, 0), "%s", strerror(errno ? errno : ENOMEM));
	run->contexts[0].meter.since = ol_now();
	while ((median = try(run, turns)) < TRY_NS)
		turns *= 2;
	if (median > TRY_NS * TRIES) /* a turn is that long by itself */
		tries = 1;
	for (unsigned i = 0; i < tries; i++)
		took[i] = try(run, turns);
	qsort(took, tries, sizeof(took[0]), ascending);
	median = took[tries / 2];
	run->result->turn_ns = (double)median / (double)turns;
	return true;
}
