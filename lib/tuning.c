/* SPDX-License-Identifier: MIT */
/* Tunables: set from text and from the environment, and told. */
#include "internal.h"
#include "tunable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char no_such[] = "no such tunable; expected one of:"
#define OL_TUNABLE(name, ...) " " #name
#include <overlock/tunables.def>
#undef OL_TUNABLE
	;

/* As given, since ticks may be coarser than ns. */
static uint64_t given[OL_TUNABLES];

static const struct ol_tunable *find(const char *name)
{
	for (size_t i = 0; i < OL_TUNABLES; i++)
		if (!strcmp(ol_tunables[i].name, name))
			return &ol_tunables[i];
	return 0;
}

static void set(const struct ol_tunable *t, uint64_t value)
{
	uint64_t *field = (uint64_t *)((char *)&ol_world->tuning + t->offset);

	/* Relaxed: a tunable orders nothing; a waiter that reads the old value waits as before. */
	ol_store_relaxed(&given[t - ol_tunables], value);
	ol_store_relaxed(field, ol_tunable_is_time(t) ? ol_ticks_from_ns(value) : value);
}

const char *ol_set_tunable(const char *name, const char *value)
{
	const struct ol_tunable *t = find(name);
	uint64_t v;

	if (!t)
		return no_such;
	if (!ol_tunable_parse(t, value, &v))
		return t->expected;
	set(t, v);
	return 0;
}

bool ol_get_tunable(const char *name, char *text, size_t size)
{
	const struct ol_tunable *t = find(name);
	uint64_t v;

	if (!t)
		return false;
	v = ol_load_relaxed(&given[t - ol_tunables]);
	if (v == OL_NEVER)
		snprintf(text, size, "inf");
	else
		snprintf(text, size, "%" PRIu64, v);
	return true;
}

void ol_tuning_start(void)
{
	for (const struct ol_tunable *t = ol_tunables; t < ol_tunables + OL_TUNABLES; t++) {
		char name[64];
		const char *value, *wrong;

		set(t, t->preset);
		ol_tunable_variable(t, name, sizeof(name));
		value = secure_getenv(name);
		wrong = value ? ol_set_tunable(t->name, value) : 0;
		if (wrong)
			fprintf(stderr, "overlock: %s=%s ignored: %s\n", name, value, wrong);
	}
}
