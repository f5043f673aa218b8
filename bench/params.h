/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PARAMS_H
#define BENCH_PARAMS_H
/* The parameters of workloads: params.def as a table. */
#include <stdbool.h>
#include <workload.h>

struct param {
	const char *workload, *name;
	const char *unit;    /* ns, count or milli; null: a choice */
	const char *choices; /* separated by | */
	double preset, least, most;
	const char *what;
	size_t offset; /* in struct workload_params */
};

/* All, ended by a null workload. */
extern const struct param all_params[];

/* Sets those of the workload to their presets; others to 0. */
void params_preset(struct workload_params *params, const char *workload, double unit_ns);

/* Null, or a line that says what was wrong, valid until the next call. */
const char *params_set(struct workload_params *params, const char *workload, const char *name,
		       const char *value, double unit_ns);

/* The value of a parameter that only some workloads have. */
uint64_t params_get(const struct workload_params *params, const char *workload, const char *name,
		    uint64_t otherwise);
#endif
