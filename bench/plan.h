/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PLAN_H
#define BENCH_PLAN_H
/* What is to be measured: variants of locks times numbers of threads, shuffled anew every round. */
#include "subjects.h"

/* A lock and the tunables it is to run with: "preemptable_ticket@tau=0@spin=500". */
struct variant {
	const char *name; /* as given */
	struct subject subject;
	const char *settings; /* "tau=0@spin=500", or empty */
};

struct place {
	size_t variant;
	unsigned threads;
};

struct plan {
	struct variant *variants;
	size_t n_variants;
	unsigned *threads;
	size_t n_threads;
	struct place *places; /* n_variants * n_threads of them, once plan_shuffle() was called */
	uint64_t seed;
};

/* Each returns null, or a line that says what was wrong. */
const char *plan_add_variant(struct plan *plan, const char *text);
const char *plan_add_threads(struct plan *plan, const char *list);
const char *plan_shuffle(struct plan *plan);

/* Sets the library's tunables to what they were at start, then as the variant wants them. */
const char *variant_tune(const struct variant *variant);
#endif
