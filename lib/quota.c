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

enum { LOOK_NS = 1000000, TEXT = 1024 };

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

/* strtoull() would take signs and spaces; sscanf() may allocate, and is asked in the midst of waits. */
static bool number_at(const char *text, uint64_t *value)
{
	const char *at = text;
	uint64_t n = 0;

	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(n, UINT64_C(10), &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*at - '0'), &n))
			return false;
	*value = n;
	return at > text;
}

bool ol_quota_field(const char *text, const char *word, uint64_t *value)
{
	size_t n = strlen(word);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, word, n) && line[n] == ' ')
			return number_at(line + n + 1, value);
	}
	return false;
}

static bool read_text(const char *path, char text[TEXT])
{
	int fd = ol_bare_open(path, O_RDONLY | O_CLOEXEC, 0);
	ssize_t n;

	if (fd < 0)
		return false;
	n = ol_bare_read(fd, text, TEXT - 1);
	ol_bare_close(fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0;
}

static bool look(struct ol_quota_seen *seen)
{
	char text[TEXT];

	if (!read_text(group.stat, text) || !ol_quota_field(text, "nr_periods", &seen->periods))
		return false;
	if (!group.v1 && !ol_quota_field(text, "usage_usec", &seen->usage))
		return false;
	if (!group.v1)
		seen->usage *= 1000;
	else if (!read_text(group.usage, text) || !number_at(text, &seen->usage))
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

const char *ol_quota_below(const char *path, const char *root)
{
	size_t n = strcmp(root, "/") != 0 ? strlen(root) : 0;

	if (strncmp(path, root, n) != 0 || (path[n] && path[n] != '/') || strstr(path, "/.."))
		return "";
	return path[n] && path[n + 1] ? path + n : "";
}

static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (; list; list = strchr(list, ',')) {
		list += *list == ',';
		if (!strncmp(list, word, n) && strchr(",\n ", list[n]))
			return true;
	}
	return false;
}

/* The path in the hierarchy of that controller; null: version 2. */
static bool own_path(const char *controller, char path[PATH_MAX])
{
	char line[PATH_MAX + 256];
	FILE *file = fopen("/proc/self/cgroup", "re");
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		char *list = strchr(line, ':'), *own = list ? strchr(list + 1, ':') : 0;

		if (!own)
			continue;
		*own++ = ',';
		found = controller ? has_word(list + 1, controller) : list + 2 == own;
		if (found)
			snprintf(path, PATH_MAX, "%.*s", (int)strcspn(own, "\n"), own);
	}
	if (file)
		fclose(file);
	return found;
}

/* Where the hierarchy of that controller is mounted, and below which of its groups. */
static bool mount_of(const char *controller, char root[PATH_MAX], char point[PATH_MAX])
{
	char line[2 * PATH_MAX];
	FILE *file = fopen("/proc/self/mountinfo", "re");
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		const char *kind = strstr(line, " - "), *options = strrchr(line, ' ');

		if (!kind || sscanf(line, "%*s %*s %*s %4095s %4095s", root, point) != 2)
			continue;
		found = controller ? !strncmp(kind, " - cgroup ", 10) &&
					     has_word(options + 1, controller)
				   : !strncmp(kind, " - cgroup2 ", 11);
	}
	if (file)
		fclose(file);
	return found;
}

/* The folder of our group there. */
static bool folder_of(const char *controller, char folder[PATH_MAX])
{
	char path[PATH_MAX], root[PATH_MAX], point[PATH_MAX];

	return own_path(controller, path) && mount_of(controller, root, point) &&
	       snprintf(folder, PATH_MAX, "%s%s", point, ol_quota_below(path, root)) < PATH_MAX;
}

static bool read_number(const char *folder, const char *name, int64_t *value)
{
	char path[PATH_MAX + 32], text[TEXT];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return read_text(path, text) && sscanf(text, "%" SCNd64, value) == 1;
}

static bool limit_of(const char *folder)
{
	char path[PATH_MAX + 32], text[TEXT];
	int64_t quota, period;

	if (group.v1 && (!read_number(folder, "cpu.cfs_quota_us", &quota) || quota <= 0 ||
			 !read_number(folder, "cpu.cfs_period_us", &period)))
		return false;
	snprintf(path, sizeof(path), "%s/cpu.max", folder);
	if (!group.v1 &&
	    (!read_text(path, text) || sscanf(text, "%" SCNd64 " %" SCNd64, &quota, &period) != 2))
		return false; /* "max" */
	group.of = (struct ol_quota){ .quota = (uint64_t)quota * 1000,
				      .period = (uint64_t)period * 1000 };
	return true;
}

/* The nearest group with a quota, from ours up; its level above ours, or -1. */
static int limited(char folder[PATH_MAX], size_t top)
{
	int level = 0;

	for (; !limit_of(folder); level++) {
		char *slash = strrchr(folder, '/');

		if (!slash || slash < folder + top)
			return -1;
		*slash = 0;
	}
	return level;
}

/* The same group in another hierarchy, where the kernel counts what is used. */
static bool find_usage(int level)
{
	char folder[PATH_MAX];

	if (!group.v1)
		return true;
	if (!folder_of("cpuacct", folder))
		return false;
	for (; level; level--)
		*strrchr(folder, '/') = 0;
	return snprintf(group.usage, sizeof(group.usage), "%s/cpuacct.usage", folder) < PATH_MAX;
}

bool ol_quota_start(void)
{
	char folder[PATH_MAX], root[PATH_MAX], point[PATH_MAX];
	const char *controller = "cpu";
	struct ol_quota_seen seen;
	int level, saved = errno;
	bool found;

	memset(&group, 0, sizeof(group));
	group.v1 = folder_of(controller, folder);
	if (!group.v1)
		controller = 0;
	found = (group.v1 || folder_of(0, folder)) && mount_of(controller, root, point);
	level = found ? limited(folder, strlen(point)) : -1;
	found = level >= 0 && find_usage(level) &&
		snprintf(group.stat, sizeof(group.stat), "%s/cpu.stat", folder) < PATH_MAX &&
		look(&seen);
	if (found) {
		group.of.last = group.of.began = seen;
		group.end = OL_NEVER;
		group.looked = seen.now;
	}
	errno = saved;
	return found;
}
