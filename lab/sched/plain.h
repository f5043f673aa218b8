/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef SCHED_PLAIN_H
#define SCHED_PLAIN_H
/*
 * The parts of a scheduler without any policy of ours, as the kernel's example scx_simple has them: slices of
 * SLICE_NS, which the including file defines, ended by the kernel's tick.
 */
#include "queue.h"

SEC("struct_ops/select_cpu")
__s32 BPF_PROG(select_cpu, struct task_struct *p, __s32 prev, __u64 wake_flags)
{
	bool idle = false;
	__s32 cpu = scx_bpf_select_cpu_dfl(p, prev, wake_flags, &idle);

	if (idle)
		scx_bpf_dsq_insert(p, NUMBER(scx_dsq_id_flags, SCX_DSQ_LOCAL), SLICE_NS, 0);
	return cpu;
}

static __always_inline void queue(struct task_struct *p, __u64 enq_flags)
{
	scx_bpf_dsq_insert_vtime(p, QUEUE, SLICE_NS, vtime_of(p, SLICE_NS), enq_flags);
}

SEC("struct_ops/running")
void BPF_PROG(running, struct task_struct *p)
{
	if (before(vtime_now, p->scx.dsq_vtime))
		vtime_now = p->scx.dsq_vtime;
}

SEC("struct_ops/stopping")
void BPF_PROG(stopping, struct task_struct *p, bool runnable)
{
	p->scx.dsq_vtime += weighted(p, SLICE_NS - p->scx.slice);
}
#endif
