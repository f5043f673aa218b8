/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#define WORKLOAD_MEASURED 1
#include "run.h"
#include "params.h"
#include "slice.h"
#include "world.h"
#include "zipf.h"
#include <errno.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#ifdef OL_COUNTED
#include "site.h"
#endif

/* Time to settle before the measured time, as a part of it. */
#define WARM_UP		0.1
/* A collapsed FIFO lock lets its waiters go one time slice each: not worth more than this. */
#define DRAIN_SECONDS	0.25
/* Short beside that, and long enough for whoever is waited for to be off its CPU for a slice. */
#define PATIENCE_NS	20000000

/* Why a context is to leave: its thread goes and another comes, or all is over. */
enum { LEAVE = 1, OVER = 2 };

struct run {
	struct workload_run world;
	const struct cell *cell;
	const struct loops *loops;
	struct copy_result *result;
	struct place_result *places;
	workload_loop *loop;
	char *shared, *own;
	size_t own_size; /* of one context, whole lines */
	uint64_t began;	 /* when the threads were let go */
	pthread_barrier_t start;
	pthread_attr_t attr;
	struct workload_me *contexts;
	sem_t empty;
	uint32_t working OL_OWN_LINE; /* places not yet empty */
	uint32_t arrivals;
	int failed; /* errno of a thread that could not come */
};

static bool impossible(struct copy_result *result, const char *format, ...)
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
	size_t stamp = (subject->ops->size + 7) / 8 * 8, stride = in_lines(stamp + 8);
	uint32_t n = run->world.n_locks;
	char *memory = lines(n, stride);

	run->world.locks = lines(1, n * sizeof(struct workload_lock));
	/* As a workload indexes it: its lines are its own affair. */
	run->world.guarded = lines(1, n * run->loops->guarded);
	if (!memory || !run->world.locks || !run->world.guarded)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		char *l = memory + i * stride;

		run->world.locks[i] = (struct workload_lock){ subject->ops, l,
							      (ol_ticks_t *)(void *)(l + stamp) };
		if (subject->init)
			subject->init(l);
	}
	return true;
}

static bool set_up_zipf(struct run *run)
{
	uint32_t n = run->world.n_locks;
	uint64_t milli = params_get(&run->cell->params, run->loops->name, "zipf", 0);
	struct workload_choice *table;

	if (!milli)
		return true;
	run->world.zipf = table = lines(1, n * sizeof(*table));
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

static struct run *set_up(const struct cell *cell, const struct cell_memory *memory, unsigned copy)
{
	struct run *run = lines(1, sizeof(*run));

	if (!run)
		return NULL;
	run->cell = cell;
	run->result = copy_of(memory, copy);
	run->places = places_of(run->result);
	run->loops = (cell->measured ? loops_measured : loops_plain) + cell->workload;
	run->loop = cell->turns ? run->loops->by_count : run->loops->by_time;
	run->world.contexts = cell->threads;
	run->world.params = &cell->params;
	run->world.n_locks = (uint32_t)params_get(&cell->params, run->loops->name, "locks", 1);
	run->world.patience = ol_ticks_from_ns(PATIENCE_NS);
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
	errno = pthread_barrier_init(&run->start, NULL, cell->threads + 1);
	return errno ? NULL : run;
}

static uint64_t after(uint64_t since, double seconds)
{
	return since + (uint64_t)(seconds * 1e9);
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
}

static void sleep_until(uint64_t when)
{
	struct timespec t = timespec_of(when);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static void *come(void *arg);

static void *begin(void *arg)
{
	struct workload_me *me = arg;

	pthread_barrier_wait(&me->run->start);
	return come(arg);
}

static bool succeeded(struct run *run, struct workload_me *me)
{
	pthread_t thread;
	int error;

	if (!ol_cas_relaxed(&me->stop, (uint32_t)LEAVE, 0u))
		return false;
	error = pthread_create(&thread, &run->attr, come, me);
	if (error)
		ol_store_relaxed(&run->failed, error);
	else
		ol_add_relaxed(&run->arrivals, 1u);
	return !error;
}

/* A context's life. Whoever leaves early sends another in its place, so that none stays empty. */
static void *come(void *arg)
{
	struct workload_me *me = arg;
	struct run *run = me->run;
	void *own = run->own + me->index * run->own_size;

	memset(own, 0, run->own_size);
	meter_begin(&me->meter, ol_now());
	run->loop(&run->world, run->shared, own, me);
	ol_store_relaxed(&me->meter.last, OL_NEVER);
	if (run->cell->turns && me->turns == me->limit)
		run->places[me->index].finish_ns = ol_clock() - run->began;
	if (!succeeded(run, me) && ol_add_acq_rel(&run->working, -1u) == 1)
		sem_post(&run->empty); /* who waits for it sees all that was done */
	return NULL;
}

static bool start(struct run *run)
{
	for (unsigned i = 0; i < run->cell->threads; i++) {
		pthread_t thread;
		int error = pthread_create(&thread, &run->attr, begin, &run->contexts[i]);

		if (error)
			return impossible(run->result, "thread %u: %s", i + 1, strerror(error));
	}
	return true;
}

/* What has been used and done up to now. */
struct usage {
	double when, cpu;
	uint64_t voluntary, involuntary;
};

static struct usage usage_now(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (struct usage){
		.when = (double)ol_clock() * 1e-9,
		.cpu = (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
		       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6,
		.voluntary = (uint64_t)r.ru_nvcsw,
		.involuntary = (uint64_t)r.ru_nivcsw,
	};
}

static struct usage measuring_from(struct run *run)
{
	struct usage from = usage_now();
	ol_ticks_t since = ol_now();

	for (unsigned i = 0; i < run->cell->threads; i++) {
		ol_store_relaxed(&run->contexts[i].meter.since, since);
		run->places[i].turns = ol_load_relaxed(&run->contexts[i].turns);
	}
	return from;
}

/* The longest gap of the context, the one it is in included; 0 if it takes no locks. */
static ol_ticks_t gap_of(const struct meter *m, ol_ticks_t now)
{
	ol_ticks_t longest = ol_load_relaxed(&m->longest), last = ol_load_relaxed(&m->last);
	ol_ticks_t from = last > m->since ? last : m->since;

	if (!ol_load_relaxed(&m->acquisitions))
		return 0;
	return from < now && now - from > longest ? now - from : longest;
}

static void measuring_to(struct run *run, const struct usage *from)
{
	struct copy_result *result = run->result;
	struct usage to = usage_now();
	ol_ticks_t now = ol_now(), gap = 0;

	for (unsigned i = 0; i < run->cell->threads; i++) {
		struct workload_me *me = &run->contexts[i];
		ol_ticks_t its = gap_of(&me->meter, now);

		run->places[i].turns = ol_load_relaxed(&me->turns) - run->places[i].turns;
		gap = its > gap ? its : gap;
		ol_store_relaxed(&me->meter.since, (ol_ticks_t)0);
	}
	result->gap_ns = ol_ns_from_ticks(gap);
	result->seconds = to.when - from->when;
	result->cpu_seconds = to.cpu - from->cpu;
	result->voluntary = to.voluntary - from->voluntary;
	result->involuntary = to.involuntary - from->involuntary;
}

/* True if every place was empty by then. */
static bool emptied(struct run *run, uint64_t by)
{
	struct timespec t = timespec_of(by);
	int error;

	do {
		error = sem_clockwait(&run->empty, CLOCK_MONOTONIC, &t);
	} while (error && errno == EINTR);
	return !error;
}

/* Half of the threads leave, the odd ones and the even ones by turns. */
static void change_half(struct run *run, unsigned phase)
{
	for (unsigned i = phase % 2; i < run->cell->threads; i += 2)
		ol_cas_relaxed(&run->contexts[i].stop, 0u, (uint32_t)LEAVE);
}

static void by_time(struct run *run)
{
	double seconds = run->cell->seconds, phase = seconds / run->cell->phases;
	uint64_t settled = after(run->began, seconds * WARM_UP);
	struct usage from;

	sleep_until(settled);
	from = measuring_from(run);
	for (unsigned i = 1; i < run->cell->phases; i++) {
		sleep_until(after(settled, phase * i));
		change_half(run, i - 1);
	}
	sleep_until(after(settled, seconds));
	measuring_to(run, &from);
}

static void drain(struct run *run)
{
	uint64_t since = ol_clock();

	for (unsigned i = 0; i < run->cell->threads; i++)
		ol_store_relaxed(&run->contexts[i].stop, (uint32_t)OVER);
	run->result->drained = emptied(run, after(since, DRAIN_SECONDS));
	run->result->drain_seconds = (double)(ol_clock() - since) * 1e-9;
}

static void verify(struct run *run)
{
	unsigned threads = run->cell->threads;
	uint64_t turns = 0;
	const char *wrong;

	for (unsigned i = 0; i < threads; i++)
		turns += ol_load_relaxed(&run->contexts[i].turns);
	wrong = run->loops->check(&run->world, run->shared, turns,
				  run->result->drained ? 0 : threads);
	if (wrong)
		strncpy(run->result->wrong, wrong, sizeof(run->result->wrong) - 1);
}

#ifdef OL_COUNTED
static void add_site(const struct ol_site_record *record, void *arg)
{
	struct copy_result *result = arg;

	for (unsigned i = 0; i < OL_EVENTS; i++)
		result->events[i] += record->events[i];
	result->wait_ns += record->wait_ns;
	result->hold_ns += record->hold_ns;
}
#endif

static void meet(struct run *run, struct cell_start *start)
{
	uint64_t now;

	pthread_barrier_wait(&start->all);
	now = ol_clock();
	run->began = ol_cas_relaxed(&start->when, (uint64_t)0, now) ? now
								    : ol_load_relaxed(&start->when);
}

bool run_copy(const struct cell *cell, const struct cell_memory *memory, unsigned copy)
{
	struct copy_result *result = copy_of(memory, copy);
	struct run *run = set_up(cell, memory, copy);
	struct usage from;

	if (!run)
		return impossible(result, "%s", strerror(errno ? errno : ENOMEM));
	if (!slice_set(cell->slice_ns, result->impossible, sizeof(result->impossible)))
		return false;
	result->slice_ns = slice_get();
	if (!start(run))
		return false;
	meet(run, memory->start);
	if (cell->turns)
		from = measuring_from(run);
	pthread_barrier_wait(&run->start);
	if (cell->turns) {
		result->cut = !emptied(run, after(run->began, cell->seconds));
		measuring_to(run, &from);
	} else {
		by_time(run);
	}
	if (!cell->turns || result->cut)
		drain(run);
	else
		result->drained = true;
	verify(run);
	for (unsigned i = 0; i < cell->threads; i++)
		run->places[i].n_samples = ol_load_relaxed(&run->contexts[i].meter.n);
	result->arrivals = ol_load_relaxed(&run->arrivals);
#ifdef OL_COUNTED
	ol_sites_read(add_site, result);
#endif
	if (run->failed)
		return impossible(result, "a thread that was to come: %s", strerror(run->failed));
	return true;
}

/* One context's own turns */

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
	run->loop(&run->world, run->shared, run->own, me);
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
	uint64_t took[TRIES], turns = 1;
	struct run *run;

	alone.subject = (struct subject){ &no_lock, NULL };
	alone.threads = 1;
	alone.turns = 1;
	run = set_up(&alone, memory, 0);
	if (!run)
		return impossible(copy_of(memory, 0), "%s", strerror(errno ? errno : ENOMEM));
	measuring_from(run);
	while (try(run, turns) < TRY_NS)
		turns *= 2;
	for (int i = 0; i < TRIES; i++)
		took[i] = try(run, turns);
	qsort(took, TRIES, sizeof(took[0]), ascending);
	run->result->turn_ns = (double)took[TRIES / 2] / (double)turns;
	return true;
}
