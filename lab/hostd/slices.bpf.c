// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Watches the scheduler for some threads, the vCPUs of virtual machines for one, and notes of each
 * slice when it began and when it is likely to end.
 *
 * With `direct` the note is written to the shared page in here, while the scheduler switches: the page
 * is pinned, and each thread has a pointer to its entry (Linux 6.13). No look at it can come too early.
 */
#include "slice.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile bool direct;
const volatile __u64 clock_tick_ns; /* of /proc's clock */
const volatile __u32 publisher; /* the thread that copies the notes to the page; 0: nobody does */

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

static __always_inline void write_there(struct watched *w, struct task_struct *task)
{
	struct place_on_page *place = bpf_task_storage_get(&places_on_page, task, 0, 0);

	if (!place || !place->entry) {
		w->counts.refused++;
		return;
	}
	write_entry(&w->slice, place->entry);
	w->counts.written++;
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
	mine->id = w->slice.entry.id;
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
	if (!w || w->slice.entry.id != id)
		return false;
	if (place && place->record == mine->record)
		return true;
	leaves(&w->slice, &w->counts, now, true);
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
		leaves(&w->slice, &w->counts, now, !state);
		if (direct)
			write_there(w, from);
	}
	w = record_of(to);
	if (w) {
		comes(&w->slice, &w->counts, to, now);
		if (direct)
			write_there(w, to);
	}
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(ticked, struct hrtimer *timer)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct watched *w;

	if (!is_tick(timer))
		return 0;
	w = record_of(task);
	if (w && goes_on(&w->slice, task, now_there()) && direct)
		write_there(w, task);
	return 0;
}

/* overlock-sched starts a timer for each slice that it keeps, also for one that follows without a switch. */
SEC("tp_btf/hrtimer_start")
int BPF_PROG(kept_on, struct hrtimer *timer)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct watched *w = is_ext(task) ? record_of(task) : 0;

	if (w && ends_later(&w->slice, task, now_there()) && direct)
		write_there(w, task);
	return 0;
}

/* Nothing is known of a thread that is no more. Its place goes first: no tick comes between the writes. */
static __always_inline void forget(__u32 thread, struct watched *w, struct task_struct *task)
{
	bpf_map_delete_elem(&places, &thread);
	ends(&w->slice, &w->counts, now_there());
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
