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
	uint64_t next_look, lately_until;
	uint32_t lately; /* what was told last */
	uint32_t asked;	 /* and 1; 0: it was not read yet */
	uint32_t
		pinned; /* what the process might use before it gave a thread a mask; 0: it has not */
	unsigned char whole[MASK_BYTES]; /* the process's mask, before that */
	size_t whole_bytes;
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

	if (asked() == AS_IT_IS)
		return UINT_MAX;
	return least_of(least_of(pinned ? pinned : in_mask(), quota()), asked());
}

unsigned ol_fit_cpus_lately(void)
{
	uint64_t now = now_ns();

	if (now >= ol_load_relaxed(&seen.lately_until)) {
		ol_store_relaxed(&seen.lately, ol_fit_cpus());
		ol_store_relaxed(&seen.lately_until, now + LOOK_NS);
	}
	return ol_load_relaxed(&seen.lately);
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

/* Bytes that one of them lacks are 0. */
static bool are_equal(const unsigned char *a, size_t a_bytes, const unsigned char *b,
		      size_t b_bytes)
{
	for (size_t k = 0; k < a_bytes || k < b_bytes; k++)
		if ((k < a_bytes ? a[k] : 0) != (k < b_bytes ? b[k] : 0))
			return false;
	return true;
}

/* Several that do so first find the same. */
struct ol_fit_mask ol_fit_pins(const void *mask, size_t bytes)
{
	const struct ol_fit_mask given = { mask, bytes };
	unsigned char told[MASK_BYTES];

	if (!ol_load_relaxed(&seen.pinned)) {
		seen.whole_bytes = process_mask(seen.whole, sizeof(seen.whole));
		ol_store_relaxed(&seen.pinned, in_mask());
	}
	memcpy(told, seen.whole, seen.whole_bytes);
	keep_first(told, seen.whole_bytes, ol_fit_cpus());
	return mask && seen.whole_bytes && are_equal(told, seen.whole_bytes, mask, bytes)
		       ? (struct ol_fit_mask){ seen.whole, seen.whole_bytes }
		       : given;
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
