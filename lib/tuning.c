/* SPDX-License-Identifier: MIT */
/* tunables.def: from text, from the environment, and back. */
#include "internal.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum unit { ns, count, power };

struct tunable {
	const char *name;
	enum unit unit;
	uint64_t preset, least, most;
	size_t offset; /* in struct ol_tuning */
	const char *expected;
};

#define OL_EXPECTED_ns(least, most)	"expected a time of " #least " to " #most " ns, or inf"
#define OL_EXPECTED_count(least, most)	"expected a number from " #least " to " #most
#define OL_EXPECTED_power(least, most)	"expected a power of two from " #least " to " #most

static const struct tunable table[] = {
#define OL_TUNABLE(name, unit, preset, least, most, ...)                                           \
	{ #name, unit, preset, least,                                                              \
	  most,	 offsetof(struct ol_tuning, name), OL_EXPECTED_##unit(least, most) },
#include <overlock/tunables.def>
#undef OL_TUNABLE
};

/* What the list says of itself is true: no default is nonsense, and none is without a source. */
#define OL_HOLDS_ns(v)	  1
#define OL_HOLDS_count(v) 1
#define OL_HOLDS_power(v) (((v) & ((v) - 1)) == 0)
#define OL_TUNABLE(name, unit, preset, least, most, when, source, what)                            \
	_Static_assert((uint64_t)(preset) - (least) <= (uint64_t)(most) - (least),                 \
		       #name ": the default is out of range");                                     \
	_Static_assert(OL_HOLDS_##unit(preset), #name ": the default is not of its unit");         \
	_Static_assert(sizeof(source) > 3, #name ": where is its default from?");
#include <overlock/tunables.def>
#undef OL_TUNABLE

enum { TUNABLES = sizeof(table) / sizeof(*table) };

static const char no_such[] = "no such tunable; there are:"
#define OL_TUNABLE(name, ...) " " #name
#include <overlock/tunables.def>
#undef OL_TUNABLE
	;

/* As given, since ticks may be coarser than ns. */
static uint64_t given[TUNABLES];

static const struct tunable *find(const char *name)
{
	for (size_t i = 0; i < TUNABLES; i++)
		if (!strcmp(table[i].name, name))
			return &table[i];
	return 0;
}

static void set(const struct tunable *t, uint64_t value)
{
	uint64_t *field = (uint64_t *)((char *)&ol_world->tuning + t->offset);

	/* Relaxed: a tunable orders nothing; whoever reads the old value waits as it used to. */
	ol_store_relaxed(&given[t - table], value);
	ol_store_relaxed(field, t->unit == ns ? ol_ticks_from_ns(value) : value);
}

/* Digits and nothing else: strtoull would take "-1" and " 1". */
static bool parse(const struct tunable *t, const char *text, uint64_t *value)
{
	uint64_t v = 0;

	if (t->unit == ns && !strcmp(text, "inf")) {
		*value = OL_NEVER;
		return true;
	}
	if (!*text)
		return false;
	for (; *text; text++) {
		if (!isdigit((unsigned char)*text) || v > t->most)
			return false;
		v = v * 10 + (uint64_t)(*text - '0');
	}
	*value = v;
	return v >= t->least && v <= t->most && (t->unit != power || !(v & (v - 1)));
}

const char *ol_set_tunable(const char *name, const char *value)
{
	const struct tunable *t = find(name);
	uint64_t v;

	if (!t)
		return no_such;
	if (!parse(t, value, &v))
		return t->expected;
	set(t, v);
	return 0;
}

bool ol_get_tunable(const char *name, char *text, size_t size)
{
	const struct tunable *t = find(name);
	uint64_t v;

	if (!t)
		return false;
	v = ol_load_relaxed(&given[t - table]);
	if (t->unit == ns && v == OL_NEVER)
		snprintf(text, size, "inf");
	else
		snprintf(text, size, "%" PRIu64, v);
	return true;
}

/* OVERLOCK_<NAME>_NS for a time, OVERLOCK_<NAME> for a number. */
static void variable(const struct tunable *t, char *name, size_t size)
{
	int n = snprintf(name, size, "OVERLOCK_%s%s", t->name, t->unit == ns ? "_NS" : "");

	for (int i = 0; i < n; i++)
		name[i] = (char)toupper((unsigned char)name[i]);
}

void ol_tuning_start(void)
{
	for (const struct tunable *t = table; t < table + TUNABLES; t++) {
		char name[64];
		const char *value, *wrong;

		set(t, t->preset);
		variable(t, name, sizeof(name));
		value = secure_getenv(name);
		wrong = value ? ol_set_tunable(t->name, value) : 0;
		if (wrong)
			fprintf(stderr, "overlock: %s=%s ignored: %s\n", name, value, wrong);
	}
}
