/* SPDX-License-Identifier: MIT */
#ifndef BENCH_THROW_H
#define BENCH_THROW_H
/*
 * throw, Dice & Kogan 2019, section 4.2: `try { throw 20; } catch (int) {}`, back to back. It contended on mutexes
 * of the C++ runtime and of the loader. Whether it still does is counted by overlock-throw; with
 * gcc 12 and glibc 2.35 the search for exception tables takes none. The lock under test has no part
 * in it: throw_locked.h is the workload that does.
 */
#include "throwing.h"
#include <workload.h>

struct throw
{
	char nothing;
};

struct throw_guarded {
	char nothing;
};

struct throw_own {
	char nothing;
};

static inline void throw_begin(const struct workload_run *run, struct throw *w,
			       struct throw_own *own, struct workload_me *me)
{
	(void)run, (void)w, (void)own, (void)me;
}

static inline bool throw_turn(const struct workload_run *run, struct throw *w,
			      struct throw_own *own, struct workload_me *me)
{
	(void)run, (void)w, (void)own, (void)me;
	throwing_once(NULL);
	return true;
}

static inline const char *throw_check(const struct workload_run *run, const struct throw *w,
				      uint64_t turns, unsigned inside)
{
	(void)run, (void)w, (void)turns, (void)inside;
	return NULL;
}
#endif
