// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * What a sched_ext scheduler is without any of ours: one queue ordered by weighted CPU time, the kernel's slices
 * of 20 ms, ended by its tick. So the kernel's own example scx_simple does it, which no package of Debian's has.
 */
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

enum { QUEUE = 0 };

#define SLICE_NS	20000000

static __u64 vtime_now;

static __always_inline bool before(__u64 a, __u64 b)
{
	return (__s64)(a - b) < 0;
}

SEC("struct_ops/select_cpu")
__s32 BPF_PROG(select_cpu, struct task_struct *p, __s32 prev, __u64 wake_flags)
{
	bool idle = false;
	__s32 cpu = scx_bpf_select_cpu_dfl(p, prev, wake_flags, &idle);

	if (idle)
		scx_bpf_dsq_insert(p, NUMBER(scx_dsq_id_flags, SCX_DSQ_LOCAL), SLICE_NS, 0);
	return cpu;
}

SEC("struct_ops/enqueue")
void BPF_PROG(enqueue, struct task_struct *p, __u64 enq_flags)
{
	__u64 vtime = p->scx.dsq_vtime;

	if (before(vtime, vtime_now - SLICE_NS))
		vtime = vtime_now - SLICE_NS;
	scx_bpf_dsq_insert_vtime(p, QUEUE, SLICE_NS, vtime, enq_flags);
}

SEC("struct_ops/dispatch")
void BPF_PROG(dispatch, __s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(QUEUE);
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
	__u32 weight = p->scx.weight;

	if (weight)
		p->scx.dsq_vtime += (SLICE_NS - p->scx.slice) * 100 / weight;
}

SEC("struct_ops/enable")
void BPF_PROG(enable, struct task_struct *p)
{
	p->scx.dsq_vtime = vtime_now;
}

SEC("struct_ops.s/init")
__s32 BPF_PROG(init)
{
	return scx_bpf_create_dsq(QUEUE, -1);
}

SEC(".struct_ops.link")
struct sched_ext_ops plain = {
	.select_cpu = (void *)select_cpu,
	.enqueue = (void *)enqueue,
	.dispatch = (void *)dispatch,
	.running = (void *)running,
	.stopping = (void *)stopping,
	.enable = (void *)enable,
	.init = (void *)init,
	.name = "plain",
};
