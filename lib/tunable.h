/* SPDX-License-Identifier: MIT */
#ifndef OL_TUNABLE_H
#define OL_TUNABLE_H
/* tunables.def as a table, and values from text: for the library, and for launchers of programs under it. */
#include <overlock/port/lists.h>

#include <stdbool.h>
#include <stddef.h>

enum ol_unit { OL_UNIT_ns, OL_UNIT_finite, OL_UNIT_count, OL_UNIT_power };

struct ol_tunable {
	const char *name;
	enum ol_unit unit;
	uint64_t preset, least, most;
	size_t offset; /* in struct ol_tuning */
	const char *expected;
};

enum {
#define OL_TUNABLE(name, ...) OL_TUNABLE_##name,
#include <overlock/tunables.def>
#undef OL_TUNABLE
	OL_TUNABLES
};

/* Stored in ticks. */
static inline bool ol_tunable_is_time(const struct ol_tunable *t)
{
	return t->unit == OL_UNIT_ns || t->unit == OL_UNIT_finite;
}

#pragma GCC visibility push(hidden)
extern const struct ol_tunable ol_tunables[OL_TUNABLES];

/* Digits, or `inf` for ns, which is UINT64_MAX; false if it is neither or out of range. */
bool ol_tunable_parse(const struct ol_tunable *t, const char *text, uint64_t *value);

/* OVERLOCK_<NAME>_NS for a time, OVERLOCK_<NAME> for a number. */
void ol_tunable_variable(const struct ol_tunable *t, char *name, size_t size);
#pragma GCC visibility pop
#endif
