/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "cell.h"
#include "burn.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef OL_COUNTED
#include "site.h"
#endif

struct workload_lock {
	const struct ol_lock_ops *ops;
	void *memory;
};

struct workload_times {
	uint64_t critical, outside;
};

static inline void workload_acquire(struct workload_lock *lock)
{
	lock->ops->lock(lock->memory);
}

static inline void workload_release(struct workload_lock *lock)
{
	lock->ops->unlock(lock->memory);
}

#include <workload_headers.h>

/* Time to settle before the measured time, as a part of it. */
#define WARM_UP		0.1
/* A collapsed FIFO lock lets its waiters go one time slice each: not worth more than this. */
#define DRAIN_SECONDS	0.25
/* A cell that takes this much longer than it should hangs. */
#define HANG_SECONDS	10.0

struct worker {
	uint64_t turns; /* written by its thread only, read by the main thread */
	struct run *run;
	pthread_t thread;
} OL_OWN_LINE;

struct run {
	struct workload_lock lock;
	struct workload_times times;
	void (*loop)(struct worker *me);
	void *shared;
	pthread_barrier_t start;
	uint32_t stop OL_OWN_LINE;
	uint32_t working; /* threads not yet out of their loops */
	struct worker workers[];
};

/* What differs between workloads is generated here, so that a turn is inlined into its loop. */
#define WORKLOAD(name, what)							\
	static void name##_loop(struct worker *me)				\
	{									\
		struct run *run = me->run;					\
		uint64_t turns = 0;						\
		while (!ol_load_relaxed(&run->stop)) {				\
			name##_turn((struct name *)run->shared, &run->lock, &run->times); \
			ol_store_relaxed(&me->turns, ++turns);			\
		}								\
	}									\
	static const char *name##_verdict(const void *shared, uint64_t turns, unsigned inside) \
	{									\
		return name##_check((const struct name *)shared, turns, inside);\
	}
#include "workloads.def"
#undef WORKLOAD

static const struct workload {
	const char *name;
	size_t size;
	void (*loop)(struct worker *me);
	const char *(*check)(const void *shared, uint64_t turns, unsigned inside);
} workloads[] = {
#define WORKLOAD(name, what) { #name, sizeof(struct name), name##_loop, name##_verdict },
#include "workloads.def"
#undef WORKLOAD
};

int cell_find_workload(const char *name)
{
	for (size_t i = 0; i < sizeof(workloads) / sizeof(workloads[0]); i++)
		if (strcmp(workloads[i].name, name) == 0)
			return (int)i;
	return -1;
}

static double now(void)
{
	return (double)ol_clock() * 1e-9;
}

static void sleep_for(double seconds)
{
	struct timespec t = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

/* What has been used and done up to now. */
struct usage {
	double when, cpu;
	uint64_t voluntary, involuntary;
};

static struct usage usage_now(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (struct usage){
		.when = now(),
		.cpu = (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
		       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6,
		.voluntary = (uint64_t)r.ru_nvcsw,
		.involuntary = (uint64_t)r.ru_nivcsw,
	};
}

static void *work(void *arg)
{
	struct worker *me = (struct worker *)arg;

	pthread_barrier_wait(&me->run->start);
	me->run->loop(me);
	ol_add_release(&me->run->working, -1u); /* pairs with the acquire in drain() */
	return NULL;
}

/* Memory of whole cache lines, all zero. */
static void *lines(size_t size)
{
	void *p = aligned_alloc(128, (size + 127) / 128 * 128);

	if (p)
		memset(p, 0, (size + 127) / 128 * 128);
	return p;
}

static struct run *set_up(const struct cell *cell)
{
	const struct ol_lock_ops *ops = cell->subject.ops;
	struct run *run = lines(sizeof(*run) + cell->threads * sizeof(struct worker));

	if (!run)
		return NULL;
	run->lock = (struct workload_lock){ ops, lines(ops->size) };
	run->times = (struct workload_times){ cell->critical_units, cell->outside_units };
	run->loop = workloads[cell->workload].loop;
	run->shared = lines(workloads[cell->workload].size);
	run->working = cell->threads;
	if (!run->lock.memory || !run->shared)
		return NULL;
	if (cell->subject.init)
		cell->subject.init(run->lock.memory);
	if (pthread_barrier_init(&run->start, NULL, cell->threads + 1))
		return NULL;
	return run;
}

static bool start(struct run *run, unsigned threads)
{
	pthread_attr_t attr;
	bool ok = true;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 * 1024); /* thousands of threads are a fair question */
	for (unsigned i = 0; ok && i < threads; i++) {
		struct worker *w = &run->workers[i];

		w->run = run;
		errno = pthread_create(&w->thread, &attr, work, w);
		ok = errno == 0;
	}
	pthread_attr_destroy(&attr);
	return ok;
}

static void read_turns(const struct run *run, unsigned threads, uint64_t *turns)
{
	for (unsigned i = 0; i < threads; i++)
		turns[i] = ol_load_relaxed(&run->workers[i].turns) - turns[i];
}

static void drain(struct run *run, struct cell_result *result)
{
	double since = now();

	ol_store_relaxed(&run->stop, 1u);
	while (!(result->drained = ol_load_acquire(&run->working) == 0) &&
	       now() - since < DRAIN_SECONDS)
		sleep_for(0.001);
	result->drain_seconds = now() - since;
}

static void verify(const struct cell *cell, const struct run *run, struct cell_result *result)
{
	const char *wrong;
	uint64_t turns = 0;

	for (unsigned i = 0; i < cell->threads; i++)
		turns += ol_load_relaxed(&run->workers[i].turns);
	wrong = workloads[cell->workload].check(run->shared, turns,
						result->drained ? 0 : cell->threads);
	if (wrong)
		strncpy(result->wrong, wrong, sizeof(result->wrong) - 1);
}

#ifdef OL_COUNTED
static void add_site(const struct ol_site_record *record, void *arg)
{
	struct cell_result *result = arg;

	for (unsigned i = 0; i < OL_EVENTS; i++)
		result->events[i] += record->events[i];
	result->wait_ns += record->wait_ns;
	result->hold_ns += record->hold_ns;
}
#endif

/* Runs in the cell's own process. Its exit status is 0, or the errno of what was impossible. */
static int measure(const struct cell *cell, struct cell_result *result)
{
	struct usage from, to;
	struct run *run = set_up(cell);

	if (!run || !start(run, cell->threads))
		return errno ? errno : ENOMEM;
	pthread_barrier_wait(&run->start);
	sleep_for(cell->seconds * WARM_UP);
	from = usage_now();
	read_turns(run, cell->threads, result->turns);
	sleep_for(cell->seconds);
	to = usage_now();
	read_turns(run, cell->threads, result->turns);
	result->seconds = to.when - from.when;
	result->cpu_seconds = to.cpu - from.cpu;
	result->voluntary = to.voluntary - from.voluntary;
	result->involuntary = to.involuntary - from.involuntary;
	drain(run, result);
	verify(cell, run, result);
#ifdef OL_COUNTED
	ol_sites_read(add_site, result);
#endif
	return 0;
}

/* The signals that end a cell from outside, and the one that says it has ended. */
static sigset_t awaited(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	return set;
}

void cell_prepare(void)
{
	sigset_t set = awaited();

	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* The next of those signals, or 0 once `deadline` has passed. */
static int next_signal(double deadline)
{
	sigset_t set = awaited();
	double left = deadline - now();
	struct timespec t = { 0, 0 };
	int signal;

	if (left > 0)
		t = (struct timespec){ (time_t)left, (long)((left - (double)(time_t)left) * 1e9) };
	do {
		signal = sigtimedwait(&set, NULL, &t);
	} while (signal < 0 && errno == EINTR);
	return signal < 0 ? 0 : signal;
}

static enum cell_end await(pid_t child, double deadline)
{
	enum cell_end end = CELL_DONE;
	int status, signal;

	do {
		signal = next_signal(deadline);
		if (waitpid(child, &status, WNOHANG) == child) {
			if (signal && signal != SIGCHLD) /* both at once: it is not lost */
				return CELL_INTERRUPTED;
			errno = WIFEXITED(status) ? WEXITSTATUS(status) : EFAULT;
			return errno ? CELL_IMPOSSIBLE : CELL_DONE;
		}
	} while (signal == SIGCHLD);
	end = signal ? CELL_INTERRUPTED : CELL_HUNG;
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return end;
}

/* Memory that the cell's process writes and we read; it grows to the largest cell. */
static struct cell_result *shared_result(unsigned threads)
{
	static struct cell_result *result;
	static size_t have;
	size_t need = sizeof(*result) + threads * sizeof(result->turns[0]);

	if (have < need) {
		if (result)
			munmap(result, have);
		result =
			mmap(NULL, need, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (result == MAP_FAILED)
			result = NULL;
		have = result ? need : 0;
	}
	if (result)
		memset(result, 0, need);
	return result;
}

enum cell_end cell_run(const struct cell *cell, const struct cell_result **out)
{
	struct cell_result *result = shared_result(cell->threads);
	double deadline = now() + cell->seconds * (1 + WARM_UP) * 2 + HANG_SECONDS;
	pid_t child;

	*out = result;
	if (!result)
		return CELL_IMPOSSIBLE;
	child = fork();
	if (child < 0)
		return CELL_IMPOSSIBLE;
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(measure(cell, result));
	}
	return await(child, deadline);
}
