// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * A scheduler whose slices end when they were said to end, and that listens to locks.
 *
 * One queue for all CPUs, ordered by the CPU time that each thread had, weighted (`dsq_vtime`). A thread
 * that gets a CPU keeps it until the end of its slice, whoever wakes up meanwhile; a timer of that CPU ends
 * it on time, since the kernel's own tick would be up to 4 ms late.
 *
 * A thread with a place on a page (overlock-sched gives it one) is told of its slice there, and may say two
 * things: "not now", which puts the end off once, and "run that thread in my place". Whatever it says, all
 * the time that it runs is charged. So it gains nothing in the long run, and at any time not more than
 * a slice, what it may put off, and one slice more.
 */
#include "kept.h"
#include "queue.h"
#include "shared.h"

_Static_assert(OL_SLICE_PAGE_LAYOUT, "the ABI of the slice page");

const volatile __u64 slice_ns = 3000000;
const volatile __u64 defer_ns = 50000;
const volatile bool keeps = true;     /* by a timer; else the kernel's tick ends slices */
const volatile bool publishes = true; /* on the pages */
const volatile bool defers = true;
const volatile bool leads = true; /* a named thread first */
const volatile __s32 loader;	  /* the process of overlock-sched */

/* Why the kernel took the scheduler away; read by overlock-sched. */
int ended;
char reason[128];

/* The tick ends what the timer failed to end. */
#define GUARD_NS	10000000

/* Set once a thread has a place: until then nobody looks for one. */
bool any_place;

/* Of each thread that has one: its slot, memory of overlock-sched that is pinned when it is told to us. */
struct place {
	struct ol_slot __attribute__((btf_type_tag("uptr"))) * slot;
	__u64 id; /* of the last slice */
	__u64 seq;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct place);
} places SEC(".maps");

/* The compiler describes a structure that is only pointed to by no more than its name. */
struct ol_slot described;

struct slice {
	__u64 begin, end;
	bool put_off; /* its end, once */
};

/* All is kept by the CPU, not by the thread: to find what belongs to a thread costs more. */
struct cpu {
	struct bpf_timer timer;
	__u64 armed;	    /* when it ends; 0: it has ended */
	__s32 thread;	    /* who runs; 0: none of ours */
	__s32 interrupted;  /* who was, with `rest`, and will be next here */
	struct slice slice; /* of who runs */
	struct slice rest;
	__u64 charged; /* the time until which who runs has paid */
	__u64 left;    /* when the last one stopped */
	bool placed;   /* does who runs have a place? */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct kept);
} KEPT_MAP SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sched_stats);
} stats SEC(".maps");

static __always_inline struct sched_stats *counted(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&stats, &zero);
}

#define COUNT_UP(name, n)                          \
	do {                                       \
		struct sched_stats *s_ = counted(); \
		if (s_)                            \
			s_->name += (n);           \
	} while (0)

static __always_inline struct cpu *cpu_of(const struct task_struct *p)
{
	__u32 key = scx_bpf_task_cpu(p);

	return bpf_map_lookup_elem(&cpus, &key);
}

/* The page. */

static __always_inline struct place *place_of(struct task_struct *p)
{
	return any_place ? bpf_task_storage_get(&places, p, 0, 0) : 0;
}

static __always_inline struct ol_slot *slot_of(struct task_struct *p)
{
	struct place *place = place_of(p);

	return place ? place->slot : 0;
}

/*
 * The thread's slice, if there is one; else it is off its CPU. The exchanges order what is between
 * them. Nothing is read back: the program may write there, too.
 */
static __always_inline void publish(struct task_struct *p, struct place *place,
				    const struct slice *slice, __u64 now)
{
	struct ol_slot *slot = place ? place->slot : 0;
	struct ol_slice_entry *there;

	if (!slot)
		return;
	there = &slot->entry;
	__sync_lock_test_and_set(&there->seq, place->seq + 1);
	there->running = slice ? OL_SLICE_ON : OL_SLICE_OFF;
	there->id = place->id;
	there->begin = slice ? slice->begin : OL_SLICE_UNKNOWN;
	there->end = slice && keeps ? slice->end : OL_SLICE_UNKNOWN;
	there->sure = there->end;
	there->published = now;
	there->thread = p->pid;
	place->seq += 2;
	__sync_lock_test_and_set(&there->seq, place->seq);
}

/* Time. */

static __always_inline void charge(struct task_struct *p, struct cpu *cpu, __u64 now)
{
	if (before(cpu->charged, now))
		p->scx.dsq_vtime += weighted(p, now - cpu->charged);
	cpu->charged = now;
}

/* A switch takes less; after a longer time the CPU was idle. */
#define SWITCH_NS	50000

/* Who comes pays for the switch, else those that switch often would have more than they pay for. */
static __always_inline __u64 pays_since(const struct cpu *cpu, __u64 now)
{
	return now - cpu->left < SWITCH_NS ? cpu->left : now;
}

/*
 * The timer is bound to the CPU that starts it, which is the thread's but for rare changes of its policy. One
 * that ends too soon is left alone: most slices are given up early, and to start it costs as much as
 * the rest of a switch. over() starts it again.
 */
static __always_inline void start_timer(struct cpu *cpu, __u64 end)
{
	if (cpu->armed && !before(end, cpu->armed))
		return;
	cpu->armed = end;
	bpf_timer_start(&cpu->timer, end, BPF_F_TIMER_ABS | BPF_F_TIMER_CPU_PIN);
}

static __always_inline void tell_kept(const struct cpu *cpu)
{
	__u32 here = bpf_get_smp_processor_id();
	struct kept *kept = bpf_map_lookup_elem(&KEPT_MAP, &here);

	if (!kept)
		return;
	kept->thread = cpu->thread;
	kept->end = cpu->slice.end;
}

/* overlock-hostd looks when the timer is started. */
static __always_inline void end_at(struct cpu *cpu, __u64 end)
{
	cpu->slice.end = end;
	if (keeps && publishes)
		tell_kept(cpu);
	if (keeps)
		start_timer(cpu, end);
}

/* How far time may lag behind: to find who is first takes as long as a quarter of a switch. */
#define LAG_NS	100000

static __u64 advanced;

/*
 * Time goes on with who has had the least, not with who runs: that may be a thread that was led, and all
 * that enter the queue behind it would lose what they still have to get.
 */
static __always_inline void advance(const struct task_struct *running, __u64 now)
{
	__u64 least = running->scx.dsq_vtime;
	struct task_struct *p;

	if (now - advanced < LAG_NS || !before(vtime_now, least))
		return;
	advanced = now;
	bpf_for_each(scx_dsq, p, QUEUE, 0)
	{
		if (before(p->scx.dsq_vtime, least))
			least = p->scx.dsq_vtime;
		break;
	}
	if (before(vtime_now, least))
		vtime_now = least;
}

static __always_inline __u64 slice_given(void)
{
	return slice_ns + (keeps ? GUARD_NS : 0);
}

/* A slice after the one that is over, without leaving the CPU. */
static __always_inline void renew(struct task_struct *p, struct cpu *cpu, __u64 now)
{
	struct place *place = place_of(p);

	advance(p, now);
	cpu->slice.put_off = false;
	cpu->placed = place;
	p->scx.slice = slice_given();
	end_at(cpu, now + slice_ns);
	publish(p, place, &cpu->slice, now);
	COUNT_UP(alone, 1);
}

/* True if the end was put off. */
static __always_inline bool put_off(struct task_struct *p, struct cpu *cpu, __u64 now)
{
	struct place *place = place_of(p);
	struct ol_slot *slot = place ? place->slot : 0;

	if (!slot || !slot->words.defer)
		return false;
	if (cpu->slice.put_off) {
		COUNT_UP(overdue, 1);
		return false;
	}
	cpu->slice.put_off = true;
	slot->words.granted = 1;
	end_at(cpu, now + defer_ns);
	publish(p, place, &cpu->slice, now);
	COUNT_UP(deferred, 1);
	return true;
}

/*
 * On the CPU whose thread's slice is over, in an interrupt of that thread; or late, in another thread, whose
 * end then is another one.
 */
static int over(void *map, __u32 *key, struct cpu *cpu)
{
	struct task_struct *p = bpf_get_current_task_btf();
	__u64 now = bpf_ktime_get_ns();

	cpu->armed = 0;
	if (p->pid != cpu->thread || !p->pid)
		return 0;
	if (before(now, cpu->slice.end)) {
		start_timer(cpu, cpu->slice.end);
		return 0;
	}
	if (defers && cpu->placed && put_off(p, cpu, now))
		return 0;
	scx_bpf_kick_cpu(*key, NUMBER(scx_kick_flags, SCX_KICK_PREEMPT));
	return 0;
}

/* Queueing. */

/*
 * For who told it of a new thread waits, and may lose its CPU in a queue meanwhile. What it takes it pays for:
 * running() takes the head start back.
 */
static __always_inline __u64 head_start(const struct task_struct *p)
{
	return p->tgid == loader ? slice_ns : 0;
}

SEC("struct_ops/select_cpu")
__s32 BPF_PROG(select_cpu, struct task_struct *p, __s32 prev, __u64 wake_flags)
{
	bool idle = false;
	__s32 cpu = scx_bpf_select_cpu_dfl(p, prev, wake_flags, &idle);

	if (idle) {
		p->scx.dsq_vtime = vtime_of(p, slice_ns) - head_start(p);
		scx_bpf_dsq_insert(p, NUMBER(scx_dsq_id_flags, SCX_DSQ_LOCAL), slice_given(), 0);
	}
	return cpu;
}

/* A thread of the kernel's that serves one CPU is next there: it works for whoever runs. */
static __always_inline bool serves_cpu(const struct task_struct *p)
{
	return p->flags & PF_KTHREAD && p->nr_cpus_allowed == 1;
}

SEC("struct_ops/enqueue")
void BPF_PROG(enqueue, struct task_struct *p, __u64 enq_flags)
{
	if (serves_cpu(p)) {
		scx_bpf_dsq_insert(p, NUMBER(scx_dsq_id_flags, SCX_DSQ_LOCAL), slice_given(),
				   enq_flags | NUMBER(scx_enq_flags, SCX_ENQ_HEAD));
		return;
	}
	scx_bpf_dsq_insert_vtime(p, QUEUE, slice_given(), vtime_of(p, slice_ns) - head_start(p),
				 enq_flags);
	kick_idle(p);
}

/* Choosing. */

/* Has the first in the queue had so much that who runs may go on? It must be clear, or turns would alternate. */
static __always_inline bool goes_on(struct task_struct *prev, __s32 cpu)
{
	__u64 then = prev->scx.dsq_vtime + weighted(prev, slice_ns) * 3 / 4;
	struct task_struct *p;
	bool least = true;

	bpf_for_each(scx_dsq, p, QUEUE, 0)
	{
		if (!can_run(p, cpu))
			continue;
		least = before(then, p->scx.dsq_vtime);
		break;
	}
	return least;
}

/*
 * The thread that `prev` waits for, of the same process, if it is in the queue and not far ahead of the
 * first there: it is charged as always, so who name each other in turn get no more than that. (Ahead of
 * `vtime_now` would be no limit, for they would move that.)
 */
static __always_inline bool led(struct task_struct *prev, __s32 thread, __s32 cpu)
{
	struct task_struct *p;
	bool done = false, first = true;
	__u64 most = 0;

	bpf_for_each(scx_dsq, p, QUEUE, 0)
	{
		struct task_struct *holder;

		if (first)
			most = p->scx.dsq_vtime + 2 * slice_ns;
		first = false;
		if (p->pid != thread)
			continue;
		if (p->tgid != prev->tgid || !can_run(p, cpu) || before(most, p->scx.dsq_vtime))
			break;
		holder = bpf_task_from_pid(thread);
		if (!holder)
			break;
		done = scx_bpf_dsq_move(&___it, holder, NUMBER(scx_dsq_id_flags, SCX_DSQ_LOCAL), 0);
		bpf_task_release(holder);
		break;
	}
	return done;
}

static __always_inline bool lead(struct task_struct *prev, __s32 cpu)
{
	struct ol_slot *slot = slot_of(prev);
	__s32 thread = slot ? slot->words.waits_for : 0;
	bool done;

	if (!thread || thread == prev->pid)
		return false;
	COUNT_UP(named, 1);
	done = led(prev, thread, cpu);
	if (done)
		COUNT_UP(led, 1);
	else
		COUNT_UP(unled, 1);
	return done;
}

/* The kernel then ends the slice of a thread that yields, as nothing else does before its end. */
static __always_inline bool yields(const struct task_struct *p, const struct cpu *cpu, __u64 now)
{
	return !p->scx.slice && before(now, cpu->slice.end);
}

SEC("struct_ops/dispatch")
void BPF_PROG(dispatch, __s32 at, struct task_struct *prev)
{
	__u32 key = at;
	struct cpu *cpu = bpf_map_lookup_elem(&cpus, &key);
	bool runnable = prev && cpu && prev->scx.flags & NUMBER(scx_ent_flags, SCX_TASK_QUEUED);
	__u64 now = 0;

	if (prev && cpu && runnable) {
		now = bpf_ktime_get_ns();
		charge(prev, cpu, now);
		if (leads && cpu->placed && lead(prev, at))
			return;
		if (!yields(prev, cpu, now) && goes_on(prev, at)) {
			renew(prev, cpu, now);
			return;
		}
	}
	if (scx_bpf_dsq_move_to_local(QUEUE))
		return;
	if (prev && cpu && runnable)
		renew(prev, cpu, now);
}

/* Running. */

/* The rest of a slice that was interrupted, or another one. */
static __always_inline void begin_slice(struct task_struct *p, struct cpu *cpu, __u64 now)
{
	bool goes_on = cpu->interrupted == p->pid;

	if (goes_on)
		cpu->interrupted = 0;
	if (goes_on && before(now, cpu->rest.end)) {
		cpu->slice = cpu->rest;
	} else {
		if (goes_on)
			COUNT_UP(broken, 1);
		cpu->slice.put_off = false;
		cpu->slice.begin = now;
		cpu->slice.end = now + slice_ns;
		p->scx.slice = slice_given();
		COUNT_UP(slices, 1);
	}
	end_at(cpu, cpu->slice.end);
}

SEC("struct_ops/running")
void BPF_PROG(running, struct task_struct *p)
{
	struct cpu *cpu = cpu_of(p);
	struct place *place = place_of(p);
	__u64 now = bpf_ktime_get_ns();

	p->scx.dsq_vtime += head_start(p);
	advance(p, now);
	if (!cpu)
		return;
	cpu->thread = p->pid;
	cpu->placed = place;
	cpu->charged = pays_since(cpu, now);
	begin_slice(p, cpu, now);
	if (!place)
		return;
	place->id = now;
	publish(p, place, &cpu->slice, now);
}

static __always_inline void note_end(const struct cpu *cpu, __u64 now)
{
	struct sched_stats *s = counted();
	__u64 end = cpu->slice.end, off = before(now, end) ? end - now : now - end;

	if (!s)
		return;
	s->taken++;
	if (off <= WITHIN_NS)
		s->within++;
	if (before(now, end))
		note(s->early, off);
	else
		note(s->after, off);
}

/*
 * Who yields goes behind those who wait; to that end it pays for the rest of the slice, unless it names the
 * thread that shall run.
 */
static __always_inline __u64 pays_until(const struct cpu *cpu, const struct place *place,
					bool yielded, __u64 now)
{
	struct ol_slot *slot = leads && place ? place->slot : 0;

	return yielded && !(slot && slot->words.waits_for) ? cpu->slice.end : now;
}

SEC("struct_ops/stopping")
void BPF_PROG(stopping, struct task_struct *p, bool runnable)
{
	struct cpu *cpu = cpu_of(p);
	struct place *place;
	__u64 now = bpf_ktime_get_ns();
	bool yielded;

	if (!cpu)
		return;
	place = cpu->placed ? place_of(p) : 0;
	yielded = runnable && yields(p, cpu, now);
	charge(p, cpu, pays_until(cpu, place, yielded, now));
	cpu->left = now;
	cpu->thread = 0;
	if (cpu->slice.put_off)
		COUNT_UP(deferred_ns, now - (cpu->slice.end - defer_ns));
	if (!runnable) {
		COUNT_UP(slept, 1);
	} else if (yielded) {
		COUNT_UP(yielded, 1);
	} else if (before(now, cpu->slice.end)) {
		cpu->interrupted = p->pid;
		cpu->rest = cpu->slice;
		COUNT_UP(interrupted, 1);
	} else {
		note_end(cpu, now);
	}
	publish(p, place, 0, now);
}

/* Coming and going. */

/* The thread is no more, or this scheduler: nothing is known any more. */
SEC("struct_ops/exit_task")
void BPF_PROG(exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	struct place *place = place_of(p);
	struct ol_slot *slot = place ? place->slot : 0;

	if (!slot || slot->entry.thread != (__u32)p->pid)
		return;
	place->id = 0;
	publish(p, place, 0, 0);
}

static int begin_timer(__u32 i, void *unused)
{
	struct cpu *cpu = bpf_map_lookup_elem(&cpus, &i);

	if (!cpu)
		return 1;
	bpf_timer_init(&cpu->timer, &cpus, 1 /* CLOCK_MONOTONIC */);
	bpf_timer_set_callback(&cpu->timer, over);
	return 0;
}

const volatile __u32 nr_cpus = 1;

SEC("struct_ops.s/init")
__s32 BPF_PROG(init)
{
	bpf_loop(nr_cpus, begin_timer, 0, 0);
	return scx_bpf_create_dsq(QUEUE, -1);
}

SEC("struct_ops/exit")
void BPF_PROG(left, struct scx_exit_info *info)
{
	bpf_probe_read_kernel_str(reason, sizeof(reason), info->reason);
	ended = info->kind ? info->kind : -1;
}

SEC(".struct_ops.link")
struct sched_ext_ops overlock = {
	.select_cpu = (void *)select_cpu,
	.enqueue = (void *)enqueue,
	.dispatch = (void *)dispatch,
	.running = (void *)running,
	.stopping = (void *)stopping,
	.enable = (void *)enable,
	.exit_task = (void *)exit_task,
	.init = (void *)init,
	.exit = (void *)left,
	.timeout_ms = 5000,
	.name = "overlock",
};
