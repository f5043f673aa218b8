/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef MONITOR_KERNEL_H
#define MONITOR_KERNEL_H
/*
 * The fields of the kernel's structures that the BPF programs read. Where they are is found out when
 * the programs are loaded, from the running kernel's own description (BTF); and whether they are.
 */
#include <linux/bpf.h>

#define KERNELS	__attribute__((preserve_access_index))

struct load_weight {
	unsigned long weight;
} KERNELS;

struct cfs_rq {
	unsigned int nr_queued;
} KERNELS;

struct cfs_rq___before_6_14 {
	unsigned int nr_running;
} KERNELS;

struct sched_entity {
	struct load_weight load;
	__u64 vruntime;
	__u64 deadline; /* Linux 6.6 */
	__u64 vprot;	/* Linux 6.17 */
	__u64 slice;	/* Linux 6.6 */
	struct sched_entity *parent;
	struct cfs_rq *cfs_rq; /* the queue that it is in */
} KERNELS;

struct task_struct {
	__u32 pid; /* the thread; the kernel has it signed */
	unsigned int policy;
	__u64 start_boottime;
	struct sched_entity se;
} KERNELS;

struct timerqueue_node {
	__s64 expires;
} KERNELS;

struct hrtimer {
	struct timerqueue_node node;
	void *function;
} KERNELS;
#endif
