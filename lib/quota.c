/* SPDX-License-Identifier: MIT */
/*
 * CPU quota, from the counters of control groups of version 1 and 2.
 *
 * The kernel gives a group `quota` of CPU time in each `period`, and takes all CPUs from it once that is
 * used up. It tells the sum of what was used, and how many periods there were; not when one began. We take
 * the first look that finds a new period for its beginning, so the end that we expect may be late by one
 * interval between looks. Files are opened by name at each look: a program may close what is open.
 */
#include "bare.h"
#include "cgroup.h"
#include "internal.h"
#include "quota.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_NS = 1000000 };

static struct {
	struct ol_quota of;
	char stat[PATH_MAX], usage[PATH_MAX];
	bool v1;
	uint32_t looking;     /* one at a time */
	uint64_t looked, end; /* ns */
} group;

uint64_t ol_quota_learn(struct ol_quota *q, const struct ol_quota_seen *seen)
{
	uint64_t used, left, since = seen->now - q->last.now,
			     rate_used = seen->usage - q->last.usage;

	if (seen->periods != q->began.periods || seen->now - q->began.now >= q->period)
		q->began = *seen;
	q->last = *seen;
	used = seen->usage - q->began.usage;
	left = used < q->quota ? q->quota - used : 0;
	if (!rate_used || !since)
		return OL_NEVER;
	left = (uint64_t)((double)left * (double)since / (double)rate_used);
	return seen->now + left - q->began.now < q->period ? seen->now + left : OL_NEVER;
}

bool ol_quota_field(const char *text, const char *word, uint64_t *value)
{
	size_t n = strlen(word);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, word, n) && line[n] == ' ')
			return ol_cgroup_number(line + n + 1, value);
	}
	return false;
}

static bool look(struct ol_quota_seen *seen)
{
	char text[OL_CGROUP_TEXT];

	if (!ol_cgroup_read(group.stat, text) ||
	    !ol_quota_field(text, "nr_periods", &seen->periods))
		return false;
	if (!group.v1 && !ol_quota_field(text, "usage_usec", &seen->usage))
		return false;
	if (!group.v1)
		seen->usage *= 1000;
	else if (!ol_cgroup_read(group.usage, text) || !ol_cgroup_number(text, &seen->usage))
		return false;
	seen->now = ol_clock();
	return true;
}

/*
 * Acquire and release of `looking` hand `of` from one look to the next. The times are relaxed: each is whole
 * in itself, and an old one is an older estimate.
 */
ol_ticks_t ol_quota_ends(void)
{
	struct ol_quota_seen seen;
	uint64_t now = ol_clock(), end;
	int saved = errno;

	if (now - ol_load_relaxed(&group.looked) >= LOOK_NS &&
	    !ol_xchg_acquire(&group.looking, 1u)) {
		ol_store_relaxed(&group.end,
				 look(&seen) ? ol_quota_learn(&group.of, &seen) : OL_NEVER);
		ol_store_relaxed(&group.looked, now);
		ol_store_release(&group.looking, 0u);
		errno = saved;
	}
	end = ol_load_relaxed(&group.end);
	if (end == OL_NEVER)
		return OL_NEVER;
	return end > now ? ol_now() + ol_ticks_from_ns(end - now) : ol_now();
}

void ol_quota_renew(void)
{
	ol_store_relaxed(&group.looking, 0u);
}

/* Finding the group. */

/* The nearest group with a quota, from ours up; its level above ours, or -1. */
static int limited(struct ol_cgroup *g)
{
	int level = 0;

	while (!ol_cgroup_quota(g, &group.of.quota, &group.of.period)) {
		if (!ol_cgroup_rise(g))
			return -1;
		level++;
	}
	return level;
}

/* The same group in another hierarchy, where the kernel counts what is used. */
static bool find_usage(int level)
{
	char folder[PATH_MAX];

	if (!group.v1)
		return true;
	if (!ol_cgroup_folder("cpuacct", folder))
		return false;
	for (; level; level--)
		*strrchr(folder, '/') = 0;
	return snprintf(group.usage, sizeof(group.usage), "%s/cpuacct.usage", folder) < PATH_MAX;
}

bool ol_quota_start(void)
{
	struct ol_cgroup g;
	struct ol_quota_seen seen;
	int level, saved = errno;
	bool found;

	memset(&group, 0, sizeof(group));
	level = ol_cgroup_find(&g) ? limited(&g) : -1;
	group.v1 = g.is_v1;
	found = level >= 0 && find_usage(level) &&
		snprintf(group.stat, sizeof(group.stat), "%s/cpu.stat", g.folder) < PATH_MAX &&
		look(&seen);
	if (found) {
		group.of.last = group.of.began = seen;
		group.end = OL_NEVER;
		group.looked = seen.now;
	}
	errno = saved;
	return found;
}
