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
	int throttle_count; /* of its group and those above it */
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

struct thread_info {
	__u32 cpu; /* since Linux 5.16 on x86 */
} KERNELS;

struct sched_ext_entity {
	__u32 flags;
} KERNELS;

/* A number, since looking for an enumeration that a kernel lacks takes CAP_SYS_ADMIN. */
enum { SCX_TASK_QUEUED = 1 }; /* of sched_ext_entity.flags */

struct task_struct {
	struct thread_info thread_info;
	__u32 pid;  /* the thread; the kernel has it signed */
	__u32 tgid; /* its process, likewise */
	unsigned int flags;
	unsigned int policy;
	unsigned int in_iowait : 1;
	__u8 throttled; /* Linux 6.18; a bool */
	__u64 start_boottime;
	char comm[16];
	struct sched_entity se;
	struct sched_ext_entity scx; /* Linux 6.12 */
} KERNELS;

#ifdef __TARGET_ARCH_x86
struct pt_regs___x86 {
	unsigned long r15, r14, r13, r12, bp, bx;
	unsigned long r10, dx, si, di, orig_ax;
	unsigned long ip, sp;
} KERNELS;
#endif

struct timerqueue_node {
	__s64 expires;
} KERNELS;

struct hrtimer {
	struct timerqueue_node node;
	void *function;
} KERNELS;
#endif
