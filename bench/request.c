/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "request.h"
#include "number.h"
#include "params.h"
#include "replay_plan.h"
#include <meeting.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_WORKLOAD	(~0u)

static char wrong[320];

/* The keys that are numbers, beside the workload's parameters. */
enum key { THREADS, SECONDS, TURNS, COPIES, PHASES, SLICE_US, SEED, MEASURE, KEYS };

static const struct {
	const char *name;
	bool whole;
	double preset, least, most;
} keys[KEYS] = {
	[THREADS] = { "threads", true, 1, 1, 1e6 },
	[SECONDS] = { "seconds", false, 0.3, 0.001, 86400 },
	[TURNS] = { "turns", true, 0, 0, 1e15 },
	[COPIES] = { "copies", true, 1, 1, 1e4 },
	[PHASES] = { "phases", true, 1, 1, 1e6 },
	[SLICE_US] = { "slice_us", false, 0, 0, 1e6 },
	[SEED] = { "seed", true, 0, 0, 4294967295.0 },
	[MEASURE] = { "measure", true, 1, 0, 1 },
};

static void fill(struct cell *cell, const double *values)
{
	cell->threads = (unsigned)values[THREADS];
	cell->seconds = values[SECONDS];
	cell->turns = (uint64_t)values[TURNS];
	cell->copies = (unsigned)values[COPIES];
	cell->phases = (unsigned)values[PHASES];
	cell->slice_ns = (uint64_t)(values[SLICE_US] * 1000);
	cell->seed = (uint64_t)values[SEED];
	cell->measured = values[MEASURE] != 0;
}

static const char *find_workload(struct cell *cell, const char *name, double unit_ns)
{
	for (unsigned i = 0; loops_plain[i].name; i++) {
		if (strcmp(loops_plain[i].name, name) == 0) {
			cell->workload = i;
			params_preset(&cell->params, name, unit_ns);
			return NULL;
		}
	}
	snprintf(wrong, sizeof(wrong), "there is no workload '%s'", name);
	return wrong;
}

static const char *find_variant(struct request *request, const char *variant)
{
	char id[64];
	size_t length = strcspn(variant, "@");

	if (strlen(variant) >= sizeof(request->variant) || length >= sizeof(id))
		return "variant= is too long";
	strcpy(request->variant, variant);
	memcpy(id, variant, length);
	id[length] = '\0';
	request->cell.subject = subject_find(id);
	if (request->cell.subject.ops)
		return NULL;
	snprintf(wrong, sizeof(wrong), "there is no lock '%s'; `overlock locks` lists them", id);
	return wrong;
}

static const char form[] = "expected workload=NAME variant=LOCK NAME=VALUE ... in one line";

/* Sets what one NAME=VALUE says. */
static const char *set(struct request *request, double *values, const char *name, const char *value,
		       double unit_ns)
{
	struct cell *cell = &request->cell;

	if (strcmp(name, "workload") == 0)
		return find_workload(cell, value, unit_ns);
	if (strcmp(name, "variant") == 0)
		return find_variant(request, value);
	for (int i = 0; i < KEYS; i++)
		if (strcmp(name, keys[i].name) == 0)
			return number_parse(&values[i], name, value, keys[i].whole, keys[i].least,
					    keys[i].most);
	if (cell->workload == NO_WORKLOAD)
		return form; /* the workload comes before its parameters */
	return params_set(&cell->params, loops_plain[cell->workload].name, name, value, unit_ns);
}

static uint64_t param(const struct cell *cell, const char *name, uint64_t otherwise)
{
	return params_get(&cell->params, loops_plain[cell->workload].name, name, otherwise);
}

bool request_is_replay(const struct cell *cell)
{
	return strcmp(loops_plain[cell->workload].name, "replay") == 0;
}

const char *request_parse(struct request *request, char *line, double unit_ns)
{
	struct cell *cell = &request->cell;
	double values[KEYS];
	char *word, *rest = NULL;

	memset(request, 0, sizeof(*request));
	cell->workload = NO_WORKLOAD;
	for (int i = 0; i < KEYS; i++)
		values[i] = keys[i].preset;
	for (word = strtok_r(line, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
		char *value = strchr(word, '=');
		const char *error = form;

		if (value) {
			*value++ = '\0';
			error = set(request, values, word, value, unit_ns);
		}
		if (error)
			return error;
	}
	fill(cell, values);
	if (cell->workload == NO_WORKLOAD || !cell->subject.ops)
		return form;
	if (subject_meets(&cell->subject) !=
	    (strcmp(loops_plain[cell->workload].name, "rounds") == 0))
		return "the workload rounds is for barriers, and barriers for rounds; `overlock "
		       "locks` lists them";
	if (subject_meets(&cell->subject) && cell->threads > MEETING_MOST)
		return "threads= is more than a barrier is measured with";
	if (subject_meets(&cell->subject) && cell->phases > 1)
		return "phases= is not for barriers, whose contexts come and go together";
	if (param(cell, "nested", 0) && param(cell, "locks", 1) < 2)
		return "nested=1 needs locks=2 or more";
	if (request_is_replay(cell)) {
		if (!replay_plan)
			return "replay needs overlock-bench --replay=PLAN";
		if (cell->threads != replay_plan->threads)
			return "threads= is not the number of threads of the plan";
	}
	if (cell->turns && cell->phases > 1)
		return "turns= and phases= exclude each other: phases divide the measured time";
	return NULL;
}

const char *request_tune(const struct request *request)
{
	static char presets[][32] = {
#define OL_TUNABLE(name, ...) "",
#include <overlock/tunables.def>
#undef OL_TUNABLE
	};
	static const char *const names[] = {
#define OL_TUNABLE(name, ...) #name,
#include <overlock/tunables.def>
#undef OL_TUNABLE
	};
	char settings[sizeof(request->variant)], *rest = settings, *setting;
	const char *error = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!presets[i][0]) /* the first call finds what the environment had set */
			ol_get_tunable(names[i], presets[i], sizeof(presets[i]));
		ol_set_tunable(names[i], presets[i]);
	}
	strcpy(settings, request->variant);
	strsep(&rest, "@"); /* the lock */
	while (!error && (setting = strsep(&rest, "@"))) {
		char *value = strchr(setting, '=');

		if (!value)
			return "expected NAME=VALUE after @, as in preemptable_ticket@tau=0";
		*value++ = '\0';
		error = ol_set_tunable(setting, value);
		if (error)
			snprintf(wrong, sizeof(wrong), "%s=%s: %s", setting, value, error);
	}
	return error ? wrong : NULL;
}
