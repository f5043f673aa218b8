// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The threads, the timer that says what is counted, and what is checked at the end.
 *
 * Nothing of it waits for a thread to have had its turn: under a lock that has collapsed that can
 * take seconds. The timer's interrupt opens and closes the counted time and notes when it did.
 */
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <asm/tsc.h>
#include "loop.h"
#include "workload.h"

static char *workload = "sections";
module_param(workload, charp, 0444);
MODULE_PARM_DESC(workload, "which turns are taken");
static uint milliseconds = 1000;
module_param(milliseconds, uint, 0444);
MODULE_PARM_DESC(milliseconds, "that are counted");
static uint lead = 200;
module_param(lead, uint, 0444);
MODULE_PARM_DESC(lead, "milliseconds of turns before and after that, for other guests' sake");
static uint sample = 8;
module_param(sample, uint, 0444);
MODULE_PARM_DESC(sample, "one turn in so many is timed, at random; 0: none");
static ulong seed = 1;
module_param(seed, ulong, 0444);
MODULE_PARM_DESC(seed, "of the random numbers");

/* The longest that a thread of a replay works before others of its CPU may. */
#define STEP_PS		100000000ull

/* A thread that waits for a lock nobody gives back never comes; the host has to kill us then. */
#define DRAIN_SECONDS	20

static struct workload_params params;

/* The workloads' parameters: their presets are params.def's, times are given in ns. */
static struct {
#define PARAM(name, key, unit, preset, least, most, what)	ulong name##_##key;
#define CHOICE(name, key, values, what)				ulong name##_##key;
#include "params.def"
#undef PARAM
#undef CHOICE
} asked = {
#define PARAM(name, key, unit, preset, least, most, what)	.name##_##key = preset,
#define CHOICE(name, key, values, what)				.name##_##key = 0,
#include "params.def"
#undef PARAM
#undef CHOICE
};
#define PARAMETER(name, what)							\
	module_param_named(name, asked.name, ulong, 0444);			\
	MODULE_PARM_DESC(name, what);
#define PARAM(name, key, unit, preset, least, most, what) PARAMETER(name##_##key, what)
#define CHOICE(name, key, values, what) PARAMETER(name##_##key, "place in " values ": " what)
#include "params.def"
#undef PARAM
#undef CHOICE

struct trial trial;

struct workload_me {
	uint32_t index;
	struct workload_random random, sampling;
	struct worker *worker;
	bool left;	 /* after a round */
	u64 began;	 /* to wait, in cycles; 0: nothing is timed */
	u64 acquired;	 /* in cycles; 0: this turn is not timed */
	u64 from, slice; /* of this section, if preemptions are counted */
};

static bool watched; /* preemptions are counted, or it is a replay */

static void take_counted(struct workload_me *me, struct workload_lock *l)
{
	struct wait w = wait_begun(me->worker, l);

	spin_lock(&l->lock);
	me->from = wait_over(me->worker, l, w);
	me->slice = slice_of(me->worker, me->from);
}

/* So that the host can compare what was done, and in which order, with what was to be done. */
static void note_step(struct pass *pass, const struct workload_lock *l, bool is_release)
{
	const u64 factor =
		0x9e3779b97f4a7c15ull; /* as in python/overlock_tools/core/trace/compare.py */

	pass->hash = pass->hash * factor + 2 * (u64)(l - trial.locks) + is_release + 1;
	pass->ops++;
}

static void take_replayed(struct workload_me *me, struct workload_lock *l)
{
	struct pass *pass = &me->worker->pass;
	bool held = spin_is_locked(&l->lock);
	u64 began = rdtsc();

	spin_lock(&l->lock);
	if (pass->over)
		return;
	l->first.taken++;
	if (held) {
		l->first.waits++;
		l->first.waited += rdtsc() - began;
	}
	note_step(pass, l, false);
}

static noinline void take_watched(struct workload_me *me, struct workload_lock *l)
{
	if (trial.replays)
		take_replayed(me, l);
	else
		take_counted(me, l);
}

static noinline void leave_watched(struct workload_me *me, struct workload_lock *l)
{
	if (!trial.replays)
		section_over(me->worker, l, me->from, me->slice);
	else if (!me->worker->pass.over)
		note_step(&me->worker->pass, l, true);
}

static __always_inline void take(struct workload_me *me, struct workload_lock *l)
{
	if (likely(!watched))
		spin_lock(&l->lock);
	else
		take_watched(me, l);
}

/* Off by `sample`, the clock is not even looked at. */
static __always_inline void workload_acquire(struct workload_me *me, struct workload_lock *l)
{
	u64 now;

	if (!sample) {
		take(me, l);
		return;
	}
	me->acquired = 0;
	me->began = rdtsc();
	take(me, l);
	if (l->released) {
		now = rdtsc();
		/*
		 * Who came after the release was not waiting for it. The clocks of two virtual
		 * CPUs may differ by more than a hand-over takes.
		 */
		if (me->began < l->released && l->released < now &&
		    READ_ONCE(trial.phase) == COUNTED)
			record(&me->worker->handover, now - l->released);
		l->released = 0;
	}
	if (workload_random_below(&me->sampling, sample))
		return;
	me->acquired = rdtsc();
	if (READ_ONCE(trial.phase) == COUNTED)
		record(&me->worker->wait, me->acquired - me->began);
}

static __always_inline void workload_release(struct workload_me *me, struct workload_lock *l)
{
	if (sample && me->acquired) {
		u64 now = rdtsc();

		if (READ_ONCE(trial.phase) == COUNTED)
			record(&me->worker->hold, now - me->acquired);
		l->released = now;
		me->acquired = 0; /* not of a lock around it */
	}
	if (unlikely(watched))
		leave_watched(me, l);
	spin_unlock(&l->lock);
}

static noinline void workload_burn(uint64_t units)
{
	uint64_t x = units, i;

	for (i = 0; i < units; i++) {
		x = x * 6364136223846793005u + 1;
		asm volatile("" : "+r"(x)); /* neither unrolled away nor folded, nor left out */
	}
}

#include "fairness.h"
#include "lockloop.h"
#include "mutexbench.h"
#include "replay_threads.h"
#include "sections.h"
#include "stress_latency.h"

/*
 * Of workloads.def, those that take a lock over and over. Of the others `rounds` meets at barriers, and the rest need
 * what a kernel's spinlock has not: condition variables, transactions.
 */
#define EACH_LOOP(LOOP) \
	LOOP(sections) LOOP(mutexbench) LOOP(lockloop) LOOP(fairness) LOOP(stress_latency) LOOP(replay)

struct loop {
	const char *name;
	size_t shared, guarded, own;
	void (*turns)(struct worker *worker, void *own);
	const char *(*check)(u64 turns, uint inside);
	int (*make)(u32 contexts); /* what else they need; or null, as the next */
	void (*free)(void);
};

static struct workload_run run;
static void *shared;

/* When a turn began; once per turn. */
static void mark(struct worker *worker)
{
	u64 now = rdtsc();

	if (READ_ONCE(trial.phase) == COUNTED && worker->last && now - worker->last > worker->gap)
		WRITE_ONCE(worker->gap, now - worker->last);
	WRITE_ONCE(worker->last, now);
}

#define LOOP(name)										\
	static void name##_turns(struct worker *worker, void *own)				\
	{											\
		struct workload_me *me = worker->me;						\
												\
		name##_begin(&run, shared, own, me);						\
		while (READ_ONCE(trial.phase) != OVER) {					\
			mark(worker);								\
			if (name##_turn(&run, shared, own, me))					\
				WRITE_ONCE(worker->turns, worker->turns + 1);			\
			cond_resched();								\
		}										\
	}											\
	static const char *name##_verdict(u64 turns, uint inside)				\
	{											\
		return name##_check(&run, shared, turns, inside);				\
	}
EACH_LOOP(LOOP)
#undef LOOP

/* Waits, which want a kernel that has them. */
#ifdef CONFIG_OVERLOCK_SPINLOCKS
#include "meetings.h"
#endif

static const struct loop loops[] = {
#define LOOP(name) { #name, sizeof(struct name), sizeof(struct name##_guarded),			\
		     sizeof(struct name##_own), name##_turns, name##_verdict },
	EACH_LOOP(LOOP)
#undef LOOP
#ifdef CONFIG_OVERLOCK_SPINLOCKS
		{ "rounds", sizeof(struct rounds), sizeof(struct rounds_guarded),
		  sizeof(struct rounds_own), rounds_turns, rounds_verdict, make_meeting_place,
		  free_meeting_place },
#endif
};

static const struct loop *chosen;

static int work(void *arg)
{
	struct worker *worker = arg;
	void *own = (char *)worker->me + sizeof(struct workload_me);

	slices_watch(worker);
	atomic_inc(&trial.ready);
	while (READ_ONCE(trial.phase) == WAITING)
		cond_resched();
	chosen->turns(worker, own);
	if (!worker->pass.over)
		worker->pass.ended = rdtsc();
	slices_unwatch(worker);
	WRITE_ONCE(worker->finished, true);
	if (atomic_dec_and_test(&trial.working))
		complete(&trial.all_out);
	/* Nothing of this module may run once it is being removed. */
	while (!kthread_should_stop()) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (!kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);
	}
	return 0;
}

static void look(struct look *at)
{
	uint i;

	for (i = 0; i < trial.n; i++)
		at->turns[i] = READ_ONCE(trial.workers[i]->turns);
	at->when = rdtsc();
}

/* Who still waits at the end has waited since its turn began. */
static void look_at_gaps(void)
{
	u64 now = rdtsc();
	uint i;

	for (i = 0; i < trial.n; i++) {
		struct worker *worker = trial.workers[i];
		u64 last = READ_ONCE(worker->last);

		if (last && last < now && now - last > READ_ONCE(worker->gap))
			WRITE_ONCE(worker->gap, now - last);
	}
}

static enum hrtimer_restart turn_the_page(struct hrtimer *timer)
{
	switch (trial.phase) {
	case LEAD_IN:
		look(&trial.first);
		WRITE_ONCE(trial.phase, COUNTED);
		hrtimer_forward_now(timer, ms_to_ktime(milliseconds));
		return HRTIMER_RESTART;
	case COUNTED:
		look(&trial.last);
		look_at_gaps();
		WRITE_ONCE(trial.phase, LEAD_OUT);
		hrtimer_forward_now(timer, ms_to_ktime(lead));
		return HRTIMER_RESTART;
	default:
		WRITE_ONCE(trial.phase, OVER);
		return HRTIMER_NORESTART;
	}
}

/*
 * How long a step of workload_burn() takes: the shortest of many tries, for nothing shortens one. The
 * pauses spread them over more time than a neighbour on the host's CPU takes.
 */
static u64 unit_ps(void)
{
	const uint units = 20000;
	u64 least = U64_MAX;
	uint i;

	for (i = 0; i < 64; i++) {
		u64 began = rdtsc();

		workload_burn(units);
		least = min(least, (u64)(rdtsc() - began));
		usleep_range(500, 1000);
	}
	return max(1ull, mul_u64_u64_div_u64(least, 1000000000, (u64)tsc_khz * units));
}

enum unit { ns, count, milli };

static u64 in_units(ulong value, enum unit unit)
{
	return unit == ns ? div64_u64((u64)value * 1000, trial.unit_ps) : value;
}

static void set_params(void)
{
#define PARAM(name, key, unit, ...)	params.name##_##key = in_units(asked.name##_##key, unit);
#define CHOICE(name, key, ...)		params.name##_##key = asked.name##_##key;
#include "params.def"
#undef PARAM
#undef CHOICE
}

/* Without a CPU of its own it goes where the scheduler puts it. */
static struct task_struct *new_thread(struct worker *worker, uint i, int cpu)
{
	if (cpu < 0)
		return kthread_create(work, worker, "overlock/%u", i);
	return kthread_create_on_cpu(work, worker, (uint)cpu, "overlock/%u");
}

static struct worker *new_worker(uint i, int cpu)
{
	int node = cpu < 0 ? NUMA_NO_NODE : cpu_to_node(cpu);
	struct worker *worker = kvzalloc_node(sizeof(*worker), GFP_KERNEL, node);
	struct workload_me *me = kvzalloc_node(sizeof(*me) + chosen->own, GFP_KERNEL, node);

	if (!worker || !me) {
		kvfree(worker);
		kvfree(me);
		return NULL;
	}
	me->index = i;
	me->worker = worker;
	workload_random_seed(&me->random, (u64)seed << 32 ^ i);
	workload_random_seed(&me->sampling, ~((u64)seed << 32 ^ i));
	worker->me = me;
	worker->task = new_thread(worker, i, cpu);
	if (IS_ERR(worker->task)) {
		kvfree(worker);
		kvfree(me);
		return NULL;
	}
	return worker;
}

static void stop_workers(void)
{
	uint i;

	for (i = 0; i < trial.n; i++) {
		kthread_stop(trial.workers[i]->task);
		kvfree(trial.workers[i]->me);
		kvfree(trial.workers[i]);
	}
	trial.n = 0;
}

static void free_all(void)
{
	kfree(trial.workers);
	kfree(trial.first.turns);
	kfree(trial.last.turns);
	kvfree(run.locks);
	kvfree(run.guarded);
	kvfree(shared);
	if (chosen->free)
		chosen->free();
	replay_free();
}

static uint count_locks(void)
{
	if (trial.replays)
		return replay_plan->locks;
	return strcmp(chosen->name, "sections") ? 1 : max(1ul, asked.sections_locks);
}

static int allocate(void)
{
	uint n = trial.replays ? replay_plan->threads : num_online_cpus(), i;

	run.n_locks = count_locks();
	trial.workers = kcalloc(n, sizeof(*trial.workers), GFP_KERNEL);
	trial.first.turns = kcalloc(n, sizeof(u64), GFP_KERNEL);
	trial.last.turns = kcalloc(n, sizeof(u64), GFP_KERNEL);
	run.locks = kvcalloc(run.n_locks, sizeof(*run.locks), GFP_KERNEL);
	run.guarded = kvcalloc(run.n_locks, chosen->guarded, GFP_KERNEL);
	shared = kvzalloc(chosen->shared, GFP_KERNEL);
	if (!trial.workers || !trial.first.turns || !trial.last.turns || !run.locks ||
	    !run.guarded || !shared)
		return -ENOMEM;
	trial.locks = run.locks;
	trial.n_locks = run.n_locks;
	for (i = 0; i < run.n_locks; i++)
		spin_lock_init(&run.locks[i].lock);
	return chosen->make ? chosen->make(n) : 0;
}

static int add_worker(int cpu)
{
	struct worker *worker = new_worker(trial.n, cpu);

	if (!worker)
		return -ENOMEM;
	trial.workers[trial.n++] = worker;
	return 0;
}

static int make_workers(void)
{
	int error = 0;
	uint cpu;

	if (trial.replays) {
		while (!error && trial.n < replay_plan->threads)
			error = add_worker(-1);
		return error;
	}
	for_each_online_cpu(cpu)
		error = error ?: add_worker((int)cpu);
	return error;
}

static void take_turns(void)
{
	ktime_t over;
	uint i;

	atomic_set(&trial.working, trial.n);
	init_completion(&trial.all_out);
	for (i = 0; i < trial.n; i++)
		wake_up_process(trial.workers[i]->task);
	while (atomic_read(&trial.ready) < trial.n)
		msleep(1);
	set_up(&trial.timer, turn_the_page, HRTIMER_MODE_REL_HARD);
	WRITE_ONCE(trial.phase, LEAD_IN);
	hrtimer_start(&trial.timer, ms_to_ktime(lead), HRTIMER_MODE_REL_HARD);
	while (READ_ONCE(trial.phase) != OVER)
		msleep(10);
	over = ktime_get();
	trial.drained = wait_for_completion_timeout(&trial.all_out, DRAIN_SECONDS * HZ);
	trial.drain_ns = ktime_to_ns(ktime_sub(ktime_get(), over));
}

static void check(void)
{
	u64 turns = 0;
	uint i, inside = 0;

	for (i = 0; i < trial.n; i++) {
		inside += !READ_ONCE(trial.workers[i]->finished);
		turns += READ_ONCE(trial.workers[i]->turns);
	}
	trial.wrong = chosen->check(turns, inside);
}

static int choose(void)
{
	uint i;

	for (i = 0; i < ARRAY_SIZE(loops); i++)
		if (!strcmp(loops[i].name, workload))
			chosen = &loops[i];
	if (!chosen)
		pr_err("overlock_loop: there is no workload %s\n", workload);
	else if (asked.sections_zipf)
		pr_err("overlock_loop: sections_zipf is not for kernels: take 0\n");
	else if (preemptions && (chosen->make || !strcmp(workload, "replay")))
		pr_err("overlock_loop: %s counts no preemptions: take 0\n", workload);
	else
		return 0;
	return -EINVAL;
}

static int prepare(void)
{
	int error = choose();

	if (error)
		return error;
	trial.workload = chosen->name;
	trial.replays = !strcmp(chosen->name, "replay");
	watched = preemptions || trial.replays;
	return trial.replays ? replay_load() : 0;
}

static int __init loop_init(void)
{
	int error = prepare();

	if (error)
		return error;
	cpus_read_lock();
	trial.unit_ps = unit_ps();
	trial.step = max(1ull, div64_u64(STEP_PS, trial.unit_ps));
	if (trial.replays)
		replay_convert();
	set_params();
	error = allocate() ?: make_workers();
	run.contexts = trial.n;
	run.params = &params;
	if (!error)
		take_turns();
	cpus_read_unlock();
	if (!error) {
		check();
		error = tell_begin();
	}
	if (error) {
		stop_workers();
		free_all();
	}
	return error;
}

static void __exit loop_exit(void)
{
	tell_end();
	stop_workers();
	free_all();
}

module_init(loop_init);
module_exit(loop_exit);
MODULE_DESCRIPTION("Turns at a spinlock on every CPU: how many, how long they wait, how evenly");
MODULE_LICENSE("Dual MIT/GPL");
