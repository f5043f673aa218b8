/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef LOOP_H
#define LOOP_H
/*
 * A workload of bench/workload/ on the kernel's own spinlock: a thread on each CPU takes turns, or as many
 * threads as a trace has, and a timer says when they are counted. Insert the module, wait until that has returned, read
 * /proc/overlock_loop.
 */
#include <linux/bitops.h>
#include <linux/cache.h>
#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/version.h>

/* Times by their logarithm, eight steps for each doubling: within 6 % of what they are. */
#define STEP_BITS	3
#define STEPS		(1u << STEP_BITS)
#define PLACES		(64u * STEPS)

struct times {
	u32 count[PLACES];
};

static inline unsigned int place_of(u64 cycles)
{
	unsigned int top;

	if (cycles < STEPS)
		return (unsigned int)cycles;
	top = (unsigned int)fls64(cycles) - 1;
	return (top - STEP_BITS + 1) * STEPS + (unsigned int)(cycles >> (top - STEP_BITS)) % STEPS;
}

/* The middle of what is counted at a place. */
static inline u64 cycles_at(unsigned int place)
{
	unsigned int shift = place / STEPS;

	if (!shift)
		return place;
	return ((u64)(STEPS + place % STEPS) << (shift - 1)) + ((1ull << (shift - 1)) >> 1);
}

static inline void record(struct times *t, u64 cycles)
{
	t->count[place_of(cycles)]++;
}

/* On the monotonic clock; newer kernels have it as one call. */
static inline void set_up(struct hrtimer *timer, enum hrtimer_restart (*then)(struct hrtimer *),
			  enum hrtimer_mode mode)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
	hrtimer_init(timer, CLOCK_MONOTONIC, mode);
	timer->function = then;
#else
	hrtimer_setup(timer, then, CLOCK_MONOTONIC, mode);
#endif
}

/* The last sections, so that who has waited can tell whether the lock was held a while ago. */
#define SECTIONS	64u

struct section {
	u64 from, to; /* in cycles */
};

/* Of a replay: what each thread's first pass through its trace did with a lock. */
struct first_passes {
	u64 taken, waits, waited; /* how often, of these it was held, and for how long, in cycles */
};

/* What a workload takes for a lock. */
struct workload_lock {
	spinlock_t lock;
	struct first_passes first; /* guarded by the lock */
	u64 released; /* by whom was sampled, in cycles; else 0. Guarded by the lock, as the next two */
	u64 n_sections;
	struct section sections[SECTIONS]; /* only if preemptions are counted */
	atomic_t waiting;
} ____cacheline_aligned;

/* What is counted of preemptions, by the names of events.def. */
#define EACH_EVENT(EVENT)	\
	EVENT(ACQUIRE) EVENT(STALL) EVENT(STALL_HELD) EVENT(STALL_FREE) EVENT(LHP) EVENT(LWP)

enum event {
#define EVENT(name)	COUNT_##name,
	EACH_EVENT(EVENT)
#undef EVENT
		EVENTS
};

/* Threads run through all of them; what happens while COUNTED is what is told. */
enum phase { WAITING, LEAD_IN, COUNTED, LEAD_OUT, OVER };

/* The timer's look at all threads at one moment. */
struct look {
	u64 when;   /* in cycles: the kernel's clock can lose time where ticks are late */
	u64 *turns; /* by thread */
};

/* Of a replay, a thread's first pass. */
struct pass {
	u64 began, ended; /* in cycles */
	u64 ops, hash;	  /* operations that were done, in their order */
	bool over;
};

struct worker {
	struct task_struct *task;
	void *me;      /* struct workload_me; the workload's texts are seen by loop.c alone */
	u64 turns;     /* written by the thread, read by the timer */
	u64 last;      /* when its last turn began, in cycles */
	u64 gap;       /* the longest time between two turns' beginnings, in cycles */
	bool finished; /* it will touch nothing more */
	struct times wait, hold, handover;
	struct pass pass;

	/* Only if preemptions are counted; by this CPU alone, its interrupts among them. */
	struct hrtimer ticker;
	u64 looked; /* at the clock, in cycles */
	u64 slices; /* that have begun, as far as the clock shows */
	u64 events[EVENTS];
	u64 waits, queue; /* begun, and how many others waited then, all together */
	u32 queue_most;
	u64 waited; /* in cycles, by all that found the lock taken */
};

struct trial {
	const char *workload;
	enum phase phase;
	unsigned int n;
	struct worker **workers;
	struct look first, last;
	atomic_t ready, working;
	struct completion all_out;
	struct hrtimer timer;
	u64 drain_ns; /* from OVER until the last was out */
	u64 unit_ps;  /* of workload_burn() */
	u64 step;     /* of work without a look at other threads, in units */
	bool replays;
	struct workload_lock *locks;
	unsigned int n_locks;
	bool drained;
	const char *wrong; /* null: every acquisition excluded the others */
};

extern struct trial trial;

/* Of slices.c. */
extern bool preemptions;

const char *slices_source(void);
u64 slice_of(struct worker *worker, u64 now);
void slices_watch(struct worker *worker);
void slices_unwatch(struct worker *worker);

struct wait {
	u64 began, slice;
};

struct wait wait_begun(struct worker *worker, struct workload_lock *l);
u64 wait_over(struct worker *worker, struct workload_lock *l, struct wait w);
void section_over(struct worker *worker, struct workload_lock *l, u64 from, u64 slice);

/* Of replay.c. */
struct replay_head;
extern struct replay_head *replay_plan; /* null before replay_load() */

int replay_load(void);
void replay_convert(void); /* once it is known how long a unit takes */
void replay_free(void);

int tell_begin(void);
void tell_end(void);
#endif
