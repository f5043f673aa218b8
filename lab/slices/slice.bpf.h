/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef MONITOR_SLICE_BPF_H
#define MONITOR_SLICE_BPF_H
/*
 * A thread's slice, as the scheduler's switches and ticks tell of it: when it began, and when it is likely
 * to end. Common to the programs of overlock-hostd and overlock-monitord.
 */
#include <stdbool.h>
#include "kept.h"
#include "kernel.h"
#include "watched.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

_Static_assert(OL_SLICE_PAGE_LAYOUT, "the ABI of the slice page");

/* Before LLVM 15 the mark on a pointer that is lent to us is dropped. */
const volatile bool lends = __clang_major__ >= 15;
const volatile bool full;	    /* what depends on other threads, too */
const volatile __u64 shift;	    /* the page's clock is ahead of the host's by this */
const volatile __u64 slice_ns;	    /* where the scheduler has no deadlines */
const volatile __u64 tick_function; /* of the timer of the scheduler's ticks; 0: not known */

__u32 ending; /* enum ending */

extern unsigned int CONFIG_HZ __kconfig __weak;

/* The timer of this CPU's ticks. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} ticks SEC(".maps");

/* The page's time. */
static __always_inline __u64 now_there(void)
{
	return bpf_ktime_get_ns() + shift;
}

/* When a slice ends. */

#define NICE_0_WEIGHT	(1ULL << 20)
#define MOST_LEVELS	8	/* of groups within groups */

/* The loads are plain: these pointers come from the task, so that the kernel guards them. */

/* What a queue's own time, which runs slower the heavier its entity is, comes to in ns. */
static __always_inline __u64 to_ns(const struct sched_entity *se, __u64 until)
{
	__s64 left = until - se->vruntime;
	__u64 weight = se->load.weight;

	if (left <= 0)
		return 0;
	return (__u64)left * weight / NICE_0_WEIGHT; /* fits: minutes at the heaviest weight */
}

static __always_inline bool alone(const struct sched_entity *se)
{
	const struct cfs_rq *queue = se->cfs_rq;

	if (bpf_core_field_exists(queue->nr_queued))
		return queue->nr_queued <= 1;
	return ((const struct cfs_rq___before_6_14 *)queue)->nr_running <= 1;
}

struct outlook {
	__u64 left, sure; /* ns from now; ~0: no end */
};

/* How long the scheduler lets it run if others want the CPU. */
static __always_inline __u64 slice_of(const struct sched_entity *se)
{
	return bpf_core_field_exists(se->slice) ? se->slice : slice_ns;
}

/*
 * What is left of the slice. The protected part is the more exact answer, but it is shorter if a
 * thread of shorter slices is queued; the deadline depends on the thread alone.
 */
static __always_inline __u64 left_of(const struct sched_entity *se)
{
	if (full && bpf_core_field_exists(se->vprot)) {
		ending = ENDING_PROTECTED;
		return to_ns(se, se->vprot);
	}
	if (bpf_core_field_exists(se->deadline)) {
		ending = ENDING_DEADLINE;
		return to_ns(se, se->deadline);
	}
	ending = ENDING_ASSUMED;
	return slice_ns;
}

/*
 * A task's slice ends when it has run out on any level of groups where somebody else is queued; but
 * for that others wake up, and may come earlier. Without `full` nothing here depends on whether
 * somebody is queued: a slice that has run out and goes on is followed by another one.
 */
static __always_inline struct outlook outlook_of(const struct sched_entity *se)
{
	struct outlook o = { ~0ULL, ~0ULL };
	int level;

	for (level = 0; level < MOST_LEVELS && se; level++) {
		__u64 left = left_of(se), sure;

		if (!full && !left)
			left = slice_of(se);
		if (left < o.left && !(full && alone(se)))
			o.left = left;
		if (bpf_core_field_exists(se->vprot)) {
			sure = to_ns(se, se->vprot);
			if (sure < o.sure)
				o.sure = sure;
		}
		se = se->parent;
	}
	return o;
}

/* A slice that has run out ends at the timer's next tick on this CPU. */
static __always_inline __u64 at_a_tick(__u64 now, __u64 end)
{
	__u32 zero = 0;
	__u64 *mine = bpf_map_lookup_elem(&ticks, &zero), tick, period;

	if (!mine || !*mine || !CONFIG_HZ)
		return end;
	tick = BPF_CORE_READ((const struct hrtimer *)*mine, node.expires) + shift;
	period = 1000000000ULL / CONFIG_HZ;
	if (tick <= now || tick - now > period)
		return end; /* it is off */
	if (end <= tick)
		return tick;
	return tick + (end - tick + period - 1) / period * period;
}

/* Of overlock-sched, if it ran when we began; else our own, which stays empty. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct kept);
} kept SEC(".maps");

/* Is it runnable under a scheduler of sched_ext? What EEVDF has of it is old then. */
static __always_inline bool is_ext(const struct task_struct *task)
{
	return bpf_core_field_exists(task->scx) && task->scx.flags & SCX_TASK_QUEUED;
}

/* The page's time at which the slice ends that this thread has now, on this CPU; or OL_SLICE_UNKNOWN. */
static __always_inline __u64 kept_end(const struct task_struct *task, __u64 now)
{
	__u32 here = bpf_get_smp_processor_id();
	const struct kept *k = bpf_map_lookup_elem(&kept, &here);

	if (!k || k->thread != task->pid)
		return OL_SLICE_UNKNOWN;
	/* One that has passed may be of a scheduler that has ended. */
	return k->end + shift > now ? k->end + shift : OL_SLICE_UNKNOWN;
}

enum { SCHED_NORMAL = 0, SCHED_BATCH = 3 };

static __always_inline void expect_end(struct slice *s, const struct task_struct *task, __u64 now)
{
	struct ol_slice_entry *e = &s->entry;
	__u32 policy = task->policy;
	struct outlook o;

	e->end = e->sure = s->sure = OL_SLICE_UNKNOWN;
	if (policy != SCHED_NORMAL && policy != SCHED_BATCH)
		return; /* real time: not known */
	if (is_ext(task)) {
		e->end = e->sure = s->sure = kept_end(task, now);
		if (e->end != OL_SLICE_UNKNOWN)
			ending = ENDING_KEPT;
		return;
	}
	o = outlook_of(&task->se);
	e->end = o.left == ~0ULL ? OL_SLICE_NO_END : at_a_tick(now, now + o.left);
	if (o.sure == ~0ULL)
		return;
	s->sure = now + o.sure;
	if (full)
		e->sure = s->sure;
}

/* Writing. */

/* Odd while it is written; the additions order what is between them. */
static __always_inline void begin_writing(struct slice *s)
{
	__sync_fetch_and_add(&s->entry.seq, 1);
}

static __always_inline void end_writing(struct slice *s)
{
	__sync_fetch_and_add(&s->entry.seq, 1);
}

/* From a tick that asks a thread to leave until it has left, at the most. */
#define TICK_NS	200000

static __always_inline void note_end(const struct slice *s, struct slice_counts *counts, __u64 now,
				     bool able)
{
	/* What was told anew on the way out was seen by nobody. */
	__u64 end = now - s->renewed < TICK_NS ? s->end_before : s->entry.end;

	note(counts->length, now - s->entry.begin);
	if (!able) {
		counts->left++;
		return;
	}
	counts->taken++;
	if (s->sure != OL_SLICE_UNKNOWN && now < s->sure)
		counts->broken++;
	if (end == OL_SLICE_NO_END)
		counts->endless++;
	else if (end == OL_SLICE_UNKNOWN)
		return;
	else if (now < end)
		note(counts->early, end - now);
	else
		note(counts->after, now - end);
}

static __always_inline void leaves(struct slice *s, struct slice_counts *counts, __u64 now,
				   bool able)
{
	struct ol_slice_entry *e = &s->entry;

	if (e->running == OL_SLICE_ON)
		note_end(s, counts, now, able);
	begin_writing(s);
	e->id = e->id ? e->id + 1 : now; /* not one that another monitor has used before */
	e->running = OL_SLICE_OFF;
	e->end = e->sure = OL_SLICE_UNKNOWN;
	e->published = now;
	end_writing(s);
}

static __always_inline void comes(struct slice *s, struct slice_counts *counts,
				  const struct task_struct *task, __u64 now)
{
	struct ol_slice_entry *e = &s->entry;

	if (e->running == OL_SLICE_ON) /* interrupted by the publisher, and moved to another CPU */
		leaves(s, counts, now, true);
	begin_writing(s);
	if (!e->id)
		e->id = now;
	e->running = OL_SLICE_ON;
	e->begin = e->published = now;
	expect_end(s, task, now);
	counts->slices++;
	end_writing(s);
}

/*
 * The timer has ticked, and the slice goes on, or its thread is asked to leave on the way out of this
 * interrupt. It may have been picked again, or somebody may now be waiting: what is expected is told anew.
 * False: it was off its CPU.
 */
static __always_inline bool goes_on(struct slice *s, const struct task_struct *task, __u64 now)
{
	struct ol_slice_entry *e = &s->entry;

	if (e->running != OL_SLICE_ON)
		return false;
	s->end_before = e->end;
	s->renewed = now;
	begin_writing(s);
	expect_end(s, task, now);
	e->published = now;
	end_writing(s);
	return true;
}

/* Its end was put off, or another slice follows. False: neither. */
static __always_inline bool ends_later(struct slice *s, const struct task_struct *task, __u64 now)
{
	struct ol_slice_entry *e = &s->entry;
	__u64 end = kept_end(task, now);

	if (e->running != OL_SLICE_ON || end == OL_SLICE_UNKNOWN || end == e->end)
		return false;
	begin_writing(s);
	e->end = e->sure = s->sure = end;
	e->published = now;
	end_writing(s);
	return true;
}

/* A timer has expired: is it that of this CPU's ticks? It is remembered then. */
static __always_inline bool is_tick(struct hrtimer *timer)
{
	__u32 zero = 0;
	__u64 *mine;

	if ((__u64)timer->function != tick_function)
		return false;
	mine = bpf_map_lookup_elem(&ticks, &zero);
	if (mine)
		*mine = (__u64)timer;
	return true;
}

/* What is told of a thread that is no more. */
static __always_inline void ends(struct slice *s, struct slice_counts *counts, __u64 now)
{
	struct ol_slice_entry *e = &s->entry;

	if (e->running == OL_SLICE_ON)
		note_end(s, counts, now, false);
	begin_writing(s);
	e->running = OL_SLICE_OFF;
	e->id = e->begin = OL_SLICE_UNKNOWN;
	e->end = e->sure = OL_SLICE_UNKNOWN;
	e->published = now;
	end_writing(s);
}

/* The exchanges order what is between them. */
static __always_inline void write_entry(const struct slice *s, struct ol_slice_entry *there)
{
	__sync_lock_test_and_set(&there->seq, s->entry.seq - 1);
	there->running = s->entry.running;
	there->id = s->entry.id;
	there->begin = s->entry.begin;
	there->end = s->entry.end;
	there->sure = s->entry.sure;
	there->published = s->entry.published;
	__sync_lock_test_and_set(&there->seq, s->entry.seq);
}
#endif
