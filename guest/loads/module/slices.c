// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * How often a holder or a waiter had lost its CPU, of the loop's lock, whichever it is: two
 * definitions, each under its own name (docs/counters.md).
 *
 * A slice is what the kernel knows of it; else the time until more was stolen, as each tick notes
 * it; else what the clock shows: a timer on each CPU looks at it every quarter of a millisecond, and
 * where it was not looked at for a millisecond a new slice has begun. So gaps below that are missed,
 * and who disabled interrupts for so long is taken for one without a CPU.
 *
 * Ouyang & Lange 2013 looks whether the lock is held once somebody has waited for a microsecond. Nobody can look from
 * within spin_lock(): so each new holder goes through the last sections, kept under the lock.
 */
#include <linux/kernel_stat.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <asm/tsc.h>
#include <overlock/port.h>
#include "loop.h"

bool preemptions;
module_param(preemptions, bool, 0444);
MODULE_PARM_DESC(preemptions, "count how often a holder or a waiter had lost its CPU");

/* Ouyang & Lange 2013, section 3: 2048 polls, "roughly 1 us". More where all is slower, as in a translated guest. */
static ulong stall_ns = 1000;
module_param(stall_ns, ulong, 0444);
MODULE_PARM_DESC(stall_ns, "a wait that lasts longer is a stall");

#define LOOK_NS		250000
#define GAP_NS		1000000

static u64 cycles(u64 ns)
{
	return div_u64(ns * tsc_khz, 1000000);
}

static u64 stolen(int cpu)
{
	return kcpustat_cpu(cpu).cpustat[CPUTIME_STEAL];
}

/* A host that tells of stolen time has stolen some before a module can be inserted. */
static bool stolen_is_told(void)
{
	static int told = -1;
	int cpu;

	if (told < 0) {
		told = 0;
		for_each_online_cpu(cpu)
			told |= stolen(cpu) > 0;
	}
	return told;
}

const char *slices_source(void)
{
	if (ol_slice_id())
		return "told";
	return stolen_is_told() ? "steal" : "gaps";
}

static void look_at_clock(struct worker *worker, u64 now)
{
	u64 looked = READ_ONCE(worker->looked);

	if (looked && now > looked && now - looked > cycles(GAP_NS))
		WRITE_ONCE(worker->slices, worker->slices + 1);
	WRITE_ONCE(worker->looked, now);
}

/* Another number in another slice. */
u64 slice_of(struct worker *worker, u64 now)
{
	u64 id = ol_slice_id();

	if (id)
		return id;
	if (stolen_is_told())
		return stolen(raw_smp_processor_id());
	look_at_clock(worker, now);
	return READ_ONCE(worker->slices);
}

static enum hrtimer_restart tick(struct hrtimer *timer)
{
	look_at_clock(container_of(timer, struct worker, ticker), rdtsc());
	hrtimer_forward_now(timer, ns_to_ktime(LOOK_NS));
	return HRTIMER_RESTART;
}

/* By the worker itself, on its CPU. */
void slices_watch(struct worker *worker)
{
	if (!preemptions || strcmp(slices_source(), "gaps"))
		return;
	set_up(&worker->ticker, tick, HRTIMER_MODE_REL_PINNED_HARD);
	hrtimer_start(&worker->ticker, ns_to_ktime(LOOK_NS), HRTIMER_MODE_REL_PINNED_HARD);
}

void slices_unwatch(struct worker *worker)
{
	if (worker->ticker.function)
		hrtimer_cancel(&worker->ticker);
}

static bool counted(void)
{
	return READ_ONCE(trial.phase) == COUNTED;
}

struct wait wait_begun(struct worker *worker, struct workload_lock *l)
{
	struct wait w = { .began = rdtsc() };
	u32 others = (u32)atomic_fetch_inc(&l->waiting);

	w.slice = slice_of(worker, w.began);
	if (counted()) {
		worker->waits++;
		worker->queue += others;
		worker->queue_most = max(worker->queue_most, others);
	}
	return w;
}

/* What the lock was at that moment; called with it held. */
static enum event found_at(const struct workload_lock *l, u64 moment)
{
	u64 n = l->n_sections, back;

	for (back = 1; back <= min_t(u64, n, SECTIONS); back++) {
		const struct section *s = &l->sections[(n - back) % SECTIONS];

		if (moment >= s->to)
			return COUNT_STALL_FREE;
		if (moment >= s->from)
			return COUNT_STALL_HELD;
	}
	return COUNT_STALL; /* it is too long ago: neither */
}

/* With the lock held; gives the time. */
u64 wait_over(struct worker *worker, struct workload_lock *l, struct wait w)
{
	u64 now = rdtsc(), stall = cycles(stall_ns);
	bool lost = slice_of(worker, now) != w.slice;
	enum event found;

	atomic_dec(&l->waiting);
	if (!counted())
		return now;
	worker->events[COUNT_ACQUIRE]++;
	worker->events[COUNT_LWP] += lost;
	worker->waited += now - w.began;
	if (now - w.began <= stall)
		return now;
	found = found_at(l, w.began + stall);
	worker->events[COUNT_STALL]++;
	if (found != COUNT_STALL)
		worker->events[found]++;
	return now;
}

/* Just before the release. */
void section_over(struct worker *worker, struct workload_lock *l, u64 from, u64 slice)
{
	u64 now = rdtsc();

	if (counted() && slice_of(worker, now) != slice)
		worker->events[COUNT_LHP]++;
	l->sections[l->n_sections++ % SECTIONS] = (struct section){ from, now };
}
