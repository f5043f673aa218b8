/* SPDX-License-Identifier: MIT */
/*
 * yields OTHERS SECONDS [SLICE_NS[,session]]: what sched_yield() costs on a CPU that it shares with OTHERS
 * processes that compute. It works for 2 us, yields, and says in a line of JSON how many yields came back at once, how
 * long the others took, and what of the CPU was left to it. SLICE_NS is the slice that it asks for itself, 0 for the
 * kernel's; with `session` it is in a session of its own, and so in another autogroup than the others.
 */
#include "counted.h"
#include <linux/types.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEPS = 500, MOST = 16, AT_ONCE_NS = 100000 };

/* The first version of the kernel's structure. */
struct attributes {
	__u32 size, policy;
	__u64 flags;
	__s32 nice;
	__u32 priority;
	__u64 runtime_ns, deadline_ns, period_ns;
};

static void compute(unsigned steps)
{
	for (unsigned i = 0; i < steps; i++)
		__asm__ volatile("" : : "r"(i));
}

static pid_t neighbour(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		compute(STEPS);
}

static void stay_on_one_cpu(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static uint64_t slice_ns(uint64_t wanted)
{
	struct attributes a = { .size = sizeof(a), .runtime_ns = wanted };

	if (wanted && syscall(SYS_sched_setattr, 0, &a, 0))
		return 0;
	if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0))
		return 0;
	return a.runtime_ns;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
	enum { YIELDS = 1 << 20 };
	static uint64_t took[YIELDS];
	unsigned n = argc > 2 ? (unsigned)atoi(argv[1]) : MOST + 1;
	const char *third = argc > 3 ? argv[3] : "0";
	uint64_t slice, begun, ended, now, own = 0;
	size_t yields = 0, at_once = 0;
	pid_t others[MOST];

	if (n > MOST)
		return 2;
	stay_on_one_cpu();
	slice = slice_ns(strtoull(third, 0, 10));
	for (unsigned i = 0; i < n; i++)
		others[i] = neighbour();
	if (strstr(third, "session") && setsid() < 0)
		return 3;
	begun = now = now_ns();
	for (ended = begun + (uint64_t)(atof(argv[2]) * 1e9); now < ended && yields < YIELDS;
	     yields++) {
		uint64_t left;

		compute(STEPS);
		left = now_ns();
		own += left - now;
		sched_yield();
		now = now_ns();
		took[yields] = now - left;
		at_once += took[yields] < AT_ONCE_NS;
	}
	for (unsigned i = 0; i < n; i++) {
		kill(others[i], SIGKILL);
		waitpid(others[i], 0, 0);
	}
	qsort(took, yields, sizeof(*took), by_value);
	printf("{\"yields\": %zu, \"others\": %u, \"slice_us\": %.0f, \"at_once\": %.3f, "
	       "\"median_us\": %.1f, \"p99_us\": %.1f, \"longest_us\": %.1f, \"us_per_yield\": "
	       "%.1f}\n",
	       yields, n, (double)slice / 1000, (double)at_once / (double)yields,
	       (double)took[yields / 2] / 1000, (double)took[yields * 99 / 100] / 1000,
	       (double)took[yields - 1] / 1000,
	       (double)(now - begun - own) / 1000 / (double)yields);
	return 0;
}
