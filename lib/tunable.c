/* SPDX-License-Identifier: MIT */
#include "tunable.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define OL_EXPECTED_ns(least, most)	"expected a time of " #least " to " #most " ns, or inf"
#define OL_EXPECTED_finite(least, most) "expected a time of " #least " to " #most " ns"
#define OL_EXPECTED_count(least, most)	"expected a number from " #least " to " #most
#define OL_EXPECTED_power(least, most)	"expected a power of two from " #least " to " #most

const struct ol_tunable ol_tunables[OL_TUNABLES] = {
#define OL_TUNABLE(name, unit, preset, least, most, ...)                                           \
	{ #name,                                                                                   \
	  OL_UNIT_##unit,                                                                          \
	  preset,                                                                                  \
	  least,                                                                                   \
	  most,                                                                                    \
	  offsetof(struct ol_tuning, name),                                                        \
	  OL_EXPECTED_##unit(least, most) },
#include <overlock/tunables.def>
#undef OL_TUNABLE
};

/* What the list says of itself is true: no default is nonsense, and none is without a source. */
#define OL_HOLDS_ns(v)	  1
#define OL_HOLDS_finite(v) 1
#define OL_HOLDS_count(v) 1
#define OL_HOLDS_power(v) (((v) & ((v) - 1)) == 0)
#define OL_TUNABLE(name, unit, preset, least, most, when, source, what)                            \
	_Static_assert((uint64_t)(preset) - (least) <= (uint64_t)(most) - (least),                 \
		       #name ": the default is out of range");                                     \
	_Static_assert(OL_HOLDS_##unit(preset), #name ": the default is not of its unit");         \
	_Static_assert(sizeof(source) > 3, #name ": where is its default from?");
#include <overlock/tunables.def>
#undef OL_TUNABLE

/* Digits and nothing else: strtoull would take "-1" and " 1". */
bool ol_tunable_parse(const struct ol_tunable *t, const char *text, uint64_t *value)
{
	uint64_t v = 0;

	if (t->unit == OL_UNIT_ns && !strcmp(text, "inf")) {
		*value = UINT64_MAX;
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
	return v >= t->least && v <= t->most && (t->unit != OL_UNIT_power || !(v & (v - 1)));
}

void ol_tunable_variable(const struct ol_tunable *t, char *name, size_t size)
{
	int n = snprintf(name, size, "OVERLOCK_%s%s", t->name, ol_tunable_is_time(t) ? "_NS" : "");

	for (int i = 0; i < n; i++)
		name[i] = (char)toupper((unsigned char)name[i]);
}
