/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef MEETINGS_H
#define MEETINGS_H
/*
 * Threads that meet at a barrier, of bench/workload/meeting.h: to acquire one is to wait at it. For loop.c, which has
 * included loop.h, and whose struct workload_me it uses.
 *
 * A thread has preemption disabled while it waits, as every wait in a kernel wants. Between two rounds others may have
 * its CPU.
 */
#include <linux/irqflags.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <asm/tsc.h>
#include <meeting.h>

static char *barrier_name = "barrier";
module_param_named(barrier, barrier_name, charp, 0444);
MODULE_PARM_DESC(barrier,
		 "where the threads of `rounds` meet: a name of barriers.def, or busted_barrier");

static bool irqs_off;
module_param(irqs_off, bool, 0444);
MODULE_PARM_DESC(irqs_off,
		 "meet with interrupts disabled, as in stop_machine(): nothing but a kick wakes");

/* To show that the check works: it opens before the last one has come. */
MEETING(busted_barrier, ol_barrier_t, ol_barrier_wait(b, n > 1 ? n - 1 : n))

static const struct meeting {
	const char *name;
	size_t size;
	void (*meet)(void *object);
} meetings[] = {
#define ENTRY(id)	{ #id, sizeof(id##_meeting), id##_meet },
#define BARRIER(id, where, ...)	MEETING_IF_##where(ENTRY(id))
#include <barriers.def>
#undef BARRIER
	ENTRY(busted_barrier)
#undef ENTRY
};

static const struct meeting *meeting;
static void *meeting_place; /* begins with how many meet */

/* Of whole pages: its lines are its own. */
static int make_meeting_place(u32 contexts)
{
	uint i;

	for (i = 0; i < ARRAY_SIZE(meetings); i++)
		if (!strcmp(meetings[i].name, barrier_name))
			meeting = &meetings[i];
	if (!meeting) {
		pr_err("overlock_loop: there is no barrier %s\n", barrier_name);
		return -EINVAL;
	}
	meeting_place = vzalloc(meeting->size);
	if (!meeting_place)
		return -ENOMEM;
	*(u32 *)meeting_place = contexts;
	return 0;
}

static void free_meeting_place(void)
{
	vfree(meeting_place);
}

static void meet(struct workload_me *me)
{
	bool is_timed = sample && !workload_random_below(&me->sampling, sample);
	u64 began = is_timed ? rdtsc() : 0;

	preempt_disable();
	if (irqs_off)
		local_irq_disable();
	meeting->meet(meeting_place);
	if (irqs_off)
		local_irq_enable();
	preempt_enable();
	if (is_timed && READ_ONCE(trial.phase) == COUNTED)
		record(&me->worker->wait, rdtsc() - began);
}

/* They leave together: who left earlier would be missed. */
static bool workload_is_asked(const struct workload_me *me)
{
	return READ_ONCE(trial.phase) == OVER;
}

static void workload_leave(struct workload_me *me)
{
	me->left = true;
}

/* What the workload's text calls them. */
#define workload_acquire(me, locks)	meet(me)
#define workload_release(me, locks)	((void)(locks))
#include "rounds.h"
#undef workload_acquire
#undef workload_release

static void rounds_turns(struct worker *worker, void *own)
{
	struct workload_me *me = worker->me;

	rounds_begin(&run, shared, own, me);
	while (!me->left) {
		mark(worker);
		if (rounds_turn(&run, shared, own, me))
			WRITE_ONCE(worker->turns, worker->turns + 1);
		cond_resched();
	}
}

static const char *rounds_verdict(u64 turns, uint inside)
{
	const char *wrong = rounds_check(&run, shared, turns, inside);

	return wrong ?: inside ? "a context never came back from the barrier" : NULL;
}
#endif
