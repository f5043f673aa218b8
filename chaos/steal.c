/* SPDX-License-Identifier: MIT */
/*
 * overlock-chaos-steal PAGE: takes CPUs away from threads of `overlock chaos --by steal`. A thread for each
 * CPU, of the lowest real-time priority; at most all CPUs but one are taken at the same time, each for
 * at most half of the time. It ends with its parent, or when it is told to.
 */
#include "bare.h"
#include "steal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BILLION UINT64_C(1000000000)

enum { FAILED = 1, USAGE = 2 };

#define FAIL(code, ...)                                                \
	do {                                                           \
		fprintf(stderr, "overlock-chaos-steal: " __VA_ARGS__); \
		fputc('\n', stderr);                                   \
		exit(code);                                            \
	} while (0)

static struct steal_page *page;
static int n_cpus, n_taken;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * BILLION + (uint64_t)t.tv_nsec;
}

static void rest(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / BILLION), (long)(ns % BILLION) };

	nanosleep(&t, 0);
}

static void note(int taken)
{
	uint32_t most = __atomic_load_n(&page->most, __ATOMIC_RELAXED);

	while (most < (uint32_t)taken &&
	       !__atomic_compare_exchange_n(&page->most, &most, (uint32_t)taken, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* One CPU is left to everybody else, if there is more than one. */
static bool may_take(void)
{
	int most = n_cpus > 1 ? n_cpus - 1 : 1, taken = __atomic_load_n(&n_taken, __ATOMIC_RELAXED);

	do {
		if (taken >= most)
			return false;
	} while (!__atomic_compare_exchange_n(&n_taken, &taken, taken + 1, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	note(taken + 1);
	return true;
}

static void take(struct steal_slot *slot)
{
	uint64_t ns = slot->ns < STEAL_MOST_NS ? slot->ns : STEAL_MOST_NS, end = now_ns() + ns;

	if (!may_take()) {
		__atomic_store_n(&slot->state, STEAL_FREE, __ATOMIC_RELEASE);
		return;
	}
	while (now_ns() < end)
		;
	__atomic_fetch_sub(&n_taken, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->state, STEAL_RESTS, __ATOMIC_RELEASE);
	rest(ns);
	__atomic_store_n(&slot->state, STEAL_FREE, __ATOMIC_RELEASE);
}

static void *serve(void *arg)
{
	struct steal_slot *slot = arg;

	__atomic_store_n(&slot->ready, 1, __ATOMIC_RELEASE);
	for (;;) {
		uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);

		if (state == STEAL_ASKED)
			take(slot);
		else
			syscall(SYS_futex, &slot->state, FUTEX_WAIT, state, 0, 0, 0);
	}
	return 0;
}

static void start(int cpu)
{
	struct sched_param lowest = { .sched_priority = sched_get_priority_min(SCHED_FIFO) };
	cpu_set_t one;
	pthread_attr_t how;
	pthread_t thread;
	int error;

	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	pthread_attr_init(&how);
	pthread_attr_setaffinity_np(&how, sizeof(one), &one);
	pthread_attr_setinheritsched(&how, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&how, SCHED_FIFO);
	pthread_attr_setschedparam(&how, &lowest);
	error = pthread_create(&thread, &how, serve, &page->slots[cpu]);
	if (error == EPERM)
		FAIL(FAILED, "no real-time priority; run as root, or raise `ulimit -r`");
	if (error)
		FAIL(FAILED, "no thread on CPU %d: %s", cpu, strerror(error));
}

static void map_page(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *p = fd < 0 || !ol_bare_reserve(fd, 0, sizeof(*page))
			  ? MAP_FAILED
			  : mmap(0, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		FAIL(FAILED, "%s: %s", path, strerror(errno));
	page = p;
}

int main(int argc, char **argv)
{
	cpu_set_t ours;

	if (argc != 2)
		FAIL(USAGE, "expected a file; it is started by `overlock chaos --by steal`");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	map_page(argv[1]);
	sched_getaffinity(0, sizeof(ours), &ours);
	n_cpus = CPU_COUNT(&ours);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET((size_t)cpu, &ours))
			start(cpu);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
