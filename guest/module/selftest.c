// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * At load, two kernel threads per CPU hammer every lock in turn; an update lost to a lock that does
 * not exclude shows in the count. Loading fails if a lock did.
 */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <overlock/ops.h>
#include "overlock.h"
#include "selftest.h"

static uint turns = 20000;
module_param(turns, uint, 0444);
MODULE_PARM_DESC(turns, "acquisitions per thread and lock in the self-test");

/* The locks that fit a kernel's spinlock; the build writes the list from locks.def. */
#define LOCK(id) extern const struct ol_lock_ops ol_ops_##id;
#include "fits4.h"
#undef LOCK
static const struct ol_lock_ops *const locks[] = {
#define LOCK(id) &ol_ops_##id,
#include "fits4.h"
#undef LOCK
};

/*
 * A module is told of no way to wake a CPU, so parking is polling, and a kick has nothing to do; nor
 * does it ask a hypervisor for another's turn.
 */

void ol_park(const u32 *word, u32 seen, u32 key, ol_ticks_t until)
{
	overlock_poll(word, seen, until);
}

void ol_kick(const u32 *word, u32 key, int n)
{
}

void ol_yield(void)
{
	cpu_relax();
}

void ol_yield_to(u32 id)
{
	cpu_relax();
}

void ol_yield_until(ol_ticks_t t)
{
	cpu_relax();
}

struct trial {
	const struct ol_lock_ops *ops;
	u32 word;
	u64 count; /* guarded by the lock */
	uint started;
	atomic_t ready;
	struct completion go, done; /* done: once per thread */
};

static void acquire(struct trial *t, uint turn)
{
	if (turn % 4 == 1 && t->ops->trylock(&t->word))
		return;
	if (turn % 4 == 2 && t->ops->timedlock && t->ops->timedlock(&t->word, ol_now() + 1000))
		return;
	t->ops->lock(&t->word);
}

/* A thread that had done all its turns before the next was started would have met nobody. */
static void wait_for_all(struct trial *t)
{
	atomic_inc(&t->ready);
	while (atomic_read(&t->ready) < t->started)
		cond_resched();
}

static int hammer(void *arg)
{
	struct trial *t = arg;
	uint turn;
	u64 n;

	wait_for_completion(&t->go);
	wait_for_all(t);
	for (turn = 0; turn < turns; turn++) {
		preempt_disable();
		acquire(t, turn);
		n = READ_ONCE(t->count);
		cpu_relax(); /* time for another to come in, if the lock lets it */
		WRITE_ONCE(t->count, n + 1);
		t->ops->unlock(&t->word);
		preempt_enable();
		cond_resched();
	}
	/* Not a return: nothing of this module may run once the last has been waited for. */
	kthread_complete_and_exit(&t->done, 0);
}

static void start_threads(struct trial *t, uint wanted)
{
	while (t->started < wanted) {
		if (IS_ERR(kthread_run(hammer, t, "overlock/%s/%u", t->ops->id, t->started)))
			break;
		t->started++;
	}
	complete_all(&t->go);
}

static bool holds(const struct ol_lock_ops *ops)
{
	struct trial t = { .ops = ops };
	u64 began = ol_now(), expected;
	uint waited;
	bool fine;

	init_completion(&t.go);
	init_completion(&t.done);
	start_threads(&t, 2 * num_online_cpus());
	for (waited = 0; waited < t.started; waited++)
		wait_for_completion(&t.done);
	expected = (u64)t.started * turns;
	fine = expected && t.count == expected && !ops->is_locked(&t.word);
	pr_info("overlock: %s: %llu of %llu acquisitions counted, %llu us: %s\n", ops->id, t.count,
		expected, (ol_now() - began) / NSEC_PER_USEC, fine ? "passed" : "FAILED");
	return fine;
}

static int __init overlock_init(void)
{
	uint i, tested = ARRAY_SIZE(locks), failed = 0;

	for (i = 0; i < ARRAY_SIZE(locks); i++)
		failed += !holds(locks[i]);
	failed += overlock_or_fail_test(&tested);
	failed += overlock_waits_test(&tested);
	pr_info("overlock: self-test: %u passed, %u failed\n", tested - failed, failed);
	return failed ? -EIO : 0;
}

static void __exit overlock_exit(void)
{
}

module_init(overlock_init);
module_exit(overlock_exit);
MODULE_DESCRIPTION("Spinlocks that keep working when vCPUs outnumber CPUs: self-test");
MODULE_LICENSE("Dual MIT/GPL");
