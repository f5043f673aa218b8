/* SPDX-License-Identifier: MIT */
#ifndef BENCH_REPLAY_PLAN_H
#define BENCH_REPLAY_PLAN_H
/*
 * What `overlock bench --replay` makes of a trace (src/overlock_tools/trace/plan.py): for each thread the
 * operations that it repeats. Each ends a stretch of sleep, then work. The file is in this machine's byte order: it
 * lives as long as the measurement.
 */
#include <stdbool.h>
#include <stdint.h>

enum { REPLAY_THREADS = 1024, REPLAY_LOCKS = 65536 };
enum replay_kind { REPLAY_ACQUIRE, REPLAY_RELEASE, REPLAY_NOTHING, REPLAY_KINDS };

struct replay_op {
	uint64_t idle_ns;
	uint64_t work; /* ns in the file, then units of workload_burn() */
	uint32_t lock, kind;
};

struct replay_thread {
	uint64_t first, n; /* of the operations */
};

struct replay_head {
	char magic[8];
	uint32_t threads, locks;
	uint64_t ops;
	struct replay_thread of[REPLAY_THREADS];
	struct replay_op op[];
};

/* Null before replay_load(). */
extern struct replay_head *replay_plan;

/* Null, or a line that says what is wrong with the file. */
const char *replay_load(const char *path);

/* Once it is known how long a unit takes. */
void replay_convert(double unit_ns);
#endif
