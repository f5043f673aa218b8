// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * <overlock/or_fail.h> in a kernel: a CPU that waits for itself, in one context or in two, a holder
 * that does not release, two CPUs that wait for each other. Two kernel threads, each bound to its
 * CPU, take the steps together, and interrupts are disabled where two wait.
 */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <overlock/lock/rota.h>
#include <overlock/lock/preemptable_ticket.h>
#include <overlock/lock/tas.h>
#include <overlock/or_fail.h>
#include "selftest.h"

struct calls {
	const char *id;
	int (*lock)(void *l, ol_ticks_t until);
	int (*unlock)(void *l);
};

#define CALLS(id)							\
	OL_DEFINE_OR_FAIL_timed(id)					\
	static int lock_##id(void *l, ol_ticks_t until)			\
	{								\
		return ol_##id##_lock_or_fail(l, until);		\
	}								\
	static int unlock_##id(void *l)					\
	{								\
		return ol_##id##_unlock_or_fail(l);			\
	}								\
	static const struct calls id = { #id, lock_##id, unlock_##id };

CALLS(rota)
CALLS(preemptable_ticket)
CALLS(tas)

static const struct calls *const every[] = { &rota, &preemptable_ticket, &tas };

/* Two CPUs' trial of one lock; locks are four bytes. */
static struct trial {
	const struct calls *calls;
	u32 a, b;
	atomic_t arrived;
	int errors[2];
	atomic_t failed;
	struct irq_work interrupt;
	bool interrupted;
	struct completion done; /* once per thread */
} trial;

static int lock(u32 *l, ol_ticks_t until)
{
	return trial.calls->lock(l, until);
}

static int unlock(u32 *l)
{
	return trial.calls->unlock(l);
}

static void expect(bool as_it_should, const char *what)
{
	if (as_it_should)
		return;
	pr_info("overlock: lock_or_fail: %s: %s\n", trial.calls->id, what);
	atomic_inc(&trial.failed);
}

/* Waits for the other thread, which is on another CPU. */
static void meet(void)
{
	int all = (atomic_inc_return(&trial.arrived) + 1) & ~1;

	while (atomic_read(&trial.arrived) < all)
		cpu_relax();
}

static void waits_for_itself(void)
{
	expect(!lock(&trial.a, OL_NEVER), "a free lock fails");
	expect(lock(&trial.a, OL_NEVER) == -EDEADLK, "a CPU does not see that it holds the lock");
	expect(!unlock(&trial.a), "its own lock is not its own");
	expect(unlock(&trial.a) == -EPERM, "releases what it does not hold");
}

static void interrupt_wants_both(struct irq_work *work)
{
	expect(lock(&trial.a, OL_NEVER) == -EDEADLK, "an interrupt waits for what it interrupted");
	expect(!lock(&trial.b, OL_NEVER) && !unlock(&trial.b), "an interrupt gets no free lock");
	WRITE_ONCE(trial.interrupted, true);
}

static void is_interrupted(void)
{
	expect(!lock(&trial.a, OL_NEVER), "a free lock fails");
	irq_work_queue(&trial.interrupt);
	while (!READ_ONCE(trial.interrupted))
		cpu_relax();
	expect(!unlock(&trial.a), "an interrupt took what was held");
}

static void waits_in_vain(unsigned int me)
{
	if (!me)
		expect(!lock(&trial.a, OL_NEVER), "a free lock fails");
	meet();
	if (me)
		expect(lock(&trial.a, ol_now() + 3 * NSEC_PER_MSEC) == -ETIMEDOUT, "no time-out");
	meet();
	if (!me)
		expect(!unlock(&trial.a), "its own lock is not its own");
}

static void wait_for_each_other(unsigned int me)
{
	u32 *first = me ? &trial.b : &trial.a, *second = me ? &trial.a : &trial.b;

	expect(!lock(first, OL_NEVER), "a free lock fails");
	meet();
	trial.errors[me] = lock(second, OL_NEVER);
	if (!trial.errors[me])
		expect(!unlock(second), "its own lock is not its own");
	expect(!unlock(first), "its own lock is not its own");
	meet();
	expect(!trial.errors[me] || trial.errors[me] == -EDEADLK, "another error");
	expect(trial.errors[0] || trial.errors[1], "no error");
}

static int take_steps(void *index)
{
	unsigned int me = (unsigned long)index;
	unsigned long flags;

	preempt_disable();
	meet();
	if (!me) {
		waits_for_itself();
		is_interrupted();
	}
	meet();
	local_irq_save(flags);
	waits_in_vain(me);
	wait_for_each_other(me);
	local_irq_restore(flags);
	preempt_enable();
	kthread_complete_and_exit(&trial.done, 0);
}

static bool start(void)
{
	struct task_struct *threads[2];
	unsigned int i, cpu = cpumask_first(cpu_online_mask);

	for (i = 0; i < 2; i++) {
		threads[i] = kthread_create(take_steps, (void *)(unsigned long)i, "or_fail/%u", i);
		if (IS_ERR(threads[i])) {
			if (i)
				kthread_stop(threads[0]);
			return false;
		}
		kthread_bind(threads[i], cpu);
		cpu = cpumask_next(cpu, cpu_online_mask);
	}
	for (i = 0; i < 2; i++)
		wake_up_process(threads[i]);
	return true;
}

static bool rows_are_empty(void)
{
	u32 id = ol_held_last();

	while (id && !ol_held_of(id)->held && !ol_held_of(id)->moves)
		id--;
	return !id;
}

static bool fails_rightly(const struct calls *calls)
{
	memset(&trial, 0, sizeof(trial));
	trial.calls = calls;
	init_irq_work(&trial.interrupt, interrupt_wants_both);
	init_completion(&trial.done);
	if (!start())
		return false;
	wait_for_completion(&trial.done);
	wait_for_completion(&trial.done);
	return !atomic_read(&trial.failed) && rows_are_empty();
}

unsigned int overlock_or_fail_test(unsigned int *tested)
{
	unsigned int i, failed = 0;
	bool fine;

	if (num_online_cpus() < 2) {
		pr_info("overlock: lock_or_fail: not tested, for there is one CPU\n");
		return 0;
	}
	*tested += ARRAY_SIZE(every);
	for (i = 0; i < ARRAY_SIZE(every); i++) {
		fine = fails_rightly(every[i]);
		pr_info("overlock: lock_or_fail: %s %s\n", every[i]->id,
			fine ? "passed" : "FAILED");
		failed += !fine;
	}
	return failed;
}
