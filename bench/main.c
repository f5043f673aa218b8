/* SPDX-License-Identifier: MIT */
/*
 * overlock-bench: a server of cells. It prints the machine's facts, reads one cell per line on
 * standard input, and answers each with one JSON object on standard output, until the input ends.
 * `overlock bench` is its front end and decides what is measured when.
 */
#define _GNU_SOURCE
#include "answer.h"
#include "burn.h"
#include "params.h"
#include "processes.h"
#include "replay_plan.h"
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = CELL_EXIT_INTERRUPTED };

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

/* Leaves us only the first n of the CPUs we may run on. */
static void restrict_to(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);
	cpu_set_t allowed, fewer;

	CPU_ZERO(&fewer);
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		quit(EXIT_WRONG, "cannot read the CPU affinity: %s", strerror(errno));
	if (*end || n < 1 || n > (unsigned long)CPU_COUNT(&allowed))
		quit(EXIT_USAGE, "--cpus %s is not a number from 1 to %d", text,
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

static void load_lock(const char *text)
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

static void load_peers(const char *path)
{
	const char *error = subjects_load_peers(path);

	if (error)
		quit(EXIT_USAGE, "--peers %s: %s", path, error);
}

static void load_replay(const char *path)
{
	const char *error = replay_load(path);

	if (error)
		quit(EXIT_USAGE, "--replay %s: %s", path, error);
}

static void parse(int argc, char **argv)
{
	enum { LOCK_SO, PEERS, CPUS, REPLAY };
	static const struct option table[] = {
		{ "lock-so", required_argument, NULL, LOCK_SO },
		{ "peers", required_argument, NULL, PEERS },
		{ "cpus", required_argument, NULL, CPUS },
		{ "replay", required_argument, NULL, REPLAY },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
		switch (option) {
		case LOCK_SO:
			load_lock(optarg);
			break;
		case PEERS:
			load_peers(optarg);
			break;
		case CPUS:
			restrict_to(optarg);
			break;
		case REPLAY:
			load_replay(optarg);
			break;
		default:
			exit(EXIT_USAGE); /* getopt has said why */
		}
	}
	if (optind < argc)
		quit(EXIT_USAGE, "unexpected argument '%s'", argv[optind]);
}

/* What measuring adds to a turn of sections, uncontended. */
static double measure_ns(double unit_ns)
{
	struct cell cell = { .workload = 0 };
	double measured, plain;

	params_preset(&cell.params, loops_plain[0].name, unit_ns);
	measured = cell_turn_ns(&cell, true);
	plain = cell_turn_ns(&cell, false);
	return measured > plain && plain > 0 ? measured - plain : 0;
}

/* True if exclusion held. */
static bool do_cell(struct request *request)
{
	struct cell *cell = &request->cell;
	struct cell_memory memory;
	bool right;

	if (!cell->seed) /* no two cells alike */
		cell->seed = ol_clock() & UINT32_MAX;
	if (!request_is_replay(cell)) /* whose turns differ, and sleep */
		cell->turn_ns = cell_turn_ns(cell, cell->measured);
	switch (cell_run(cell, &memory)) {
	case CELL_DONE:
		break;
	case CELL_HUNG:
		answer_error("hung", "it did not end in time and was killed");
		return true;
	case CELL_INTERRUPTED:
		exit(EXIT_INTERRUPTED);
	case CELL_IMPOSSIBLE:
		answer_error("impossible", cell_why());
		return true;
	}
	answer_cell(request, &memory);
	right = !answer_wrong(cell, &memory)[0];
	cell_forget(&memory);
	return right;
}

static bool serve(double unit_ns)
{
	struct request request;
	bool right = true;
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, stdin) > 0) {
		const char *error = request_parse(&request, line, unit_ns);

		if (!error)
			error = request_tune(&request);
		if (error)
			answer_error("usage", error);
		else
			right &= do_cell(&request);
	}
	free(line);
	return right;
}

int main(int argc, char **argv)
{
	struct facts facts;

	parse(argc, argv);
	facts.unit_ns = burn_unit_ns();
	replay_convert(facts.unit_ns);
	facts.measure_ns = measure_ns(facts.unit_ns);
	answer_facts(&facts);
	return serve(facts.unit_ns) ? 0 : EXIT_WRONG;
}
