/* SPDX-License-Identifier: MIT */
/*
 * overlock-hog: a CPU-bound neighbour that never touches a lock, for the scenarios of
 * `overlock bench`. It spins until its parent ends.
 *
 *     overlock-hog PARENT POLICY SLICE_NS BUSY_US PERIOD_US
 *
 * PARENT is the parent's process id. POLICY is other, batch or fifo. SLICE_NS is the time slice to
 * ask the kernel for, 0 for the kernel's own. BUSY_US of CPU time in every PERIOD_US are used, all
 * of it if BUSY_US is 0. It says "ready" once the kernel has agreed.
 */
#define _GNU_SOURCE
#include "sched_attr.h"
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum { EXIT_REFUSED = 1, EXIT_USAGE = 2 };

static const struct policy {
	const char *name;
	uint32_t number, priority;
} policies[] = {
	{ "other", SCHED_OTHER, 0 },
	{ "batch", SCHED_BATCH, 0 },
	{ "fifo", SCHED_FIFO, 1 },
};

static const struct policy *find_policy(const char *name)
{
	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++)
		if (strcmp(policies[i].name, name) == 0)
			return &policies[i];
	return NULL;
}

/* The parent may have ended before the kernel was told to end us with it. */
static void end_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		exit(0);
}

/* Keeps the niceness. */
static void schedule_as(const struct policy *policy, uint64_t slice_ns)
{
	struct attributes wanted;

	if (attributes_get(&wanted)) {
		wanted.flags = 0;
		wanted.policy = policy->number;
		wanted.priority = policy->priority;
		wanted.runtime_ns = slice_ns;
		if (attributes_set(&wanted))
			return;
	}
	puts(strerror(errno));
	exit(EXIT_REFUSED);
}

static int64_t to_us(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return to_us(t);
}

static void burn(int64_t us)
{
	int64_t until = cpu_us() + us;

	while (cpu_us() < until)
		;
}

/* Each has a phase of its own, its start: they do not all wake at once. What is missed is lost. */
static void take_turns(int64_t busy_us, int64_t period_us)
{
	struct timespec t;
	int64_t next, now;

	clock_gettime(CLOCK_MONOTONIC, &t);
	next = to_us(t);
	for (;;) {
		burn(busy_us);
		clock_gettime(CLOCK_MONOTONIC, &t);
		now = to_us(t);
		next += ((now - next) / period_us + 1) * period_us;
		t = (struct timespec){ next / 1000000, next % 1000000 * 1000 };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	}
}

int main(int argc, char **argv)
{
	const struct policy *policy = argc == 6 ? find_policy(argv[2]) : NULL;
	int64_t busy_us, period_us;

	if (!policy) {
		fputs("usage: overlock-hog PARENT other|batch|fifo SLICE_NS BUSY_US PERIOD_US\n",
		      stderr);
		return EXIT_USAGE;
	}
	end_with(atoi(argv[1]));
	schedule_as(policy, strtoull(argv[3], NULL, 10));
	busy_us = atoll(argv[4]);
	period_us = atoll(argv[5]);
	puts("ready");
	fflush(stdout);
	if (busy_us)
		take_turns(busy_us, period_us);
	for (;;)
		__asm__ volatile("" ::: "memory");
}
