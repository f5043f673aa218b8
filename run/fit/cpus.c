/* SPDX-License-Identifier: MIT */
/* How many CPUs the process may use. */
#include "fit.h"

#include "cgroup.h"

#include <errno.h>
#include <limits.h>
#include <overlock/port.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 1000000000ull /* a quota may change while the program runs */

enum { MASK_BYTES = 1024 }; /* of 8192 CPUs, more than the kernel has */

/*
 * `looking` lets one thread at a time look at the group's files, and hands `group` to the next one: acquire and
 * release. A thread that finds it taken, or whose signal handler does, takes the last answer. The numbers are relaxed:
 * each is whole in itself.
 */
static struct {
	uint32_t looking, quota; /* CPUs, rounded up; 0: none is known */
	uint64_t next_look;
	uint32_t
		pinned; /* what the process might use before it gave a thread a mask; 0: it has not */
	struct ol_cgroup group;
} seen;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* The least of our group's quota and those above it. */
static uint32_t look_at_quotas(void)
{
	uint64_t quota, period, least = 0;

	if (!ol_cgroup_find(&seen.group))
		return 0;
	do {
		uint64_t cpus;

		if (!ol_cgroup_quota(&seen.group, &quota, &period))
			continue;
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

/* 0: it is not told. */
static uint32_t asked(void)
{
	const char *text = getenv("OVERLOCK_FIT");
	uint64_t n;

	return text && ol_cgroup_number(text, &n) && n < UINT32_MAX ? (uint32_t)n : 0;
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
	unsigned char mask[MASK_BYTES];
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
	uint32_t pinned = ol_load_relaxed(&seen.pinned);

	return least_of(least_of(pinned ? pinned : in_mask(), quota()), asked());
}

void ol_fit_pins(void)
{
	if (!ol_load_relaxed(&seen.pinned))
		ol_store_relaxed(&seen.pinned, in_mask());
}

static void keep_first(unsigned char *mask, size_t bytes, unsigned n)
{
	for (size_t k = 0; k < bytes; k++)
		for (unsigned bit = 0; bit < CHAR_BIT; bit++) {
			unsigned one = mask[k] >> bit & 1;

			if (one && !n)
				mask[k] &= (unsigned char)~(1u << bit);
			n -= one && n;
		}
}

void ol_fit_cut(void *mask, size_t bytes)
{
	keep_first(mask, bytes, ol_fit_cpus());
}

size_t ol_fit_told(unsigned char *mask, size_t bytes)
{
	size_t got = process_mask(mask, bytes);

	ol_fit_cut(mask, got);
	return got;
}
