/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "plan.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char wrong[256];

static const char *grow(void **array, size_t n, size_t size)
{
	void *more = realloc(*array, (n + 1) * size);

	if (!more)
		return "out of memory";
	*array = more;
	return NULL;
}

const char *variant_tune(const struct variant *variant)
{
	static char presets[][32] = {
#define OL_TUNABLE(name, unit, preset, least, most, what) "",
#include <overlock/tunables.def>
#undef OL_TUNABLE
	};
	static const char *const names[] = {
#define OL_TUNABLE(name, unit, preset, least, most, what) #name,
#include <overlock/tunables.def>
#undef OL_TUNABLE
	};
	char settings[256], *rest = settings, *setting;
	const char *error = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!presets[i][0]) /* the first call finds what the environment had set */
			ol_get_tunable(names[i], presets[i], sizeof(presets[i]));
		ol_set_tunable(names[i], presets[i]);
	}
	if (strlen(variant->settings) >= sizeof(settings))
		return "too many settings for one lock";
	strcpy(settings, variant->settings);
	while (!error && (setting = strsep(&rest, "@"))) {
		char *value = strchr(setting, '=');

		if (!setting[0])
			continue;
		if (!value)
			return "a setting is NAME=VALUE, as in preemptable_ticket@tau=0";
		*value++ = '\0';
		error = ol_set_tunable(setting, value);
	}
	return error;
}

const char *plan_add_variant(struct plan *plan, const char *text)
{
	const char *error =
		grow((void **)&plan->variants, plan->n_variants, sizeof(plan->variants[0]));
	size_t length = strcspn(text, "@");
	struct variant v = { .name = text, .settings = text + length + (text[length] == '@') };
	char *id;

	if (error)
		return error;
	id = strndup(text, length);
	if (!id)
		return "out of memory";
	v.subject = subject_find(id);
	if (!v.subject.ops)
		snprintf(wrong, sizeof(wrong), "there is no lock '%s'; `overlock locks` lists them",
			 id);
	free(id);
	if (!v.subject.ops)
		return wrong;
	plan->variants[plan->n_variants++] = v;
	return variant_tune(&v);
}

const char *plan_add_threads(struct plan *plan, const char *list)
{
	const char *p = list;

	do {
		char *end;
		const char *error =
			grow((void **)&plan->threads, plan->n_threads, sizeof(plan->threads[0]));
		unsigned long n;

		if (error)
			return error;
		errno = 0;
		n = strtoul(p, &end, 10);
		if (end == p || (*end && *end != ',') || errno || n < 1 || n > 1000000) {
			snprintf(wrong, sizeof(wrong),
				 "'%s' is not a list of threads from 1 to 1000000, as in 4,8,16",
				 list);
			return wrong;
		}
		plan->threads[plan->n_threads++] = (unsigned)n;
		p = *end ? end + 1 : end;
	} while (*p);
	return NULL;
}

/* xorshift64*: Vigna 2016; any seed but 0 */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 2685821657736338717u;
}

const char *plan_shuffle(struct plan *plan)
{
	size_t n = plan->n_variants * plan->n_threads;

	if (!plan->places) {
		plan->places = calloc(n, sizeof(plan->places[0]));
		if (!plan->places)
			return "out of memory";
		for (size_t i = 0; i < n; i++)
			plan->places[i] = (struct place){ i % plan->n_variants,
							  plan->threads[i / plan->n_variants] };
	}
	for (size_t i = n; i > 1; i--) { /* Fisher-Yates */
		size_t j = next_random(&plan->seed) % i;
		struct place swap = plan->places[i - 1];

		plan->places[i - 1] = plan->places[j];
		plan->places[j] = swap;
	}
	return NULL;
}
