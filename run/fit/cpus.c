/* SPDX-License-Identifier: MIT */
/* How many CPUs the process may use. */
#include "fit.h"

#include "cgroup.h"

#include <errno.h>
#include <limits.h>
#include <overlock/port.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 1000000000ull /* a quota may change while the program runs */

/*
 * `looking` lets one thread at a time look at the group's files, and hands `group` to the next one: acquire and
 * release. A thread that finds it taken, or whose signal handler does, takes the last answer; the first is there before
 * main. `whole` is written by the thread that set `pinned`, and released by `whole_bytes`. The other numbers are relaxed: each is
 * whole in itself.
 */
static struct {
	uint32_t looking, quota; /* CPUs, rounded up; 0: none is known */
	uint64_t next_look;
	uint32_t asked;	      /* and 1; 0: it was not read yet */
	uint32_t least, most; /* that were told; 0: none was */
	uint32_t
		pinned; /* what the process might use before it gave a thread a mask; 0: it has not */
	size_t whole_bytes;
	unsigned char whole[OL_FIT_MASK]; /* the process's mask, before that */
	struct ol_cgroup group;
} seen;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* The least of our group's quota and those above it; what was known, if not all of them can be seen now. */
static uint32_t look_at_quotas(void)
{
	uint64_t quota, period, least = 0;

	if (!ol_cgroup_find(&seen.group))
		return ol_load_relaxed(&seen.quota);
	do {
		uint64_t cpus;

		if (!ol_cgroup_quota(&seen.group, &quota, &period)) {
			if (errno && errno != ENOENT)
				return ol_load_relaxed(&seen.quota);
			continue;
		}
		cpus = (quota + period - 1) / period;
		least = least && least < cpus ? least : cpus;
	} while (ol_cgroup_rise(&seen.group));
	return least < UINT32_MAX ? (uint32_t)least : 0;
}

static uint32_t quota(void)
{
	uint64_t now = now_ns();
	int saved = errno;

	if (now >= ol_load_relaxed(&seen.next_look) && !ol_xchg_acquire(&seen.looking, 1u)) {
		ol_store_relaxed(&seen.quota, look_at_quotas());
		ol_store_relaxed(&seen.next_look, now + LOOK_NS);
		ol_store_release(&seen.looking, 0u);
		errno = saved;
	}
	return ol_load_relaxed(&seen.quota);
}

/* The thread that was looking is not in the child. */
static void let_child_look(void)
{
	ol_store_release(&seen.looking, 0u);
}

#define AS_IT_IS (UINT32_MAX - 1)

/* 0: as many as it may use. */
static uint32_t told_by_user(void)
{
	const char *text = getenv("OVERLOCK_FIT"), *off = getenv("OVERLOCK_DISABLE");
	uint64_t n;

	if (!text || (off && *off && strcmp(off, "0") != 0))
		return AS_IT_IS;
	return ol_cgroup_number(text, &n) && n < AS_IT_IS ? (uint32_t)n : 0;
}

/* Read once: the environment is long, and sched_getcpu() is called often. */
static uint32_t asked(void)
{
	uint32_t known = ol_load_relaxed(&seen.asked);

	if (!known) {
		known = told_by_user() + 1;
		ol_store_relaxed(&seen.asked, known);
	}
	return known - 1;
}

static unsigned count(const unsigned char *mask, size_t bytes)
{
	unsigned n = 0;

	for (size_t k = 0; k < bytes; k++)
		n += (unsigned)__builtin_popcount(mask[k]);
	return n;
}

/* Of the first thread, which is a process's own as long as nobody gives it another. */
static size_t process_mask(unsigned char *mask, size_t bytes)
{
	long got = ol_fit_real_mask(getpid(), bytes, mask);

	return got > 0 ? (size_t)got : 0;
}

static unsigned in_mask(void)
{
	unsigned char mask[OL_FIT_MASK];
	int saved = errno;
	size_t bytes = process_mask(mask, sizeof(mask));

	errno = saved;
	return bytes ? count(mask, bytes) : UINT_MAX;
}

static unsigned least_of(unsigned cpus, unsigned other)
{
	return other && other < cpus ? other : cpus;
}

unsigned ol_fit_cpus(void)
{
	uint32_t pinned = ol_load_relaxed(&seen.pinned), cpus, least = ol_load_relaxed(&seen.least);

	if (asked() == AS_IT_IS)
		return UINT_MAX;
	cpus = least_of(least_of(pinned ? pinned : in_mask(), quota()), asked());
	if (!least || cpus < least)
		ol_store_relaxed(&seen.least, cpus);
	if (cpus > ol_load_relaxed(&seen.most))
		ol_store_relaxed(&seen.most, cpus);
	return cpus;
}

/* Who binds its threads by numbers looks for those. */
unsigned ol_fit_place(unsigned cpu)
{
	uint32_t least = ol_load_relaxed(&seen.least);

	return !least || ol_load_relaxed(&seen.pinned) ? cpu : cpu % least;
}

static void keep_first(unsigned char *mask, size_t bytes, unsigned n)
{
	for (size_t k = 0; k < bytes; k++) {
		unsigned here = (unsigned)__builtin_popcount(mask[k]);

		for (; here > n; here--) /* without its highest bit */
			mask[k] &= (unsigned char)~(1u << (31 - __builtin_clz(mask[k])));
		n -= here;
	}
}

/* Who is first, by `pinned`, keeps what it read: nobody has bound a thread before that. */
void ol_fit_will_pin(void)
{
	unsigned char mask[OL_FIT_MASK];
	int saved = errno;
	size_t bytes = ol_load_relaxed(&seen.pinned) ? 0 : process_mask(mask, sizeof(mask));

	errno = saved;
	if (!bytes || !ol_cas_relaxed(&seen.pinned, 0u, count(mask, bytes)))
		return;
	memcpy(seen.whole, mask, bytes);
	ol_store_release(&seen.whole_bytes, bytes);
}

/* It is the first CPUs of the whole one, as many as were told at some time. */
struct ol_fit_mask ol_fit_whole(const void *mask, size_t bytes)
{
	size_t n = ol_load_acquire(&seen.whole_bytes), had = bytes < n ? bytes : n;
	unsigned cpus = count(mask, had);
	unsigned char told[OL_FIT_MASK];

	if (!n || cpus < ol_load_relaxed(&seen.least) || cpus > ol_load_relaxed(&seen.most))
		return (struct ol_fit_mask){ 0 };
	memcpy(told, seen.whole, n);
	keep_first(told, n, cpus);
	if (memcmp(told, mask, had) != 0 || count(told + had, n - had))
		return (struct ol_fit_mask){ 0 };
	return (struct ol_fit_mask){ seen.whole, n };
}

void ol_fit_cut(void *mask, size_t bytes)
{
	keep_first(mask, bytes, ol_fit_cpus());
}

size_t ol_fit_told(unsigned char *mask, size_t bytes)
{
	size_t got = asked() == AS_IT_IS ? 0 : process_mask(mask, bytes);

	ol_fit_cut(mask, got);
	return got;
}

__attribute__((constructor)) static void look_first(void)
{
	pthread_atfork(0, 0, let_child_look);
	ol_fit_cpus();
}
