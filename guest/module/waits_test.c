// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The waits of <overlock/wait/> in a kernel: a thread on each CPU meets the others at every barrier, passes a latch,
 * takes its turns at a sequence, and waits for a word. Here nobody sleeps (selftest.c).
 */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <overlock/wait/latch.h>
#include <overlock/wait/sequence.h>
#include <meeting.h>
#include "selftest.h"

enum { ROUNDS = 100, MOST = 64 };

struct subject {
	const char *name;
	size_t size;		   /* of a barrier's place, which begins with how many meet */
	void (*meet)(void *place); /* or null, and the next are the test */
	void (*step)(u32 me, u32 round);
};

static struct trial {
	const struct subject *subject;
	void *place;
	u32 n;
	u32 came[MOST]; /* to which round, each written by its own thread */
	u64 turns;	/* guarded by the sequence */
	ol_latch_t latches[ROUNDS + 1];
	ol_sequence_t sequence;
	u32 word, never;
	atomic_t failed;
	struct completion done; /* once per thread */
} trial;

static void expect(bool as_it_should, const char *what)
{
	if (!as_it_should && !atomic_fetch_inc(&trial.failed))
		pr_info("overlock: waits: %s: %s\n", trial.subject->name, what);
}

static void expect_all(u32 round)
{
	u32 i;

	for (i = 0; i < trial.n; i++)
		expect(READ_ONCE(trial.came[i]) >= round, "a context passed too early");
}

static void pass_latch(u32 me, u32 round)
{
	ol_latch_t *latch = &trial.latches[round];

	ol_latch_arrive(latch, 1, trial.n);
	ol_latch_wait(latch, trial.n);
	expect(ol_latch_is_open(latch, trial.n), "a latch closed");
}

static void take_turn(u32 me, u32 round)
{
	u32 number = (round - 1) * trial.n + me;

	ol_sequence_await(&trial.sequence, number);
	expect(trial.turns == number, "a context came before its turn");
	trial.turns = number + 1;
	ol_sequence_advance(&trial.sequence, 1);
	ol_sequence_await(&trial.sequence, round * trial.n);
}

/* The first says that the round has begun, once all have come. */
static void await_word(u32 me, u32 round)
{
	ol_latch_t *latch = &trial.latches[round];

	ol_latch_arrive(latch, 1, trial.n);
	if (me == 0) {
		ol_latch_wait(latch, trial.n);
		ol_store_release(&trial.word, round);
		ol_wake_all(&trial.word);
	}
	expect(ol_wait_until(&trial.word, ol_has_reached, round, OL_NEVER), "no end of a wait");
	if (round == 1)
		expect(!ol_wait_until(&trial.never, ol_differs, 0, ol_after(1, ol_tune(lease))),
		       "a deadline was missed");
}

static const struct subject subjects[] = {
#define ENTRY(id)	{ #id, sizeof(id##_meeting), id##_meet },
#define BARRIER(id, where, ...)	MEETING_IF_##where(ENTRY(id))
#include <barriers.def>
#undef BARRIER
#undef ENTRY
	{ "latch", .step = pass_latch },
	{ "sequence", .step = take_turn },
	{ "until", .step = await_word },
};

static int take_steps(void *index)
{
	u32 me = (u32)(unsigned long)index, round;

	for (round = 1; round <= ROUNDS; round++) {
		preempt_disable();
		WRITE_ONCE(trial.came[me], round);
		if (trial.subject->meet)
			trial.subject->meet(trial.place);
		else
			trial.subject->step(me, round);
		expect_all(round);
		preempt_enable();
		cond_resched();
	}
	kthread_complete_and_exit(&trial.done, 0);
}

/* All or none: one would wait for ever for those that are not there. */
static bool start(void)
{
	struct task_struct *threads[MOST];
	u32 i = 0, made;
	int cpu;

	for_each_online_cpu(cpu) {
		if (i == trial.n)
			break;
		threads[i] = kthread_create(take_steps, (void *)(unsigned long)i, "waits/%u", i);
		if (IS_ERR(threads[i]))
			break;
		kthread_bind(threads[i++], cpu);
	}
	made = i;
	for (i = 0; i < made; i++) {
		if (made == trial.n)
			wake_up_process(threads[i]);
		else
			kthread_stop(threads[i]);
	}
	return made == trial.n;
}

static bool waits_rightly(const struct subject *subject)
{
	bool started;
	u32 i;

	memset(&trial, 0, sizeof(trial));
	trial.subject = subject;
	trial.n = min_t(u32, num_online_cpus(), MOST);
	init_completion(&trial.done);
	if (subject->meet) {
		trial.place = vzalloc(subject->size);
		if (!trial.place)
			return false;
		*(u32 *)trial.place = trial.n;
	}
	started = start();
	for (i = 0; started && i < trial.n; i++)
		wait_for_completion(&trial.done);
	vfree(trial.place);
	return started && !atomic_read(&trial.failed);
}

unsigned int overlock_waits_test(unsigned int *tested)
{
	unsigned int i, failed = 0;
	bool fine;

	*tested += ARRAY_SIZE(subjects);
	for (i = 0; i < ARRAY_SIZE(subjects); i++) {
		fine = waits_rightly(&subjects[i]);
		pr_info("overlock: waits: %s %s\n", subjects[i].name, fine ? "passed" : "FAILED");
		failed += !fine;
	}
	return failed;
}
