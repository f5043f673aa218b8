/* SPDX-License-Identifier: MIT */
#ifndef BENCH_REPLAY_PLAN_H
#define BENCH_REPLAY_PLAN_H
/* The file of overlock-bench --replay. */
#include <replay_format.h>

/* Null before replay_load(). */
extern struct replay_head *replay_plan;

/* Null, or a line that says what is wrong with the file. */
const char *replay_load(const char *path);

/* Once it is known how long a unit takes. */
void replay_convert(double unit_ns);
#endif
