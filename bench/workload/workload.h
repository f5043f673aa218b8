/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef WORKLOAD_WORKLOAD_H
#define WORKLOAD_WORKLOAD_H
/*
 * What a workload is, and what it may ask of the platform that runs it: overlock-bench, a kernel, a
 * simulator. A workload is a header NAME.h here, a line in workloads.def, and lines for its
 * parameters in params.def. It uses the platform layer and the following, and nothing else:
 *
 *	struct NAME		what all its contexts share; all zero at first
 *	struct NAME_guarded	what one lock guards; all zero at first, one for each lock
 *	struct NAME_own		what a context keeps to itself; all zero when the context comes
 *
 *	void NAME_begin(run, w, own, me)	a context comes: once, before its first turn
 *	bool NAME_turn(run, w, own, me)		one turn; true if it counts as a unit of work
 *	const char *NAME_check(run, w, turns, inside)
 *
 * The check says null, or how exclusion failed, in one line. `turns` were counted; up to `inside`
 * contexts may since have begun another, so that stragglers need not be waited for.
 *
 * A turn ends: it waits for locks, or for a bounded time, but for nothing else that another context
 * must do, for that one may have gone. Between turns a context holds no lock, and may leave for good.
 *
 * The file that includes a workload defines first:
 *
 *	struct workload_lock	of which a workload uses the address only
 *	struct workload_me	the running context, with at least the members
 *		uint32_t index			its place, from 0: a context that comes for one that
 *						left has its index
 *		struct workload_random random	seeded, for the workload alone
 *	workload_acquire(me, lock), workload_release(me, lock)
 *	workload_burn(units)	burns CPU time, `units` of uint64_t: work, not waiting for a clock, so
 *				that time off the CPU is not mistaken for work done
 *	workload_is_asked(me)	the contexts are to leave together: rounds.h
 *	workload_leave(me)	this one has no further turn
 * and, if it is a simulator, in which work by itself takes no time:
 *	WORKLOAD_CHARGE(cost, n) n times what `cost` of sim/costs.def says
 */
#include "random.h"

struct workload_lock;
struct workload_me;

/* Every parameter of every workload, as NAME_parameter: times in units of workload_burn(). */
struct workload_params {
#define PARAM(workload, name, unit, preset, least, most, what)	uint64_t workload##_##name;
#define CHOICE(workload, name, values, what)			uint64_t workload##_##name;
#include "params.def"
#undef PARAM
#undef CHOICE
};

struct workload_run {
	struct workload_lock *locks; /* n_locks of them: the workload's parameter `locks`, else 1 */
	void *guarded;		     /* as many struct NAME_guarded */
	uint32_t n_locks;
	uint32_t contexts; /* that run at the same time */
	const struct workload_params *params;
	const struct workload_choice *zipf; /* of the locks, if the parameter `zipf` is not 0 */
	ol_ticks_t patience; /* the longest that a turn may wait for anything but a lock */
};
#endif
