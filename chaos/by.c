/* SPDX-License-Identifier: MIT */
/*
 * How a thread loses its CPU and stays runnable: to a real-time thread on the same CPU, which somebody else
 * has started (steal.h), or because the machine's scheduler gives it none (lab/sched/chaos.bpf.c).
 */
#include "by.h"
#include "chaos.h"
#include "steal.h"
#include <overlock/sched_socket.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Who took the CPU may have been killed meanwhile. */
#define PATIENCE_NS UINT64_C(1000000000)

static struct steal_page *page;
static bool by_scheduler;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* Real-time threads. */

/* To be preempted there we must run there: the kernel would move us to a CPU that is free. */
static struct steal_slot *bind_here(const cpu_set_t *may)
{
	int cpu = sched_getcpu();
	cpu_set_t one;

	if (cpu < 0 || cpu >= STEAL_CPUS || cpu >= CPU_SETSIZE || !CPU_ISSET((size_t)cpu, may))
		return 0;
	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	if (ol_chaos_real.syscall(SYS_sched_setaffinity, 0, sizeof(one), &one))
		return 0;
	return &page->slots[cpu];
}

static bool ask(struct steal_slot *slot, uint64_t ns)
{
	uint32_t free = STEAL_FREE;

	if (!__atomic_load_n(&slot->ready, __ATOMIC_ACQUIRE) ||
	    !__atomic_compare_exchange_n(&slot->state, &free, STEAL_CLAIMED, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	slot->ns = ns;
	__atomic_store_n(&slot->state, STEAL_ASKED, __ATOMIC_RELEASE);
	ol_chaos_real.syscall(SYS_futex, &slot->state, FUTEX_WAKE, 1, 0, 0, 0);
	return true;
}

static void steal(uint64_t ns)
{
	uint64_t end = now_ns() + ns + PATIENCE_NS;
	struct steal_slot *slot;
	cpu_set_t may;

	if (ol_chaos_real.syscall(SYS_sched_getaffinity, 0, sizeof(may), &may) < 0)
		return;
	slot = bind_here(&may);
	if (!slot)
		return;
	if (ask(slot, ns))
		while (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) == STEAL_ASKED &&
		       now_ns() < end)
			;
	ol_chaos_real.syscall(SYS_sched_setaffinity, 0, sizeof(may), &may);
}

static void map_page(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *p = fd < 0 ? MAP_FAILED
			 : mmap(0, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	if (p != MAP_FAILED)
		page = p;
}

/* Both. */

void ol_chaos_by(const char *told)
{
	by_scheduler = !strcmp(told, "sched");
	if (!by_scheduler)
		map_page(told);
}

bool ol_chaos_taken(uint64_t ns)
{
	uint64_t end = now_ns() + ns;
	int saved = errno;

	if (page)
		steal(ns);
	else if (by_scheduler)
		ol_chaos_real.syscall(SYS_sched_yield, OL_CHAOS_YIELD, ns, 0, 0, 0, 0);
	else
		return false;
	errno = saved;
	return now_ns() >= end;
}
