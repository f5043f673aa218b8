// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The scheduler of `overlock chaos --by sched`: the plain one, which leaves a thread without a CPU for as long
 * as it asked for, by the arguments of a sched_yield(). The thread stays runnable meanwhile, as one
 * that was preempted; its CPU goes to others.
 */
#if defined(__TARGET_ARCH_x86)
/* The kernel's names of registers, which libbpf then takes, are not those of user space's header. */
#define __VMLINUX_H__
struct pt_regs {
	unsigned long di, si;
} __attribute__((preserve_access_index));
#else
#include <linux/ptrace.h>
#endif
#define SLICE_NS 3000000
#include "plain.h"
#include <overlock/sched_socket.h>

enum { HELD = QUEUE + 1 };

#define LOOK_NS	 500000
/* The kernel takes a scheduler away that leaves a thread without a CPU for longer than the timeout. */
#define MOST_NS	   10000000000ull
#define TIMEOUT_MS 30000

unsigned long held; /* threads that were; read by the loader */

/* By thread: how long it shall have no CPU, and then until when. */
struct wish {
	__u64 ns, until;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, __s32);
	__type(value, struct wish);
} wishes SEC(".maps");

struct look {
	struct bpf_timer timer;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct look);
} looks SEC(".maps");

SEC("ksyscall/sched_yield")
int BPF_KSYSCALL(yields, __u64 magic, __u64 ns)
{
	__s32 thread = (__s32)bpf_get_current_pid_tgid();
	struct wish wish = { .ns = ns < MOST_NS ? ns : MOST_NS };

	if (magic == OL_CHAOS_YIELD)
		bpf_map_update_elem(&wishes, &thread, &wish, BPF_ANY);
	return 0;
}

static __always_inline bool is_due(const struct task_struct *p, __u64 now)
{
	__s32 thread = p->pid;
	struct wish *wish = bpf_map_lookup_elem(&wishes, &thread);

	return !wish || !before(now, wish->until);
}

/* In place of a wake-up: when a thread is due, a CPU looks, and takes it. */
static int look(void *map, __u32 *key, struct look *at)
{
	__u64 now = bpf_ktime_get_ns();
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, HELD, 0)
	{
		if (is_due(p, now))
			scx_bpf_kick_cpu(scx_bpf_task_cpu(p),
					 NUMBER(scx_kick_flags, SCX_KICK_PREEMPT));
	}
	if (scx_bpf_dsq_nr_queued(HELD))
		bpf_timer_start(&at->timer, LOOK_NS, 0);
	return 0;
}

static __always_inline bool hold(struct task_struct *p, __u64 enq_flags)
{
	__s32 thread = p->pid;
	struct wish *wish = bpf_map_lookup_elem(&wishes, &thread);
	__u32 key = 0;
	struct look *at = bpf_map_lookup_elem(&looks, &key);

	if (!wish || !wish->ns || !at)
		return false;
	wish->until = bpf_ktime_get_ns() + wish->ns;
	wish->ns = 0;
	held++;
	scx_bpf_dsq_insert(p, HELD, SLICE_NS, enq_flags);
	bpf_timer_start(&at->timer, LOOK_NS, 0);
	return true;
}

SEC("struct_ops/enqueue")
void BPF_PROG(enqueue, struct task_struct *p, __u64 enq_flags)
{
	if (hold(p, enq_flags))
		return;
	/* The last one here goes on: nobody would look at the queue. */
	if (enq_flags & NUMBER(scx_enq_flags, SCX_ENQ_LAST)) {
		scx_bpf_dsq_insert(p, NUMBER(scx_dsq_id_flags, SCX_DSQ_LOCAL), SLICE_NS, enq_flags);
		return;
	}
	queue(p, enq_flags);
	kick_idle(p);
}

/* True if a thread was due that may run here. */
static __always_inline bool let_go(__s32 cpu)
{
	__u64 now = bpf_ktime_get_ns();
	struct task_struct *p;
	bool done = false;

	bpf_for_each(scx_dsq, p, HELD, 0)
	{
		struct task_struct *due;

		if (!is_due(p, now) || !can_run(p, cpu))
			continue;
		due = bpf_task_from_pid(p->pid);
		if (!due)
			continue;
		done = scx_bpf_dsq_move(&___it, due, NUMBER(scx_dsq_id_flags, SCX_DSQ_LOCAL), 0);
		bpf_task_release(due);
		if (done)
			break;
	}
	return done;
}

SEC("struct_ops/dispatch")
void BPF_PROG(dispatch, __s32 cpu, struct task_struct *prev)
{
	if (!scx_bpf_dsq_nr_queued(HELD) || !let_go(cpu))
		scx_bpf_dsq_move_to_local(QUEUE);
}

SEC("struct_ops.s/init")
__s32 BPF_PROG(init)
{
	__u32 key = 0;
	struct look *at = bpf_map_lookup_elem(&looks, &key);
	__s32 error = scx_bpf_create_dsq(QUEUE, -1);

	if (error || !at)
		return error ?: -1;
	bpf_timer_init(&at->timer, &looks, 1 /* CLOCK_MONOTONIC */);
	bpf_timer_set_callback(&at->timer, look);
	return scx_bpf_create_dsq(HELD, -1);
}

SEC(".struct_ops.link")
struct sched_ext_ops chaos = {
	.select_cpu = (void *)select_cpu,
	.enqueue = (void *)enqueue,
	.dispatch = (void *)dispatch,
	.running = (void *)running,
	.stopping = (void *)stopping,
	.enable = (void *)enable,
	.init = (void *)init,
	.flags = SCX_OPS_ENQ_LAST,
	.timeout_ms = TIMEOUT_MS,
	.name = "chaos",
};
