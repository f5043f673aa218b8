/* SPDX-License-Identifier: MIT */
#include "params.h"
#include "number.h"
#include <stdio.h>
#include <string.h>

const struct param all_params[] = {
#define PARAM(workload, name, unit, preset, least, most, what)			\
	{ #workload, #name, #unit, NULL, preset, least, most, what,		\
	  offsetof(struct workload_params, workload##_##name) },
#define CHOICE(workload, name, values, what)					\
	{ #workload, #name, NULL, values, 0, 0, 0, what,			\
	  offsetof(struct workload_params, workload##_##name) },
#include "params.def"
	{ 0 },
};

static uint64_t *field(struct workload_params *params, const struct param *p)
{
	return (uint64_t *)(void *)((char *)params + p->offset);
}

static uint64_t converted(const struct param *p, double value, double unit_ns)
{
	if (strcmp(p->unit, "ns") == 0)
		value /= unit_ns;
	else if (strcmp(p->unit, "milli") == 0)
		value *= 1000;
	return (uint64_t)(value + 0.5);
}

void params_preset(struct workload_params *params, const char *workload, double unit_ns)
{
	memset(params, 0, sizeof(*params));
	for (const struct param *p = all_params; p->workload; p++)
		if (p->unit && strcmp(p->workload, workload) == 0)
			*field(params, p) = converted(p, p->preset, unit_ns);
}

static const struct param *find(const char *workload, const char *name)
{
	for (const struct param *p = all_params; p->workload; p++)
		if (strcmp(p->workload, workload) == 0 && strcmp(p->name, name) == 0)
			return p;
	return NULL;
}

/* The place of `value` among the choices, or -1. */
static int chosen(const char *choices, const char *value)
{
	size_t length = strlen(value);

	for (int i = 0;; i++) {
		size_t here = strcspn(choices, "|");

		if (here == length && strncmp(choices, value, length) == 0)
			return i;
		if (!choices[here])
			return -1;
		choices += here + 1;
	}
}

const char *params_set(struct workload_params *params, const char *workload, const char *name,
		       const char *value, double unit_ns)
{
	static char wrong[256];
	const struct param *p = find(workload, name);
	const char *error;
	double number;

	if (!p) {
		snprintf(wrong, sizeof(wrong), "%s has no parameter '%s'", workload, name);
		return wrong;
	}
	if (p->choices) {
		int place = chosen(p->choices, value);

		*field(params, p) = (uint64_t)place;
		snprintf(wrong, sizeof(wrong), "%s=%s: expected one of %s", name, value,
			 p->choices);
		return place < 0 ? wrong : NULL;
	}
	error = number_parse(&number, name, value, strcmp(p->unit, "count") == 0, p->least,
			     p->most);
	if (!error)
		*field(params, p) = converted(p, number, unit_ns);
	return error;
}

uint64_t params_get(const struct workload_params *params, const char *workload, const char *name,
		    uint64_t otherwise)
{
	const struct param *p = find(workload, name);

	return p ? *field((struct workload_params *)params, p) : otherwise;
}
