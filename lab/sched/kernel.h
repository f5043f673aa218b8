/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef SCHED_KERNEL_H
#define SCHED_KERNEL_H
/*
 * What the scheduler uses of the kernel's: fields, found by BTF when it is loaded, and the functions and
 * numbers of sched_ext (Documentation/scheduler/sched-ext.rst).
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define KERNELS	__attribute__((preserve_access_index))

struct cpumask {
	unsigned long bits[1];
} KERNELS;

struct sched_ext_entity {
	__u32 flags;
	__u32 weight; /* 100 at nice 0 */
	__u64 slice;
	__u64 dsq_vtime;
} KERNELS;

struct task_struct {
	__s32 pid; /* the thread */
	__s32 tgid;
	unsigned int flags;
	int nr_cpus_allowed;
	unsigned short migration_disabled;
	const struct cpumask *cpus_ptr;
	struct sched_ext_entity scx;
} KERNELS;

enum scx_exit_kind { SCX_EXIT_NONE };

struct scx_exit_info {
	enum scx_exit_kind kind;
	const char *reason;
	char *msg;
} KERNELS;

struct scx_exit_task_args {
	bool cancelled;
} KERNELS;

struct sched_ext_ops {
	__s32 (*select_cpu)(struct task_struct *p, __s32 prev_cpu, __u64 wake_flags);
	void (*enqueue)(struct task_struct *p, __u64 enq_flags);
	void (*dispatch)(__s32 cpu, struct task_struct *prev);
	void (*running)(struct task_struct *p);
	void (*stopping)(struct task_struct *p, bool runnable);
	void (*enable)(struct task_struct *p);
	void (*exit_task)(struct task_struct *p, struct scx_exit_task_args *args);
	__s32 (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	__u64 flags;
	__u32 timeout_ms;
	char name[128];
};

enum { PF_KTHREAD = 0x00200000 }; /* of task_struct.flags */

enum scx_dsq_id_flags {
	SCX_DSQ_FLAG_BUILTIN = 1ULL << 63,
	SCX_DSQ_LOCAL = SCX_DSQ_FLAG_BUILTIN | 2,
};
enum scx_enq_flags { SCX_ENQ_HEAD = 1ULL << 4, SCX_ENQ_LAST = 1ULL << 41 };
enum scx_ops_flags { SCX_OPS_ENQ_LAST = 1 << 1 };
enum scx_kick_flags { SCX_KICK_IDLE = 1, SCX_KICK_PREEMPT = 2 };
enum scx_ent_flags { SCX_TASK_QUEUED = 1 };

/* A number of the running kernel's. */
#define NUMBER(type, name)	bpf_core_enum_value(enum type, name)

/* Linux 6.13 has these names. */
__s32 scx_bpf_create_dsq(__u64 dsq, __s32 node) __ksym;
__s32 scx_bpf_select_cpu_dfl(struct task_struct *p, __s32 prev, __u64 wake_flags,
			     bool *idle) __ksym;
void scx_bpf_dsq_insert(struct task_struct *p, __u64 dsq, __u64 slice, __u64 enq_flags) __ksym;
void scx_bpf_dsq_insert_vtime(struct task_struct *p, __u64 dsq, __u64 slice, __u64 vtime,
			      __u64 enq_flags) __ksym;
bool scx_bpf_dsq_move_to_local(__u64 dsq) __ksym;
__s32 scx_bpf_dsq_nr_queued(__u64 dsq) __ksym;
void scx_bpf_kick_cpu(__s32 cpu, __u64 flags) __ksym;
__s32 scx_bpf_pick_idle_cpu(const struct cpumask *allowed, __u64 flags) __ksym;
__s32 scx_bpf_task_cpu(const struct task_struct *p) __ksym;
bool bpf_cpumask_test_cpu(__u32 cpu, const struct cpumask *mask) __ksym;
struct task_struct *bpf_task_from_pid(__s32 pid) __ksym;
void bpf_task_release(struct task_struct *p) __ksym;

/* The threads in a queue, the next one first. */
struct bpf_iter_scx_dsq {
	__u64 opaque[6];
} __attribute__((aligned(8)));
int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, __u64 dsq, __u64 flags) __ksym;
struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it) __ksym;
void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it) __ksym;
bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it, struct task_struct *p, __u64 dsq,
		      __u64 enq_flags) __ksym;
#endif
