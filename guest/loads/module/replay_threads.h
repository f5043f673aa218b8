/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef REPLAY_THREADS_H
#define REPLAY_THREADS_H
/*
 * Replays of recorded programs by kernel threads: bench/workload/replay_turns.h has the rest. For loop.c, which
 * has included loop.h, and whose struct workload_me it uses.
 */
#include <linux/hrtimer.h>
#include <linux/sched.h>
#include <replay_format.h>

static void replay_came(struct workload_me *me)
{
	me->worker->pass.began = rdtsc();
}

static bool replay_is_to_leave(void)
{
	return READ_ONCE(trial.phase) == OVER;
}

/* In steps, so that a thread that is to leave soon does. */
static void replay_sleep(struct workload_me *me, u64 ns)
{
	const u64 step = 20 * NSEC_PER_MSEC;

	while (ns && !replay_is_to_leave()) {
		u64 now = min(ns, step);
		ktime_t t = ns_to_ktime(now);

		set_current_state(TASK_INTERRUPTIBLE);
		schedule_hrtimeout(&t, HRTIMER_MODE_REL);
		ns -= now;
	}
}

/* The other threads of this CPU have it between two steps: the kernel may preempt none. */
static void replay_work(struct workload_me *me, u64 units)
{
	while (units > trial.step && !replay_is_to_leave()) {
		workload_burn(trial.step);
		cond_resched();
		units -= trial.step;
	}
	workload_burn(min(units, trial.step));
}

static void replay_pass_over(struct workload_me *me)
{
	struct pass *pass = &me->worker->pass;

	if (!pass->over)
		pass->ended = rdtsc();
	pass->over = true;
}

#include <replay_turns.h>
#endif
