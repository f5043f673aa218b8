// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * What a sched_ext scheduler is without any of ours: one queue ordered by weighted CPU time, the kernel's slices
 * of 20 ms, ended by its tick. So the kernel's own example scx_simple does it, which no package of Debian's has.
 */
#define SLICE_NS 20000000
#include "plain.h"

SEC("struct_ops/enqueue")
void BPF_PROG(enqueue, struct task_struct *p, __u64 enq_flags)
{
	queue(p, enq_flags);
}

SEC("struct_ops/dispatch")
void BPF_PROG(dispatch, __s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(QUEUE);
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
