// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Tells the threads of programs that asked of their slices, on the page of each program, while the scheduler
 * switches. Overlock-monitord says which threads; it lends us the memory of their entries (Linux 6.13).
 */
#include "slice.bpf.h"
#include "slot.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* A thread that has joined. The memory is overlock-monitord's, pinned when the pointer is told to us. */
struct joined {
	struct ol_slot __attribute__((btf_type_tag("uptr"))) * slot;
	struct slice slice; /* kept here: the program may write to its page */
};

/* So that the type is described. */
struct ol_slot described;

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct joined);
} places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct slice_counts);
} counts SEC(".maps");

static __always_inline struct joined *joined(struct task_struct *task)
{
	return bpf_task_storage_get(&places, task, 0, 0);
}

static __always_inline struct slice_counts *counted(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&counts, &zero);
}

static __always_inline void write_there(struct joined *j, struct slice_counts *c)
{
	struct ol_slot *slot = j->slot;

	if (!slot) {
		c->refused++;
		return;
	}
	write_entry(&j->slice, &slot->entry);
	c->written++;
}

/* The time if it was looked at, else 0. */
static __always_inline __u64 left(struct task_struct *task, bool able)
{
	struct joined *j = joined(task);
	struct slice_counts *c = j ? counted() : 0;
	__u64 now;

	if (!c)
		return 0;
	now = now_there();
	leaves(&j->slice, c, now, able);
	write_there(j, c);
	return now;
}

static __always_inline void came(struct task_struct *task, __u64 now)
{
	struct joined *j = joined(task);
	struct slice_counts *c = j ? counted() : 0;

	if (!c)
		return;
	comes(&j->slice, c, task, now ? now : now_there());
	write_there(j, c);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switched, bool preempted, struct task_struct *from, struct task_struct *to,
	     unsigned int state)
{
	came(to, left(from, !state));
	return 0;
}

/* A thread that joined in the middle of a slice is first seen here, if it is not switched before. */
SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(ticked, struct hrtimer *timer)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct slice_counts *c;
	struct joined *j;
	__u64 now;

	if (!is_tick(timer))
		return 0;
	j = joined(task);
	c = j ? counted() : 0;
	if (!c)
		return 0;
	now = now_there();
	if (!goes_on(&j->slice, task, now))
		comes(&j->slice, c, task, now);
	write_there(j, c);
	return 0;
}

/* Nothing is told any more of a thread that has ended, or that is another program's from now on. */
static __always_inline void forget(struct task_struct *task)
{
	struct joined *j = joined(task);
	struct slice_counts *c = j ? counted() : 0;

	if (!c)
		return;
	ends(&j->slice, c, now_there());
	write_there(j, c);
	bpf_task_storage_delete(&places, task);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(exits, struct task_struct *task)
{
	forget(task);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(executes, struct task_struct *task, int before)
{
	forget(task);
	return 0;
}
