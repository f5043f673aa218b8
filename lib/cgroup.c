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

static bool own_path(const char *controller, char path[PATH_MAX])
{
	char line[PATH_MAX + 256];
	struct lines lines = { .fd = ol_bare_open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC, 0) };
	const char *found = 0;

	while (lines.fd >= 0 && !found && next_line(&lines, line, sizeof(line)))
		found = path_in(line, controller);
	if (lines.fd >= 0)
		ol_bare_close(lines.fd);
	return found && snprintf(path, PATH_MAX, "%s", found) < PATH_MAX;
}

static bool is_mount_of(const char *line, const char *controller)
{
	const char *kind = strstr(line, " - "), *options = strrchr(line, ' ');

	if (!kind)
		return false;
	return controller ? !strncmp(kind, " - cgroup ", 10) && has_word(options + 1, controller)
			  : !strncmp(kind, " - cgroup2 ", 11);
}

/* Where the hierarchy of that controller is mounted, and below which of its groups. */
static bool mount_of(const char *controller, char root[PATH_MAX], char point[PATH_MAX])
{
	char line[2 * PATH_MAX];
	struct lines lines = { .fd = ol_bare_open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC,
						  0) };
	bool found = false;

	while (lines.fd >= 0 && !found && next_line(&lines, line, sizeof(line)))
		found = is_mount_of(line, controller) && word_of(line, 3, root) &&
			word_of(line, 4, point);
	if (lines.fd >= 0)
		ol_bare_close(lines.fd);
	return found;
}

const char *ol_cgroup_below(const char *path, const char *root)
{
	size_t n = strcmp(root, "/") != 0 ? strlen(root) : 0;

	if (strncmp(path, root, n) != 0 || (path[n] && path[n] != '/') || strstr(path, "/.."))
		return "";
	return path[n] && path[n + 1] ? path + n : "";
}

/* The folder of our group there, and how long its mount's name is; 0: there is none. */
static size_t find_folder(const char *controller, char folder[PATH_MAX])
{
	char path[PATH_MAX], root[PATH_MAX], point[PATH_MAX];

	if (!own_path(controller, path) || !mount_of(controller, root, point) ||
	    snprintf(folder, PATH_MAX, "%s%s", point, ol_cgroup_below(path, root)) >= PATH_MAX)
		return 0;
	return strlen(point);
}

bool ol_cgroup_folder(const char *controller, char folder[PATH_MAX])
{
	return find_folder(controller, folder) > 0;
}

bool ol_cgroup_find(struct ol_cgroup *g)
{
	g->top = find_folder("cpu", g->folder);
	g->is_v1 = g->top > 0;
	if (!g->is_v1)
		g->top = find_folder(0, g->folder);
	return g->top > 0;
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
static bool number_in(const struct ol_cgroup *g, const char *name, unsigned n, uint64_t *value)
{
	char path[PATH_MAX + 32], text[OL_CGROUP_TEXT];
	const char *at = text;

	snprintf(path, sizeof(path), "%s/%s", g->folder, name);
	if (!ol_cgroup_read(path, text))
		return false;
	for (; n; n--)
		if (!(at = strchr(at, ' ')) || !*++at)
			return false;
	return ol_cgroup_number(at, value);
}

/* The kernel has "max", or -1, for none. */
bool ol_cgroup_quota(const struct ol_cgroup *g, uint64_t *quota, uint64_t *period)
{
	bool found =
		g->is_v1 ? number_in(g, "cpu.cfs_quota_us", 0, quota) &&
				   number_in(g, "cpu.cfs_period_us", 0, period)
			 : number_in(g, "cpu.max", 0, quota) && number_in(g, "cpu.max", 1, period);

	*quota *= 1000;
	*period *= 1000;
	return found && *quota && *period;
}
