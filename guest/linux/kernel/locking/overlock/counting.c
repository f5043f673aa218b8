// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Who held a lock that others stalled for, who lost its CPU, and how long it all took.
 *
 * Stalls (Ouyang & Lange 2013, table 1): after a microsecond a waiter looks whether the lock is
 * held. The paper put the holder's name into the lock; four bytes have no room for it, so each CPU
 * notes what it holds, and who stalls looks through the notes of all.
 *
 * Preemptions (Teabe et al. 2017, section 2.3.2): acquired in one slice and released in another, or
 * a ticket taken in one and the lock acquired in another; where a lock counts no tickets, the wait
 * begun. A slice is what the hypervisor says it is, else the time until more of it was stolen.
 * Where nothing tells, who polls and does not come to look again for a millisecond was off its CPU;
 * of a holder, who does not look, the whole section is taken. That takes a section of a millisecond
 * for a lost CPU.
 *
 * All of a CPU's is changed by that CPU only, with preemption disabled. An interrupt may come
 * between any two steps; it leaves everything as it was, and takes only what is not taken.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched/cputime.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <asm/paravirt.h>
#include "counting.h"
#include "overlock.h"
#include "times.h"

/*
 * Ouyang & Lange 2013, section 3: 2048 polls, "roughly 1 us". More where all is slower, as in a
 * translated guest.
 */
static ulong stall_ns = 1000;
module_param(stall_ns, ulong, 0644);
MODULE_PARM_DESC(stall_ns, "a wait that lasts longer is a stall");

enum { GAP_NS = 1000000 };
enum { MOST_HELD = 24 }; /* of a CPU at once; more are not noted */

enum { NOT_STALLED, FOUND_HELD, FOUND_FREE };

struct held {
	const void *lock;
	u64 since, slice;
};

static DEFINE_PER_CPU(struct held[MOST_HELD], held);
static DEFINE_PER_CPU(struct overlock_wait *, waiting);

struct times {
	u64 wait_ns, spin_ns, hold_ns;
};

static DEFINE_PER_CPU(struct times, times);
static DEFINE_PER_CPU(struct overlock_times, holds_took);

static bool stolen_is_told(void)
{
	return static_key_enabled(&paravirt_steal_enabled);
}

/* Another number in another slice; 0 where nothing tells. */
static u64 slice_now(void)
{
	u64 id = ol_slice_id();

	if (id || !stolen_is_told())
		return id;
	return paravirt_steal_clock(raw_smp_processor_id()) + 1;
}

static bool was_lost(u64 slice, u64 looked, u64 now)
{
	u64 present = slice_now();

	return present ? slice != present : now - looked > GAP_NS;
}

static void note(const void *lock, u64 now)
{
	struct held *h = *this_cpu_ptr(&held);
	int i;

	for (i = 0; i < MOST_HELD; i++) {
		if (h[i].lock)
			continue;
		WRITE_ONCE(h[i].lock, lock); /* others look */
		barrier();		     /* an interrupt takes the place until it is taken */
		h[i].since = now;
		h[i].slice = slice_now();
		return;
	}
}

static bool holds(int cpu, const void *lock)
{
	const struct held *h = per_cpu(held, cpu);
	int i;

	for (i = 0; i < MOST_HELD; i++)
		if (READ_ONCE(h[i].lock) == lock)
			return true;
	return false;
}

static bool somebody_holds(const void *lock)
{
	int cpu;

	for_each_online_cpu(cpu)
		if (holds(cpu, lock))
			return true;
	return false;
}

static void look_for_holder(struct overlock_wait *w)
{
	w->stalled = somebody_holds(w->lock) ? FOUND_HELD : FOUND_FREE;
}

void overlock_wait_begin(struct overlock_wait *w, const void *lock)
{
	*w = (struct overlock_wait){
		.outer = this_cpu_read(waiting),
		.lock = lock,
		.slice = slice_now(),
	};
	w->since = ol_now();
	w->looked = w->since;
	this_cpu_write(waiting, w);
}

/* The platform layer's ol_relax(), when it is counted. */
void overlock_polled(void)
{
	struct overlock_wait *w = this_cpu_read(waiting);
	u64 now;

	if (!w)
		return;
	now = ol_now();
	w->polled = true;
	w->lost |= was_lost(w->slice, w->looked, now);
	w->slice = slice_now();
	w->looked = now;
	if (!w->stalled && now - w->since > READ_ONCE(stall_ns))
		look_for_holder(w);
}

void overlock_queues(void)
{
	struct overlock_wait *w = this_cpu_read(waiting);

	if (!w)
		return;
	w->lost = false;
	w->slice = slice_now();
	w->looked = ol_now();
}

/* Who goes to sleep will have waited for long enough. */
void overlock_sleeps(void)
{
	struct overlock_wait *w = this_cpu_read(waiting);

	if (!w)
		return;
	overlock_polled();
	if (!w->stalled)
		look_for_holder(w);
	w->asleep -= ol_now();
}

void overlock_woke(void)
{
	struct overlock_wait *w = this_cpu_read(waiting);

	if (!w)
		return;
	w->looked = ol_now();
	w->slice = slice_now();
	w->asleep += w->looked;
}

static void count_wait(const struct overlock_wait *w, u64 now)
{
	u64 waited = now - w->since;

	ol_count(OL_ACQUIRE);
	if (!w->polled)
		return; /* it was free */
	this_cpu_add(times.wait_ns, waited);
	this_cpu_add(times.spin_ns, waited - w->asleep);
	if (w->lost || was_lost(w->slice, w->looked, now))
		ol_count(OL_LWP);
	if (waited <= READ_ONCE(stall_ns))
		return;
	ol_count(OL_STALL);
	if (w->stalled == FOUND_HELD)
		ol_count(OL_STALL_HELD);
	else if (w->stalled == FOUND_FREE)
		ol_count(OL_STALL_FREE);
}

void overlock_wait_end(struct overlock_wait *w)
{
	u64 now = ol_now();

	this_cpu_write(waiting, w->outer);
	count_wait(w, now);
	note(w->lock, now);
}

void overlock_tried(const void *lock, bool taken)
{
	if (!taken) {
		ol_count(OL_TRY_FAIL);
		return;
	}
	ol_count(OL_ACQUIRE);
	note(lock, ol_now());
}

/* Before the release: then it is another's. Those noted last are let go first, as a rule. */
void overlock_let_go(const void *lock)
{
	struct held *h = *this_cpu_ptr(&held);
	u64 now = ol_now(), ns;
	int i;

	for (i = MOST_HELD - 1; i >= 0; i--)
		if (h[i].lock == lock)
			break;
	if (i < 0)
		return;
	ns = now - h[i].since;
	if (was_lost(h[i].slice, h[i].since, now))
		ol_count(OL_LHP);
	WRITE_ONCE(h[i].lock, NULL);
	this_cpu_add(times.hold_ns, ns);
	overlock_times_add(&holds_took, ns);
}

static u64 sum_of(size_t offset)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += *(u64 *)((char *)&per_cpu(times, cpu) + offset);
	return sum;
}

void overlock_tell_times(struct seq_file *out)
{
	const char *source = ol_slice_id() ? "told" : stolen_is_told() ? "steal" : "gaps";

	seq_printf(out, "slices %s\n", source);
	seq_printf(out, "wait_ns %llu\n", sum_of(offsetof(struct times, wait_ns)));
	seq_printf(out, "spin_ns %llu\n", sum_of(offsetof(struct times, spin_ns)));
	seq_printf(out, "hold_ns %llu\n", sum_of(offsetof(struct times, hold_ns)));
	seq_puts(out, "hold");
	overlock_times_list(out, &holds_took);
	seq_putc(out, '\n');
}

void overlock_forget_times(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		memset(&per_cpu(times, cpu), 0, sizeof(struct times));
		memset(&per_cpu(holds_took, cpu), 0, sizeof(struct overlock_times));
	}
}
