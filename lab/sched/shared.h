/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef SCHED_SHARED_H
#define SCHED_SHARED_H
/* What overlock-sched and its BPF programs share. */
#include "slot.h"
#include "times.h"

/*
 * What is counted, on each CPU; the name is the one in the JSON.
 *	slices		that began
 *	taken		that ended because they were over
 *	slept, yielded	that the thread ended itself
 *	interrupted	times that a real-time thread or the kernel came between; the slice went on
 *	broken		that ended before their end for such a reason
 *	alone		ends that came while nobody wanted the CPU, or only who had had more of it
 *	deferred	ends put off because the thread asked; deferred_ns by how much
 *	overdue		threads that had to leave when that was over, still asking
 *	named		times that a thread named another to run in its place
 *	led		that the other was run first
 *	unled		that it was not in the queue, or had had too much of the CPU already
 *	within		of those taken: at most 50 us from the published end
 */
#define SCHED_COUNTS(COUNT)                                                          \
	COUNT(slices) COUNT(taken) COUNT(slept) COUNT(yielded) COUNT(interrupted)    \
	COUNT(broken) COUNT(alone) COUNT(deferred) COUNT(deferred_ns) COUNT(overdue) \
	COUNT(named) COUNT(led) COUNT(unled) COUNT(within)

#define WITHIN_NS	50000

struct sched_stats {
#define COUNT(name)	__u64 name;
	SCHED_COUNTS(COUNT)
#undef COUNT
	__u64 early[PLACES], after[PLACES]; /* of those taken: from the published end */
};
#endif
