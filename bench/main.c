/* SPDX-License-Identifier: MIT */
/*
 * overlock-bench: measures locks on a workload, one JSON object per line on standard output: the
 * machine's facts first, then a cell whenever one is complete. `overlock bench` is its front end;
 * docs/commands.md describes the lines.
 */
#define _GNU_SOURCE
#include "burn.h"
#include "cell.h"
#include "plan.h"
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };

struct options {
	struct plan plan;
	int workload;
	uint64_t rounds, cpus;
	double seconds, critical_ns, outside_ns;
	double unit_ns;
};

static _Noreturn void __attribute__((format(printf, 2, 3))) quit(int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("overlock-bench: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(code);
}

static double number(const char *option, const char *text, double least, double most)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= least && value <= most))
		quit(EXIT_USAGE, "%s %s is not a number from %g to %g", option, text, least, most);
	return value;
}

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

#define OL_TUNABLE(name, unit, preset, least, most, what)	\
	ol_get_tunable(#name, value, sizeof(value));		\
	printf("%s\"" #name "\":\"%s\"", between, value);	\
	between = ",";
#include <overlock/tunables.def>
#undef OL_TUNABLE
	printf("}");
}

static void put_facts(const struct options *o)
{
	const struct ol_calibration *c = ol_calibration();

	printf("{\"type\":\"facts\",\"tick_ns\":%.6g,\"relax_ns\":%.6g,\"yield_ns\":%.6g,"
	       "\"calibration_ns\":%llu,\"tsc\":%s,\"work_unit_ns\":%.6g,\"tunables\":",
	       c->tick_ns, c->relax_ns, c->yield_ns, (unsigned long long)c->took_ns,
	       c->tsc ? "true" : "false", o->unit_ns);
	put_tunables();
	printf(",\"subjects\":[");
	subjects_list(put_subject);
	printf("]}\n");
	fflush(stdout);
}

#ifdef OL_COUNTED
static void put_events(const struct cell_result *r)
{
	static const char *const names[] = {
#define OL_EVENT(name, what) #name,
#include <overlock/events.def>
#undef OL_EVENT
	};

	printf(",\"wait_ns\":%llu,\"hold_ns\":%llu,\"events\":{", (unsigned long long)r->wait_ns,
	       (unsigned long long)r->hold_ns);
	for (unsigned i = 0; i < OL_EVENTS; i++)
		printf("%s\"%s\":%llu", i ? "," : "", names[i], (unsigned long long)r->events[i]);
	printf("}");
}
#else
static void put_events(const struct cell_result *r)
{
	(void)r;
}
#endif

static void put_cell(const struct variant *v, unsigned round, unsigned threads,
		     const struct cell_result *r)
{
	uint64_t turns = 0;

	for (unsigned i = 0; i < threads; i++)
		turns += r->turns[i];
	printf("{\"type\":\"cell\",\"round\":%u,\"variant\":", round);
	put_string(v->name);
	printf(",\"lock\":");
	put_string(v->subject.ops->id);
	printf(",\"threads\":%u,\"acquisitions\":%llu,\"seconds\":%.9g,\"cpu_seconds\":%.9g,"
	       "\"voluntary\":%llu,\"involuntary\":%llu,\"drained\":%s,\"drain_seconds\":%.6g,"
	       "\"wrong\":",
	       threads, (unsigned long long)turns, r->seconds, r->cpu_seconds,
	       (unsigned long long)r->voluntary, (unsigned long long)r->involuntary,
	       r->drained ? "true" : "false", r->drain_seconds);
	put_string(r->wrong);
	printf(",\"per_thread\":[");
	for (unsigned i = 0; i < threads; i++)
		printf("%s%llu", i ? "," : "", (unsigned long long)r->turns[i]);
	printf("]");
	put_events(r);
	printf("}\n");
	fflush(stdout);
}

/* True if exclusion held. */
static bool do_place(const struct options *o, unsigned round, const struct place *place)
{
	const struct variant *v = &o->plan.variants[place->variant];
	const struct cell_result *result;
	struct cell cell = {
		.workload = (unsigned)o->workload,
		.subject = v->subject,
		.threads = place->threads,
		.seconds = o->seconds,
		.critical_units = (uint64_t)(o->critical_ns / o->unit_ns + 0.5),
		.outside_units = (uint64_t)(o->outside_ns / o->unit_ns + 0.5),
	};

	variant_tune(v);
	switch (cell_run(&cell, &result)) {
	case CELL_DONE:
		break;
	case CELL_HUNG:
		quit(EXIT_WRONG, "%s with %u threads did not end and was killed", v->name,
		     place->threads);
	case CELL_INTERRUPTED:
		exit(EXIT_INTERRUPTED);
	case CELL_IMPOSSIBLE:
		quit(EXIT_WRONG, "%s with %u threads could not be run: %s", v->name, place->threads,
		     strerror(errno));
	}
	put_cell(v, round, place->threads, result);
	return !result->wrong[0];
}

static bool do_rounds(struct options *o)
{
	bool right = true;

	for (unsigned round = 1; round <= o->rounds; round++) {
		const char *error = plan_shuffle(&o->plan);

		if (error)
			quit(EXIT_WRONG, "%s", error);
		for (size_t i = 0; i < o->plan.n_variants * o->plan.n_threads; i++)
			right &= do_place(o, round, &o->plan.places[i]);
	}
	return right;
}

/* Leaves us only the first n of the CPUs we may run on. */
static void restrict_to(uint64_t n)
{
	cpu_set_t allowed, fewer;

	CPU_ZERO(&fewer);
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		quit(EXIT_WRONG, "cannot read the CPU affinity: %s", strerror(errno));
	if (n > (uint64_t)CPU_COUNT(&allowed))
		quit(EXIT_USAGE, "--cpus %llu: there are only %d", (unsigned long long)n,
		     CPU_COUNT(&allowed));
	for (int cpu = 0; n > 0; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		CPU_SET(cpu, &fewer);
		n--;
	}
	if (sched_setaffinity(0, sizeof(fewer), &fewer))
		quit(EXIT_WRONG, "cannot set the CPU affinity: %s", strerror(errno));
}

static void load(const char *text)
{
	const char *path = strchr(text, '='), *error;
	char id[64];

	if (!path || path == text || (size_t)(path - text) >= sizeof(id))
		quit(EXIT_USAGE, "--lock-so %s is not ID=FILE.so", text);
	memcpy(id, text, (size_t)(path - text));
	id[path - text] = '\0';
	error = subject_load(path + 1, id);
	if (error)
		quit(EXIT_USAGE, "--lock-so %s: %s", text, error);
}

static void check(const char *option, const char *error)
{
	if (error)
		quit(EXIT_USAGE, "%s: %s", option, error);
}

static void parse(struct options *o, int argc, char **argv)
{
	enum { WORKLOAD_, LOCK_SO, VARIANT, THREADS, ROUNDS, SECONDS, CS_NS, NCS_NS, SEED, CPUS };
	static const struct option table[] = {
		{ "workload", required_argument, NULL, WORKLOAD_ },
		{ "lock-so", required_argument, NULL, LOCK_SO },
		{ "variant", required_argument, NULL, VARIANT },
		{ "threads", required_argument, NULL, THREADS },
		{ "rounds", required_argument, NULL, ROUNDS },
		{ "seconds", required_argument, NULL, SECONDS },
		{ "cs-ns", required_argument, NULL, CS_NS },
		{ "ncs-ns", required_argument, NULL, NCS_NS },
		{ "seed", required_argument, NULL, SEED },
		{ "cpus", required_argument, NULL, CPUS },
		{ NULL, 0, NULL, 0 },
	};
	int option, index;

	while ((option = getopt_long(argc, argv, "", table, &index)) != -1) {
		switch (option) {
		case WORKLOAD_:
			o->workload = cell_find_workload(optarg);
			if (o->workload < 0)
				quit(EXIT_USAGE, "there is no workload '%s'", optarg);
			break;
		case LOCK_SO:
			load(optarg);
			break;
		case VARIANT:
			check(optarg, plan_add_variant(&o->plan, optarg));
			break;
		case THREADS:
			check("--threads", plan_add_threads(&o->plan, optarg));
			break;
		case ROUNDS:
			o->rounds = (uint64_t)number("--rounds", optarg, 1, 1e6);
			break;
		case SECONDS:
			o->seconds = number("--seconds", optarg, 0.001, 3600);
			break;
		case CS_NS:
			o->critical_ns = number("--cs-ns", optarg, 0, 1e9);
			break;
		case NCS_NS:
			o->outside_ns = number("--ncs-ns", optarg, 0, 1e9);
			break;
		case SEED:
			o->plan.seed = (uint64_t)number("--seed", optarg, 1, 9e15);
			break;
		case CPUS:
			o->cpus = (uint64_t)number("--cpus", optarg, 1, 1e6);
			break;
		default:
			exit(EXIT_USAGE); /* getopt has said why */
		}
	}
	if (optind < argc)
		quit(EXIT_USAGE, "unexpected argument '%s'", argv[optind]);
}

int main(int argc, char **argv)
{
	struct options o = {
		.plan.seed = (uint64_t)time(NULL) | 1,
		.rounds = 1,
		.seconds = 0.3,
		.critical_ns = 70,
		.outside_ns = 330,
	};
	bool right;

	parse(&o, argc, argv);
	if (o.cpus)
		restrict_to(o.cpus);
	cell_prepare();
	o.unit_ns = burn_unit_ns();
	put_facts(&o);
	if (!o.plan.n_variants || !o.plan.n_threads)
		return 0; /* asked for the facts only */
	right = do_rounds(&o);
	return right ? 0 : EXIT_WRONG;
}
