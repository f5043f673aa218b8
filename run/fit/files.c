/* SPDX-License-Identifier: MIT */
/*
 * The kernel's files of CPUs, copied into memory with those alone that the process is told. /sys/devices/system/cpu/possible
 * and present stay: arrays are made of that size.
 */
#include "fit.h"

#include "bare.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { MASK_BYTES = 1024, CHUNK = 4096 };

struct told {
	unsigned char mask[MASK_BYTES];
	size_t bytes;
};

static bool is_told(const struct told *t, unsigned long cpu)
{
	return cpu / CHAR_BIT < t->bytes && t->mask[cpu / CHAR_BIT] >> cpu % CHAR_BIT & 1;
}

/* What is copied, in pieces that may end anywhere. */
struct copying {
	const struct told *told;
	int from, to;
	char line[CHUNK]; /* its beginning */
	size_t n;	  /* of it, and of what is pending to be written */
	bool keeps;	  /* lines, from here on */
	bool is_within;	  /* a line whose beginning has been judged */
};

/* Whether a line, or all from it on, is of a CPU that the process is told. */
typedef bool judge(const char *line, const struct copying *c);

static bool write_all(int fd, const char *text, size_t n)
{
	while (n) {
		ssize_t written = ol_bare_write(fd, text, n);

		if (written <= 0)
			return false;
		text += written;
		n -= (size_t)written;
	}
	return true;
}

/* A line, or as much of it as has room. */
static bool take_line(struct copying *c, judge *keeps, bool ends)
{
	bool fine = true;

	c->line[c->n] = 0;
	if (!c->is_within)
		c->keeps = keeps(c->line, c);
	if (c->keeps)
		fine = write_all(c->to, c->line, c->n);
	c->is_within = !ends;
	c->n = 0;
	return fine;
}

static bool copy(struct copying *c, judge *keeps)
{
	char chunk[CHUNK];
	ssize_t n;

	while ((n = ol_bare_read(c->from, chunk, sizeof(chunk))) > 0)
		for (ssize_t k = 0; k < n; k++) {
			bool ends = chunk[k] == '\n';

			c->line[c->n++] = chunk[k];
			if ((ends || c->n == sizeof(c->line) - 1) && !take_line(c, keeps, ends))
				return false;
		}
	return !n && (!c->n || take_line(c, keeps, true));
}

/* /proc/cpuinfo: a stanza of each CPU, which begins with its number. */
static bool keeps_stanza(const char *line, const struct copying *c)
{
	unsigned cpu;

	return sscanf(line, "processor : %u", &cpu) == 1 ? is_told(c->told, cpu) : c->keeps;
}

/* /proc/stat: a line of all CPUs, one of each, and others. */
static bool keeps_row(const char *line, const struct copying *c)
{
	unsigned cpu;
	bool is_one =
		!strncmp(line, "cpu", 3) && line[3] != ' ' && sscanf(line, "cpu%u", &cpu) == 1;

	return !is_one || is_told(c->told, cpu);
}

/* /sys/devices/system/cpu/online: ranges, in one line. */
static bool write_ranges(const struct told *t, int to)
{
	const char *between = "";

	for (unsigned long cpu = 0; cpu < t->bytes * CHAR_BIT; cpu++) {
		char text[64];
		unsigned long last = cpu;
		int n;

		if (!is_told(t, cpu))
			continue;
		while (is_told(t, last + 1))
			last++;
		n = last > cpu ? snprintf(text, sizeof(text), "%s%lu-%lu", between, cpu, last)
			       : snprintf(text, sizeof(text), "%s%lu", between, cpu);
		if (!write_all(to, text, (size_t)n))
			return false;
		between = ",";
		cpu = last;
	}
	return write_all(to, "\n", 1);
}

static const struct known {
	const char *path;
	judge *keeps; /* null: it has ranges */
} known[] = {
	{ "/proc/cpuinfo", keeps_stanza },
	{ "/proc/stat", keeps_row },
	{ "/sys/devices/system/cpu/online", 0 },
};

static const struct known *known_as(const char *path)
{
	for (const struct known *k = known; k < known + sizeof(known) / sizeof(*known); k++)
		if (!strcmp(path, k->path))
			return k;
	return 0;
}

/* In a file of memory; false: it cannot be made, and the file is told as it is. */
static bool fill(const struct known *k, int to)
{
	struct told told;
	struct copying c = { .told = &told, .to = to, .keeps = true };
	bool fine;

	told.bytes = ol_fit_told(told.mask, sizeof(told.mask));
	if (!told.bytes)
		return false;
	if (!k->keeps)
		return write_ranges(&told, to);
	c.from = ol_bare_open(k->path, O_RDONLY | O_CLOEXEC, 0);
	fine = c.from >= 0 && copy(&c, k->keeps);
	if (c.from >= 0)
		ol_bare_close(c.from);
	return fine;
}

int ol_fit_file(const char *path, int flags)
{
	const struct known *k =
		path && (flags & O_ACCMODE) == O_RDONLY && !(flags & O_PATH) ? known_as(path) : 0;
	int saved = errno, fd;

	if (!k)
		return -1;
	fd = memfd_create(path, flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
	if (fd >= 0 && (!fill(k, fd) || lseek(fd, 0, SEEK_SET))) {
		ol_bare_close(fd);
		fd = -1;
	}
	errno = saved;
	return fd;
}
