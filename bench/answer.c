/* SPDX-License-Identifier: MIT */
#include "answer.h"
#include "../lib/internal.h"
#include "params.h"
#include "replay_plan.h"
#ifdef OL_COUNTED
#include "site.h"
#endif
#include <stdio.h>
#include <string.h>

/* JSON strings: ids and texts of .def files, and file names. */
static void put_string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if ((unsigned char)*s < 0x20)
			printf("\\u%04x", (unsigned)*s);
		else
			putchar(*s);
	}
	putchar('"');
}

static void put_subject(const struct ol_lock_ops *ops, const char *kind)
{
	static const char *between = "";

	printf("%s{\"id\":", between);
	between = ",";
	put_string(ops->id);
	printf(",\"kind\":\"%s\",\"size\":%u,\"what\":", kind, (unsigned)ops->size);
	put_string(ops->what);
	putchar('}');
}

static void put_tunables(void)
{
	const char *between = "{";
	char value[32];

#define OL_TUNABLE(name, ...)				\
	ol_get_tunable(#name, value, sizeof(value));		\
	printf("%s\"" #name "\":\"%s\"", between, value);	\
	between = ",";
#include <overlock/tunables.def>
#undef OL_TUNABLE
	printf("}");
}

static void put_source(const char *name)
{
	if (name)
		put_string(name);
	else
		printf("null");
}

/* Of each fact the source that locks have it from here, or null. */
static void put_knowledge(void)
{
	const char *between = "";

	printf(",\"knowledge\":{");
#define OL_FACT(name, what)					\
	printf("%s\"" #name "\":", between);			\
	put_source(ol_source_of(#name));			\
	between = ",";
#include "../lib/knowledge.def"
	printf("}");
}

static void put_param(const struct param *p)
{
	printf("{\"name\":\"%s\",", p->name);
	if (p->choices)
		printf("\"choices\":\"%s\"", p->choices);
	else
		printf("\"unit\":\"%s\",\"preset\":%.12g,\"least\":%.12g,\"most\":%.12g", p->unit,
		       p->preset, p->least, p->most);
	printf(",\"what\":");
	put_string(p->what);
	putchar('}');
}

static void put_workload(const struct loops *w)
{
	const char *between = "";

	printf("{\"id\":\"%s\",\"what\":", w->name);
	put_string(w->what);
	printf(",\"parameters\":[");
	for (const struct param *p = all_params; p->workload; p++) {
		if (strcmp(p->workload, w->name) != 0)
			continue;
		printf("%s", between);
		put_param(p);
		between = ",";
	}
	printf("]}");
}

void answer_facts(const struct facts *facts)
{
	const struct ol_calibration *c = ol_calibration();

	printf("{\"type\":\"facts\",\"htm\":%s,\"tick_ns\":%.6g,\"relax_ns\":%.6g,\"yield_ns\":%."
	       "6g,"
	       "\"calibration_ns\":%llu,\"tsc\":%s,\"work_unit_ns\":%.6g,\"measure_ns\":%.6g,"
	       "\"tunables\":",
	       ol_htm_works() ? "true" : "false", c->tick_ns, c->relax_ns, c->yield_ns,
	       (unsigned long long)c->took_ns, c->tsc ? "true" : "false", facts->unit_ns,
	       facts->measure_ns);
	put_tunables();
	put_knowledge();
	printf(",\"workloads\":[");
	for (const struct loops *w = loops_plain; w->name; w++) {
		if (!replay_plan && strcmp(w->name, "replay") == 0)
			continue; /* there is nothing to replay */
		if (w != loops_plain)
			putchar(',');
		put_workload(w);
	}
	printf("],\"subjects\":[");
	subjects_list(put_subject);
	printf("]}\n");
	fflush(stdout);
}

/* Sums and extremes over the copies. */
struct total {
	uint64_t turns, voluntary, involuntary, arrivals, gap_ns;
	uint64_t wait_ns, spin_ns, hold_ns, handover_ns;
	uint64_t events[OL_EVENTS];
	double seconds, cpu_seconds, drain_seconds;
	bool drained, cut;
};

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static void add(struct total *t, const struct copy_result *c)
{
	t->voluntary += c->voluntary;
	t->involuntary += c->involuntary;
	t->arrivals += c->arrivals;
	t->cpu_seconds += c->cpu_seconds;
	t->seconds = larger(t->seconds, c->seconds);
	t->drain_seconds = larger(t->drain_seconds, c->drain_seconds);
	t->gap_ns = c->gap_ns > t->gap_ns ? c->gap_ns : t->gap_ns;
	t->drained &= c->drained;
	t->cut |= c->cut;
	for (unsigned i = 0; i < OL_EVENTS; i++)
		t->events[i] += c->events[i];
	t->wait_ns += c->wait_ns;
	t->spin_ns += c->spin_ns;
	t->hold_ns += c->hold_ns;
	t->handover_ns += c->handover_ns;
}

static uint64_t turns_of(const struct cell *cell, struct copy_result *copy)
{
	uint64_t turns = 0;

	for (unsigned i = 0; i < cell->threads; i++)
		turns += places_of(copy)[i].turns;
	return turns;
}

static struct total total_of(const struct cell *cell, const struct cell_memory *memory)
{
	struct total t = { .drained = true };

	for (unsigned i = 0; i < cell->copies; i++) {
		add(&t, copy_of(memory, i));
		t.turns += turns_of(cell, copy_of(memory, i));
	}
	return t;
}

const char *answer_wrong(const struct cell *cell, const struct cell_memory *memory)
{
	for (unsigned i = 0; i < cell->copies; i++)
		if (copy_of(memory, i)->wrong[0])
			return copy_of(memory, i)->wrong;
	return "";
}

static void put_copies(const struct cell *cell, const struct cell_memory *memory)
{
	const char *between = "";

	printf(",\"copies\":[");
	for (unsigned i = 0; i < cell->copies; i++)
		printf("%s%llu", i ? "," : "",
		       (unsigned long long)turns_of(cell, copy_of(memory, i)));
	printf("],\"per_thread\":[");
	for (unsigned i = 0; i < cell->copies; i++) {
		for (unsigned j = 0; j < cell->threads; j++) {
			printf("%s%llu", between,
			       (unsigned long long)places_of(copy_of(memory, i))[j].turns);
			between = ",";
		}
	}
	printf("]");
}

/* Null: it was cut. */
static void put_finish(const struct cell *cell, const struct cell_memory *memory)
{
	const char *between = "";

	printf(",\"finish_ns\":[");
	for (unsigned i = 0; i < cell->copies; i++) {
		for (unsigned j = 0; j < cell->threads; j++) {
			uint64_t ns = places_of(copy_of(memory, i))[j].finish_ns;

			printf(ns ? "%s%llu" : "%snull", between, (unsigned long long)ns);
			between = ",";
		}
	}
	printf("]");
}

/* Calls `each` for every sample of every copy. */
static void each_sample(const struct cell *cell, const struct cell_memory *memory,
			void (*each)(const struct sample *s, void *arg), void *arg)
{
	for (unsigned i = 0; i < cell->copies; i++) {
		struct copy_result *copy = copy_of(memory, i);

		for (unsigned j = 0; j < cell->threads; j++) {
			const struct sample *s =
				samples_of(copy, cell) + (size_t)j * memory->plan.capacity;

			for (unsigned k = 0; k < places_of(copy)[j].n_samples; k++)
				each(&s[k], arg);
		}
	}
}

static void each_unfinished(const struct cell *cell, const struct cell_memory *memory,
			    void (*each)(const struct sample *s, void *arg), void *arg)
{
	for (unsigned i = 0; i < cell->copies; i++) {
		const struct place_result *places = places_of(copy_of(memory, i));

		for (unsigned j = 0; j < cell->threads; j++)
			if (places[j].unfinished.weight)
				each(&places[j].unfinished, arg);
	}
}

/* A column of the samples: which value, and whether it is the weights' turn. */
struct column {
	bool handover, weight;
	const char *between;
};

static void put_value(const struct sample *s, void *arg)
{
	struct column *c = arg;
	ol_ticks_t ticks = c->handover ? s->handover : s->latency;

	if (ticks == OL_NEVER)
		return;
	printf("%s%llu", c->between,
	       (unsigned long long)(c->weight ? s->weight : ol_ns_from_ticks(ticks)));
	c->between = ",";
}

static void put_samples(const struct cell *cell, const struct cell_memory *memory, bool handover)
{
	struct column values = { handover, false, "" }, weights = { handover, true, "" };

	printf(",\"%s\":{\"ns\":[", handover ? "handover" : "latency");
	each_sample(cell, memory, put_value, &values);
	each_unfinished(cell, memory, put_value, &values);
	printf("],\"weight\":[");
	each_sample(cell, memory, put_value, &weights);
	each_unfinished(cell, memory, put_value, &weights);
	printf("]}");
}

struct queue {
	double sum, weight;
	uint32_t most;
};

static void add_queue(const struct sample *s, void *arg)
{
	struct queue *q = arg;

	q->sum += (double)s->queue * s->weight;
	q->weight += s->weight;
	q->most = s->queue > q->most ? s->queue : q->most;
}

static void put_measured(const struct cell *cell, const struct cell_memory *memory,
			 const struct total *t)
{
	double releases = copy_of(memory, 0)->releases > 1 ? copy_of(memory, 0)->releases : 1;
	double gap = (double)t->gap_ns - cell->turn_ns / releases;
	struct queue q = { 0 };

	printf(",\"gap_ns\":%.0f", gap > 0 ? gap : 0);
	put_samples(cell, memory, false);
	put_samples(cell, memory, true);
	each_sample(cell, memory, add_queue, &q);
	if (q.weight > 0)
		printf(",\"queue\":{\"mean\":%.6g,\"max\":%u}", q.sum / q.weight, q.most);
}

#ifdef OL_COUNTED
static void put_events(const struct total *t)
{
	static const char *const names[] = {
#define OL_EVENT(name, what) #name,
#include <overlock/events.def>
#undef OL_EVENT
	};

	printf(",\"wait_ns\":%llu,\"spin_ns\":%llu", (unsigned long long)t->wait_ns,
	       (unsigned long long)t->spin_ns);
	if (ol_sites_times_kept())
		printf(",\"hold_ns\":%llu,\"handover_ns\":%llu", (unsigned long long)t->hold_ns,
		       (unsigned long long)t->handover_ns);
	printf(",\"events\":{");
	for (unsigned i = 0; i < OL_EVENTS; i++) {
		if ((i == OL_LHP || i == OL_LWP) && !ol_sites_know_slices())
			continue; /* unknown, which is not 0 */
		printf("%s\"%s\":%llu", i ? "," : "", names[i], (unsigned long long)t->events[i]);
	}
	printf("}");
}
#else
static void put_events(const struct total *t)
{
	(void)t;
}
#endif

void answer_cell(const struct request *request, const struct cell_memory *memory)
{
	const struct cell *cell = &request->cell;
	struct total t = total_of(cell, memory);
	uint64_t slice_ns = copy_of(memory, 0)->slice_ns;

	printf("{\"type\":\"cell\",\"variant\":");
	put_string(request->variant);
	printf(",\"lock\":");
	put_string(cell->subject.ops->id);
	printf(",\"threads\":%u,\"acquisitions\":%llu,\"seconds\":%.9g,\"cpu_seconds\":%.9g,"
	       "\"voluntary\":%llu,\"involuntary\":%llu,\"arrivals\":%llu,\"drained\":%s,"
	       "\"drain_seconds\":%.6g,\"cut\":%s,\"wrong\":",
	       cell->threads, (unsigned long long)t.turns, t.seconds, t.cpu_seconds,
	       (unsigned long long)t.voluntary, (unsigned long long)t.involuntary,
	       (unsigned long long)t.arrivals, t.drained ? "true" : "false", t.drain_seconds,
	       t.cut ? "true" : "false");
	put_string(answer_wrong(cell, memory));
	put_copies(cell, memory);
	if (cell->turn_ns > 0)
		printf(",\"turn_ns\":%.6g,\"work_seconds\":%.9g", cell->turn_ns,
		       (double)t.turns * cell->turn_ns * 1e-9);
	if (slice_ns)
		printf(",\"slice_us\":%.6g", (double)slice_ns * 1e-3);
	if (cell->turns)
		put_finish(cell, memory);
	if (cell->measured)
		put_measured(cell, memory, &t);
	put_events(&t);
	printf("}\n");
	fflush(stdout);
}

void answer_error(const char *kind, const char *message)
{
	printf("{\"type\":\"error\",\"kind\":\"%s\",\"message\":", kind);
	put_string(message);
	printf("}\n");
	fflush(stdout);
}
