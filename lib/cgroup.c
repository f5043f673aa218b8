/* SPDX-License-Identifier: MIT */
#include "cgroup.h"

#include "bare.h"

#include <stdio.h>
#include <string.h>

/* strtoull() would take signs and spaces. */
bool ol_cgroup_number(const char *text, uint64_t *value)
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

bool ol_cgroup_read(const char *path, char text[OL_CGROUP_TEXT])
{
	int fd = ol_bare_open(path, O_RDONLY | O_CLOEXEC, 0);
	ssize_t n;

	if (fd < 0)
		return false;
	n = ol_bare_read(fd, text, OL_CGROUP_TEXT - 1);
	ol_bare_close(fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0;
}

/* The lines of a file. */
struct lines {
	int fd;
	size_t at, n;
	char text[OL_CGROUP_TEXT];
};

static bool next_byte(struct lines *l, char *byte)
{
	if (l->at == l->n) {
		ssize_t n = ol_bare_read(l->fd, l->text, sizeof(l->text));

		l->at = 0;
		l->n = n > 0 ? (size_t)n : 0;
	}
	if (l->at == l->n)
		return false;
	*byte = l->text[l->at++];
	return true;
}

/* Without its end; cut at that size. */
static bool next_line(struct lines *l, char *line, size_t size)
{
	size_t n = 0;
	char byte = 0;
	bool any = false;

	while (next_byte(l, &byte)) {
		any = true;
		if (byte == '\n')
			break;
		if (n + 1 < size)
			line[n++] = byte;
	}
	line[n] = 0;
	return any;
}

/* The n-th word of a line; false: there is none, or it is too long. */
static bool word_of(const char *line, unsigned n, char word[PATH_MAX])
{
	size_t size;

	while (n-- && line)
		if ((line = strchr(line, ' ')))
			line++;
	size = line ? strcspn(line, " ") : 0;
	if (!size || size >= PATH_MAX)
		return false;
	memcpy(word, line, size);
	word[size] = 0;
	return true;
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

/* In a line of /proc/self/cgroup, N:CONTROLLERS:PATH, the path in the hierarchy of that controller; null: version 2. */
static const char *path_in(char *line, const char *controller)
{
	char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : 0;

	if (!path)
		return 0;
	*path++ = ',';
	if (controller ? !has_word(list + 1, controller) : list + 2 != path)
		return 0;
	return path;
}

static bool own_path(struct ol_cgroup *g, const char *controller)
{
	struct lines lines = { .fd = ol_bare_open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC, 0) };
	const char *found = 0;

	while (lines.fd >= 0 && !found && next_line(&lines, g->line, sizeof(g->line)))
		found = path_in(g->line, controller);
	if (lines.fd >= 0)
		ol_bare_close(lines.fd);
	return found && snprintf(g->path, PATH_MAX, "%s", found) < PATH_MAX;
}

static bool is_mount_of(const char *line, const char *controller)
{
	const char *kind = strstr(line, " - "), *options = strrchr(line, ' ');

	if (!kind)
		return false;
	return controller ? !strncmp(kind, " - cgroup ", 10) && has_word(options + 1, controller)
			  : !strncmp(kind, " - cgroup2 ", 11);
}

/* Where the hierarchy of that controller is mounted, in `folder`, and below which of its groups. */
static bool mount_of(struct ol_cgroup *g, const char *controller)
{
	struct lines lines = { .fd = ol_bare_open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC,
						  0) };
	bool found = false;

	while (lines.fd >= 0 && !found && next_line(&lines, g->line, sizeof(g->line)))
		found = is_mount_of(g->line, controller) && word_of(g->line, 3, g->root) &&
			word_of(g->line, 4, g->folder);
	if (lines.fd >= 0)
		ol_bare_close(lines.fd);
	return found;
}

/* As the kernel names a group that is not below the one that is seen. */
static bool has_parent_parts(const char *path)
{
	for (; (path = strstr(path, "/..")); path += 3)
		if (!path[3] || path[3] == '/')
			return true;
	return false;
}

const char *ol_cgroup_below(const char *path, const char *root)
{
	size_t n = strcmp(root, "/") != 0 ? strlen(root) : 0;

	if (strncmp(path, root, n) != 0 || (path[n] && path[n] != '/') || has_parent_parts(path))
		return "";
	return path[n] && path[n + 1] ? path + n : "";
}

bool ol_cgroup_find_in(struct ol_cgroup *g, const char *controller)
{
	const char *below;

	if (!own_path(g, controller) || !mount_of(g, controller))
		return false;
	g->top = strlen(g->folder);
	below = ol_cgroup_below(g->path, g->root);
	return snprintf(g->folder + g->top, PATH_MAX - g->top, "%s", below) <
	       (int)(PATH_MAX - g->top);
}

bool ol_cgroup_find(struct ol_cgroup *g)
{
	g->is_v1 = ol_cgroup_find_in(g, "cpu");
	return g->is_v1 || ol_cgroup_find_in(g, 0);
}

bool ol_cgroup_rise(struct ol_cgroup *g)
{
	char *slash = strrchr(g->folder, '/');

	if (!slash || slash < g->folder + g->top)
		return false;
	*slash = 0;
	return true;
}

/* Of one of its files, the n-th number. */
static bool number_in(struct ol_cgroup *g, const char *name, unsigned n, uint64_t *value)
{
	char text[OL_CGROUP_TEXT];
	const char *at = text;

	snprintf(g->line, sizeof(g->line), "%s/%s", g->folder, name);
	if (!ol_cgroup_read(g->line, text))
		return false;
	for (; n; n--) {
		at = strchr(at, ' ');
		if (!at)
			return false;
		at++;
	}
	return ol_cgroup_number(at, value);
}

/* The kernel has "max", or -1, for none. */
bool ol_cgroup_quota(struct ol_cgroup *g, uint64_t *quota, uint64_t *period)
{
	bool found;

	errno = 0;
	found = g->is_v1 ? number_in(g, "cpu.cfs_quota_us", 0, quota) &&
				   number_in(g, "cpu.cfs_period_us", 0, period)
			 : number_in(g, "cpu.max", 0, quota) && number_in(g, "cpu.max", 1, period);

	if (!found || !*quota || !*period)
		return false;
	*quota *= 1000;
	*period *= 1000;
	return true;
}
