/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "processes.h"
#include "alone.h"
#include "run.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A cell that takes this much longer than it should hangs. */
#define HANG_SECONDS	10.0
/* A turn by itself is found out long before. */
#define ALONE_SECONDS	3.0
/* How often to look whether somebody still reads the answers. */
#define READER_SECONDS	0.5

static char why[192];

const char *cell_why(void)
{
	return why;
}

static double now(void)
{
	return (double)ol_clock() * 1e-9;
}

/* The signals that end a cell from outside, and the one that says that a process has ended. */
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

static bool nobody_reads(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO };

	return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

/* The processes of a cell. A pid that is 0 has been waited for. */
struct processes {
	pid_t *pids;
	unsigned n, left;
};

static void kill_all(struct processes *p)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->pids[i])
			kill(p->pids[i], SIGKILL);
	for (unsigned i = 0; i < p->n; i++)
		if (p->pids[i])
			waitpid(p->pids[i], NULL, 0);
	p->left = 0;
}

/* Waits for those that have ended; false if one of them failed, and says why. */
static bool reap(struct processes *p, const struct cell_memory *memory)
{
	bool ok = true;
	int status;

	for (unsigned i = 0; i < p->n; i++) {
		if (!p->pids[i] || waitpid(p->pids[i], &status, WNOHANG) != p->pids[i])
			continue;
		p->pids[i] = 0;
		p->left--;
		if (WIFSIGNALED(status))
			snprintf(why, sizeof(why), "killed by signal %d (%s)", WTERMSIG(status),
				 strsignal(WTERMSIG(status)));
		else if (WEXITSTATUS(status))
			snprintf(why, sizeof(why), "%s", copy_of(memory, i)->impossible);
		ok &= status == 0;
	}
	return ok;
}

static enum cell_end await(struct processes *p, const struct cell_memory *memory, double deadline)
{
	while (p->left) {
		double tick = now() + READER_SECONDS;
		int signal = next_signal(tick < deadline ? tick : deadline);

		if (signal && signal != SIGCHLD)
			return CELL_INTERRUPTED;
		if (!reap(p, memory))
			return CELL_IMPOSSIBLE;
		if (p->left && now() >= deadline)
			return CELL_HUNG;
		if (p->left && !signal && nobody_reads())
			return CELL_INTERRUPTED;
	}
	return CELL_DONE;
}

/* True in the server. The child ends with us: not when our thread does, for we have but one. */
static bool start_copy(struct processes *p, const struct cell *cell,
		       const struct cell_memory *memory, bool alone)
{
	pid_t server = getpid(), child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != server) /* it was gone before we asked */
			_exit(EXIT_FAILURE);
		_exit(alone ? !run_alone(cell, memory) : !run_copy(cell, memory, p->n));
	}
	if (child < 0) {
		snprintf(why, sizeof(why), "fork: %s", strerror(errno));
		return false;
	}
	p->pids[p->n++] = child;
	p->left++;
	return true;
}

static enum cell_end run_all(const struct cell *cell, const struct cell_memory *memory, bool alone,
			     double seconds)
{
	struct processes p = { .pids = calloc(cell->copies, sizeof(pid_t)) };
	enum cell_end end = CELL_DONE;
	sigset_t set = awaited(), before;

	if (!p.pids) {
		snprintf(why, sizeof(why), "out of memory");
		return CELL_IMPOSSIBLE;
	}
	sigprocmask(SIG_BLOCK, &set, &before);
	while (end == CELL_DONE && p.n < (alone ? 1 : cell->copies))
		if (!start_copy(&p, cell, memory, alone))
			end = CELL_IMPOSSIBLE;
	if (end == CELL_DONE)
		end = await(&p, memory, now() + seconds);
	kill_all(&p);
	sigprocmask(SIG_SETMASK, &before, NULL);
	free(p.pids);
	return end;
}

/* How long the threads are expected to run, for the meter: by count, no shorter than this. */
static double expected_seconds(const struct cell *cell)
{
	double serial = (double)cell->turns * cell->threads * cell->turn_ns * 1e-9;

	return cell->turns && serial < cell->seconds ? serial : cell->seconds;
}

static bool allocate(const struct cell *cell, struct cell_memory *memory)
{
	size_t place = sizeof(struct place_result);
	pthread_barrierattr_t shared;

	memory->plan = meter_plan(cell->threads * cell->copies, expected_seconds(cell));
	if (cell->measured)
		place += memory->plan.capacity * sizeof(struct sample);
	else
		memory->plan.capacity = 0;
	memory->copy_size = (sizeof(struct copy_result) + cell->threads * place + 4095) & ~4095ul;
	memory->size = 4096 + cell->copies * memory->copy_size;
	memory->start =
		mmap(NULL, memory->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory->start == MAP_FAILED) {
		snprintf(why, sizeof(why), "%s", strerror(errno));
		return false;
	}
	memory->copies = (char *)memory->start + 4096;
	pthread_barrierattr_init(&shared);
	pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&memory->start->all, &shared, cell->copies);
	pthread_barrierattr_destroy(&shared);
	return true;
}

void cell_forget(struct cell_memory *memory)
{
	munmap(memory->start, memory->size);
}

enum cell_end cell_run(const struct cell *cell, struct cell_memory *memory)
{
	enum cell_end end;

	if (!allocate(cell, memory))
		return CELL_IMPOSSIBLE;
	end = run_all(cell, memory, false, cell->seconds * 1.5 + HANG_SECONDS);
	if (end != CELL_DONE)
		cell_forget(memory);
	return end;
}

/* What was found out, by workload, parameters and whether measured. */
struct known {
	unsigned workload;
	bool measured;
	struct workload_params params;
	double turn_ns;
	struct known *next;
};

static double find_turn_ns(const struct cell *cell, bool measured)
{
	struct cell alone = *cell;
	struct cell_memory memory;
	enum cell_end end;
	double ns = 0;

	alone.measured = measured;
	alone.threads = alone.copies = 1;
	alone.turns = 1;
	alone.turn_ns = ALONE_SECONDS * 1e9; /* room for the samples of as long as it may take */
	alone.seconds = ALONE_SECONDS;
	if (!allocate(&alone, &memory))
		return 0;
	end = run_all(&alone, &memory, true, ALONE_SECONDS);
	if (end == CELL_INTERRUPTED) /* the signal was for the server */
		exit(CELL_EXIT_INTERRUPTED);
	if (end == CELL_DONE)
		ns = copy_of(&memory, 0)->turn_ns;
	cell_forget(&memory);
	return ns;
}

double cell_turn_ns(const struct cell *cell, bool measured)
{
	static struct known *all;
	struct known *k;

	for (k = all; k; k = k->next)
		if (k->workload == cell->workload && k->measured == measured &&
		    !memcmp(&k->params, &cell->params, sizeof(k->params)))
			return k->turn_ns;
	k = malloc(sizeof(*k));
	if (!k)
		return find_turn_ns(cell, measured);
	*k = (struct known){ cell->workload, measured, cell->params, find_turn_ns(cell, measured),
			     all };
	all = k;
	return k->turn_ns;
}
