/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef SCHED_QUEUE_H
#define SCHED_QUEUE_H
/* What all the schedulers here have: one queue for all CPUs, ordered by weighted CPU time (`dsq_vtime`). */
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

enum { QUEUE = 0 };

static __u64 vtime_now; /* of the first in the queue when a thread last began to run */

static __always_inline bool before(__u64 a, __u64 b)
{
	return (__s64)(a - b) < 0;
}

static __always_inline __u64 weighted(const struct task_struct *p, __u64 ns)
{
	__u32 weight = p->scx.weight;

	return weight ? ns * 100 / weight : ns;
}

/* Who slept has at most a slice in hand. */
static __always_inline __u64 vtime_of(const struct task_struct *p, __u64 slice)
{
	__u64 least = vtime_now - slice;

	return before(p->scx.dsq_vtime, least) ? least : p->scx.dsq_vtime;
}

static __always_inline bool can_run(const struct task_struct *p, __s32 cpu)
{
	if (p->migration_disabled)
		return scx_bpf_task_cpu(p) == cpu;
	return bpf_cpumask_test_cpu(cpu, p->cpus_ptr);
}

static __always_inline void kick_idle(const struct task_struct *p)
{
	__s32 idle = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);

	if (idle >= 0)
		scx_bpf_kick_cpu(idle, NUMBER(scx_kick_flags, SCX_KICK_IDLE));
}

SEC("struct_ops/enable")
void BPF_PROG(enable, struct task_struct *p)
{
	p->scx.dsq_vtime = vtime_now;
}
#endif
