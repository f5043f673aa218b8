/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#define WORKLOAD_MEASURED 1
#include "run.h"
#include "setup.h"
#include "slice.h"
#include <errno.h>
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

/* A context's life. A context that leaves early starts another in its place, so that none stays empty. */
static void *come(void *arg)
{
	struct workload_me *me = arg;
	struct run *run = me->run;
	void *own = run->own + me->index * run->own_size;

	memset(own, 0, run->own_size);
	meter_begin(&me->meter, ol_now());
	run->loop(&run->platform, run->shared, own, me);
	ol_store_relaxed(&me->meter.last, OL_NEVER);
	if (run->cell->turns && me->turns == me->limit)
		run->places[me->index].finish_ns = ol_clock() - run->began;
	if (!succeeded(run, me) && ol_add_acq_rel(&run->working, -1u) == 1)
		sem_post(&run->empty); /* the waiter for it sees all that was done */
	return NULL;
}

static void enter_team(void *arg, unsigned i)
{
	struct run *run = arg;

	if (i == 0)
		sem_post(&run->led);
	begin(&run->contexts[i]);
}

static void *lead_team(void *arg)
{
	struct run *run = arg;
	const char *why = run->cell->subject.team(run->cell->threads, enter_team, run);

	if (why) {
		run->no_team = why;
		sem_post(&run->led);
	}
	return NULL;
}

static bool start_team(struct run *run)
{
	pthread_t thread;
	int error = pthread_create(&thread, &run->attr, lead_team, run);

	if (error)
		return impossible(run->result, "%s", strerror(error));
	while (sem_wait(&run->led))
		;
	return !run->no_team || impossible(run->result, "%s", run->no_team);
}

static bool start(struct run *run)
{
	if (run->cell->subject.team)
		return start_team(run);
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

/* The longest gap of the context, the one it is in included. */
static ol_ticks_t gap_of(const struct meter *m, ol_ticks_t now)
{
	ol_ticks_t longest = ol_load_relaxed(&m->longest), last = ol_load_relaxed(&m->last);
	ol_ticks_t from = last > m->since ? last : m->since;

	return from < now && now - from > longest ? now - from : longest;
}

/* The wait that is under way, as long as it has lasted: left out, the longest would be missing. */
static struct sample unfinished(const struct meter *m, ol_ticks_t now)
{
	ol_ticks_t since = ol_load_relaxed(&m->waits_since);

	if (!since || now < since)
		return (struct sample){ 0 };
	return (struct sample){
		.latency = now - since,
		.handover = OL_NEVER,
		.weight = ol_load_relaxed(&m->weight),
	};
}

static void measuring_to(struct run *run, const struct usage *from)
{
	struct copy_result *result = run->result;
	struct usage to = usage_now();
	ol_ticks_t now = ol_now(), gap = 0;
	uint64_t turns = 0, acquisitions = 0;

	for (unsigned i = 0; i < run->cell->threads; i++) {
		struct workload_me *me = &run->contexts[i];
		ol_ticks_t its = gap_of(&me->meter, now);

		turns += ol_load_relaxed(&me->turns);
		run->places[i].turns = ol_load_relaxed(&me->turns) - run->places[i].turns;
		acquisitions += ol_load_relaxed(&me->meter.acquisitions);
		gap = its > gap ? its : gap;
		ol_store_relaxed(&me->meter.since, (ol_ticks_t)0);
		run->places[i].unfinished = unfinished(&me->meter, now);
	}
	result->gap_ns = acquisitions ? ol_ns_from_ticks(gap) : 0; /* not everybody takes locks */
	result->releases = turns ? (double)acquisitions / (double)turns : 0;
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
	struct usage from;
	uint64_t since;

	pthread_barrier_wait(&run->start);
	sleep_until(after(run->began, seconds * WARM_UP));
	from = measuring_from(run);
	since = ol_clock(); /* later than planned, if thousands of threads came first */
	for (unsigned i = 1; i < run->cell->phases; i++) {
		sleep_until(after(since, phase * i));
		change_half(run, i - 1);
	}
	sleep_until(after(since, seconds));
	measuring_to(run, &from);
}

static void by_count(struct run *run)
{
	struct usage from = measuring_from(run);

	pthread_barrier_wait(&run->start);
	run->result->drained = emptied(run, after(run->began, run->cell->seconds));
	run->result->cut = !run->result->drained;
	measuring_to(run, &from);
}

static void drain(struct run *run)
{
	uint64_t since = ol_clock();

	ol_store_relaxed(&run->contexts[0].asked, 1u);
	for (unsigned i = 0; i < run->cell->threads && !subject_meets(&run->cell->subject); i++)
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
		turns += ol_load_acquire(&run->contexts[i].turns);
	wrong = run->loops->check(&run->platform, run->shared, turns,
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
	result->spin_ns += record->spin_ns;
	result->hold_ns += record->hold_ns;
	result->handover_ns += record->handover_ns;
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

	if (!run)
		return impossible(result, "%s", strerror(errno ? errno : ENOMEM));
	if (!slice_set(cell->slice_ns, result->impossible, sizeof(result->impossible)))
		return false;
	result->slice_ns = slice_get();
	if (!start(run))
		return false;
	meet(run, memory->start);
	if (cell->turns)
		by_count(run);
	else
		by_time(run);
	if (!result->drained)
		drain(run);
	verify(run);
	for (unsigned i = 0; i < cell->threads; i++)
		run->places[i].n_samples = ol_load_acquire(&run->contexts[i].meter.n);
	result->arrivals = ol_load_relaxed(&run->arrivals);
#ifdef OL_COUNTED
	ol_sites_read(add_site, result);
#endif
	if (run->failed)
		return impossible(result, "cannot start a replacement thread: %s",
				  strerror(run->failed));
	return true;
}
