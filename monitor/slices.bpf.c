// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Watches the scheduler for some threads, the vCPUs of virtual machines for one, and notes of each
 * slice when it began and when it is likely to end.
 *
 * With `direct` the note is written to the shared page in here, while the scheduler switches: the page
 * is pinned, and each thread has a pointer to its entry (Linux 6.13). No look at it can come too early.
 */
#include <stdbool.h>
#include "kernel.h"
#include "watched.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

_Static_assert(OL_SLICE_PAGE_LAYOUT, "the ABI of the slice page");

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Before LLVM 15 the mark on the pointer in `struct place_on_page` is dropped. */
const volatile bool lends = __clang_major__ >= 15;
const volatile bool direct;
const volatile bool full;	    /* what depends on other threads, too */
const volatile __u64 shift;	    /* the page's clock is ahead of the host's by this */
const volatile __u64 clock_tick_ns; /* of /proc's clock */
const volatile __u64 slice_ns;	    /* where the scheduler has no deadlines */
const volatile __u64 tick_function; /* of the timer of the scheduler's ticks; 0: not known */
const volatile __u32 publisher; /* the thread that copies the notes to the page; 0: nobody does */

__u32 ending; /* enum ending */

extern unsigned int CONFIG_HZ __kconfig __weak;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32); /* thread */
	__type(value, struct place);
} places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct watched);
} records SEC(".maps");

/* The record of the thread that the publisher interrupted on this CPU, and its slice; 0: none. */
struct interruption {
	__u32 record;
	__u64 id;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct interruption);
} interruptions SEC(".maps");

/* The timer of this CPU's ticks. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} ticks SEC(".maps");

/* Of each thread, its entry on the page: memory of overlock-hostd, pinned when it is told to us. */
struct place_on_page {
	struct ol_slice_entry __attribute__((btf_type_tag("uptr"))) * entry;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct place_on_page);
} places_on_page SEC(".maps");

/* The id of a thread that has exited is another's soon: that one started later. */
static __always_inline struct place *place_of(const struct task_struct *task)
{
	__u32 thread = task->pid;
	struct place *place = bpf_map_lookup_elem(&places, &thread);

	return place && task->start_boottime / clock_tick_ns == place->start ? place : 0;
}

static __always_inline struct watched *record_of(const struct task_struct *task)
{
	struct place *place = place_of(task);

	return place ? bpf_map_lookup_elem(&records, &place->record) : 0;
}

/* The page's time. */
static __always_inline __u64 now_there(void)
{
	return bpf_ktime_get_ns() + shift;
}

/* Histograms. */

static __always_inline __u32 step_of(__u64 ns)
{
	__u32 top = 0, step;
	__u64 v = ns;

	if (ns < STEPS)
		return ns;
	for (step = 32; step; step /= 2) {
		if (v >> step) {
			v >>= step;
			top += step;
		}
	}
	return (top - STEP_BITS + 1) * STEPS + (ns >> (top - STEP_BITS)) % STEPS;
}

static __always_inline void note(__u64 *times, __u64 ns)
{
	times[step_of(ns) % PLACES]++;
}

/* When a slice ends. */

#define NICE_0_WEIGHT	(1ULL << 20)
#define MOST_LEVELS	8	/* of groups within groups */

/* What a queue's own time, which runs slower the heavier its entity is, comes to in ns. */
static __always_inline __u64 to_ns(const struct sched_entity *se, __u64 until)
{
	__s64 left = until - BPF_CORE_READ(se, vruntime);
	__u64 weight = BPF_CORE_READ(se, load.weight);

	if (left <= 0)
		return 0;
	return (__u64)left * weight / NICE_0_WEIGHT; /* fits: minutes at the heaviest weight */
}

static __always_inline bool alone(const struct sched_entity *se)
{
	const struct cfs_rq *queue = BPF_CORE_READ(se, cfs_rq);

	if (bpf_core_field_exists(queue->nr_queued))
		return BPF_CORE_READ(queue, nr_queued) <= 1;
	return BPF_CORE_READ((const struct cfs_rq___before_6_14 *)queue, nr_running) <= 1;
}

struct outlook {
	__u64 left, sure; /* ns from now; ~0: no end */
};

/* How long the scheduler lets it run if others want the CPU. */
static __always_inline __u64 slice_of(const struct sched_entity *se)
{
	return bpf_core_field_exists(se->slice) ? BPF_CORE_READ(se, slice) : slice_ns;
}

/*
 * What is left of the slice. The protected part is the more exact answer, but it is shorter if a
 * thread of shorter slices is queued; the deadline depends on the thread alone.
 */
static __always_inline __u64 left_of(const struct sched_entity *se)
{
	if (full && bpf_core_field_exists(se->vprot)) {
		ending = ENDING_PROTECTED;
		return to_ns(se, BPF_CORE_READ(se, vprot));
	}
	if (bpf_core_field_exists(se->deadline)) {
		ending = ENDING_DEADLINE;
		return to_ns(se, BPF_CORE_READ(se, deadline));
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
			sure = to_ns(se, BPF_CORE_READ(se, vprot));
			if (sure < o.sure)
				o.sure = sure;
		}
		se = BPF_CORE_READ(se, parent);
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

enum { SCHED_NORMAL = 0, SCHED_BATCH = 3 };

static __always_inline void expect_end(struct watched *w, const struct task_struct *task, __u64 now)
{
	struct ol_slice_entry *e = &w->entry;
	__u32 policy = BPF_CORE_READ(task, policy);
	struct outlook o;

	e->end = e->sure = w->sure = OL_SLICE_UNKNOWN;
	if (policy != SCHED_NORMAL && policy != SCHED_BATCH)
		return; /* real time: not known */
	o = outlook_of(&task->se);
	e->end = o.left == ~0ULL ? OL_SLICE_NO_END : at_a_tick(now, now + o.left);
	if (o.sure == ~0ULL)
		return;
	w->sure = now + o.sure;
	if (full)
		e->sure = w->sure;
}

/* Writing. */

/* Odd while it is written; the additions order what is between them. */
static __always_inline void begin_writing(struct watched *w)
{
	__sync_fetch_and_add(&w->entry.seq, 1);
}

static __always_inline void end_writing(struct watched *w)
{
	__sync_fetch_and_add(&w->entry.seq, 1);
}

/* The exchanges order what is between them. */
static __always_inline void write_there(struct watched *w, struct task_struct *task)
{
	struct place_on_page *place = bpf_task_storage_get(&places_on_page, task, 0, 0);
	struct ol_slice_entry *there = place ? place->entry : 0;

	if (!there) {
		w->refused++;
		return;
	}
	__sync_lock_test_and_set(&there->seq, w->entry.seq - 1);
	there->running = w->entry.running;
	there->id = w->entry.id;
	there->begin = w->entry.begin;
	there->end = w->entry.end;
	there->sure = w->entry.sure;
	there->published = w->entry.published;
	__sync_lock_test_and_set(&there->seq, w->entry.seq);
	w->written++;
}

/* From a tick that asks a thread to leave until it has left, at the most. */
#define TICK_NS	200000

static __always_inline void note_end(struct watched *w, __u64 now, bool able)
{
	/* What was told anew on the way out was seen by nobody. */
	__u64 end = now - w->renewed < TICK_NS ? w->end_before : w->entry.end;

	note(w->length, now - w->entry.begin);
	if (!able) {
		w->left++;
		return;
	}
	w->taken++;
	if (w->sure != OL_SLICE_UNKNOWN && now < w->sure)
		w->broken++;
	if (end == OL_SLICE_NO_END)
		w->endless++;
	else if (end == OL_SLICE_UNKNOWN)
		return;
	else if (now < end)
		note(w->early, end - now);
	else
		note(w->after, now - end);
}

static __always_inline void leaves(struct watched *w, __u64 now, bool able)
{
	struct ol_slice_entry *e = &w->entry;

	if (e->running == OL_SLICE_ON)
		note_end(w, now, able);
	begin_writing(w);
	e->id = e->id ? e->id + 1 : now; /* not one that another monitor has used before */
	e->running = OL_SLICE_OFF;
	e->end = e->sure = OL_SLICE_UNKNOWN;
	e->published = now;
	end_writing(w);
}

static __always_inline void comes(struct watched *w, const struct task_struct *task, __u64 now)
{
	struct ol_slice_entry *e = &w->entry;

	if (e->running == OL_SLICE_ON) /* interrupted by the publisher, and moved to another CPU */
		leaves(w, now, true);
	begin_writing(w);
	if (!e->id)
		e->id = now;
	e->running = OL_SLICE_ON;
	e->begin = e->published = now;
	expect_end(w, task, now);
	w->slices++;
	end_writing(w);
}

/*
 * The publisher's own turns on a CPU are like an interrupt: if the thread that it took the CPU from has
 * it back afterwards, this is still the same slice. Else it ended when the publisher came.
 */
static __always_inline bool publisher_came(const struct task_struct *from)
{
	__u32 zero = 0;
	struct place *place = place_of(from);
	struct interruption *mine = bpf_map_lookup_elem(&interruptions, &zero);
	struct watched *w = place ? bpf_map_lookup_elem(&records, &place->record) : 0;

	if (!w || !mine)
		return false;
	mine->record = place->record;
	mine->id = w->entry.id;
	return true;
}

static __always_inline bool publisher_went(const struct task_struct *to, __u64 now)
{
	__u32 zero = 0;
	struct place *place = place_of(to);
	struct interruption *mine = bpf_map_lookup_elem(&interruptions, &zero);
	struct watched *w;
	__u64 id;

	if (!mine || !mine->id)
		return false;
	id = mine->id;
	mine->id = 0;
	w = bpf_map_lookup_elem(&records, &mine->record);
	if (!w || w->entry.id != id)
		return false;
	if (place && place->record == mine->record)
		return true;
	leaves(w, now, true);
	return false;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switched, bool preempted, struct task_struct *from, struct task_struct *to,
	     unsigned int state)
{
	__u64 now = now_there();
	struct watched *w;

	if (publisher && to->pid == publisher && !state && publisher_came(from))
		return 0;
	if (publisher && from->pid == publisher && publisher_went(to, now))
		return 0;
	w = record_of(from);
	if (w) {
		leaves(w, now, !state);
		if (direct)
			write_there(w, from);
	}
	w = record_of(to);
	if (w) {
		comes(w, to, now);
		if (direct)
			write_there(w, to);
	}
	return 0;
}

/*
 * The timer has ticked, and the slice goes on, or its thread is asked to leave on the way out of this
 * interrupt. It may have been picked again, or somebody may now be waiting: what is expected is told anew.
 */
static __always_inline void goes_on(struct watched *w, struct task_struct *task, __u64 now)
{
	struct ol_slice_entry *e = &w->entry;

	if (e->running != OL_SLICE_ON)
		return;
	w->end_before = e->end;
	w->renewed = now;
	begin_writing(w);
	expect_end(w, task, now);
	e->published = now;
	end_writing(w);
	if (direct)
		write_there(w, task);
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(ticked, struct hrtimer *timer)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 zero = 0;
	struct watched *w;
	__u64 *mine;

	if ((__u64)timer->function != tick_function)
		return 0;
	mine = bpf_map_lookup_elem(&ticks, &zero);
	if (mine)
		*mine = (__u64)timer;
	w = record_of(task);
	if (w)
		goes_on(w, task, now_there());
	return 0;
}

/* Nothing is known of a thread that is no more. Its place goes first: no tick comes between the writes. */
static __always_inline void forget(__u32 thread, struct watched *w, struct task_struct *task)
{
	__u64 now = now_there();

	bpf_map_delete_elem(&places, &thread);
	if (w->entry.running == OL_SLICE_ON)
		note_end(w, now, false);
	begin_writing(w);
	w->entry.running = OL_SLICE_OFF;
	w->entry.id = w->entry.begin = OL_SLICE_UNKNOWN;
	w->entry.end = w->entry.sure = OL_SLICE_UNKNOWN;
	w->entry.published = now;
	end_writing(w);
	if (direct)
		write_there(w, task);
	__sync_lock_test_and_set(&w->gone, 1); /* a full barrier: the entry is there before */
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(exits, struct task_struct *task)
{
	struct watched *w = record_of(task);

	if (w)
		forget(task->pid, w, task);
	return 0;
}

/* A thread that starts a program takes the id and the start of its process's first one: its own is free. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(executes, struct task_struct *task, int before)
{
	__u32 thread = before;
	struct place *place = thread != task->pid ? bpf_map_lookup_elem(&places, &thread) : 0;
	struct watched *w = place ? bpf_map_lookup_elem(&records, &place->record) : 0;

	if (w)
		forget(thread, w, task);
	return 0;
}
