/* SPDX-License-Identifier: MIT */
#include "cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The number goes up with each change of the finder or of the lines. */
#define FIRST_LINE "overlock loops 5 " OL_VERSION "\n"
#define LAST_LINE  "end\n"

static bool path_of(char *path, size_t size, const char *key, const char *ending)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n;

	if (cache && *cache == '/')
		n = snprintf(path, size, "%s/overlock/loops/%s%s", cache, key, ending);
	else if (home && *home == '/')
		n = snprintf(path, size, "%s/.cache/overlock/loops/%s%s", home, key, ending);
	else
		return false;
	return n > 0 && (size_t)n < size;
}

static bool make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(path, 0700) && errno != EEXIST)
			return false;
		*slash = '/';
	}
	return true;
}

/* Nobody else may have written it. */
static FILE *open_ours(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat about;

	if (fd < 0)
		return 0;
	if (fstat(fd, &about) || !S_ISREG(about.st_mode) || about.st_uid != geteuid() ||
	    (about.st_mode & (S_IWGRP | S_IWOTH))) {
		close(fd);
		return 0;
	}
	return fdopen(fd, "r");
}

static bool read_jump(FILE *file, struct ol_jump *jump)
{
	unsigned size;

	if (fscanf(file, "jump %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %u\n",
		   &jump->after, &jump->displacement, &jump->target, &jump->pad, &jump->hop,
		   &size) != 6)
		return false;
	jump->size = (uint8_t)size;
	return true;
}

/* A line of a loop, and those of its jumps, which a file of that length has room for; `why` stays. */
static bool read_loop(FILE *file, unsigned length, struct ol_loop *loop, struct ol_jump **jumps,
		      char **why)
{
	unsigned kind, counter, bound;

	*why = 0;
	*jumps = 0;
	if (fscanf(file, "loop %" SCNx64 " %" SCNx64 " %u %u %u %" SCNd64 " %u:%m[^\n]\n",
		   &loop->begin, &loop->end, &kind, &counter, &bound, &loop->bound_is,
		   &loop->n_jumps, why) != 8 ||
	    kind >= OL_LOOP_KINDS || loop->n_jumps >= length)
		return false;
	loop->kind = kind;
	loop->counter = (uint8_t)counter;
	loop->bound = (uint8_t)bound;
	loop->refused = strcmp(*why, "-") ? *why : 0;
	/* NOLINTNEXTLINE(clang-analyzer-optin.taint.TaintedAlloc): bounded by the length, above. */
	*jumps = calloc(loop->n_jumps + 1, sizeof(**jumps));
	for (unsigned k = 0; *jumps && k < loop->n_jumps; k++)
		if (!read_jump(file, &(*jumps)[k]))
			return false;
	loop->jumps = *jumps;
	return *jumps;
}

/* Its length if it has its end, which is asked before anything is told; 0: it was cut, or is too long. */
static unsigned whole_length(FILE *file)
{
	char line[sizeof(LAST_LINE)] = "";
	long length;

	if (fseek(file, -(long)strlen(LAST_LINE), SEEK_END) || !fgets(line, sizeof(line), file) ||
	    strcmp(line, LAST_LINE) != 0)
		return 0;
	length = ftell(file);
	return length <= INT_MAX && !fseek(file, 0, SEEK_SET) ? (unsigned)length : 0;
}

bool ol_spins_kept(const char *key, ol_loop_found *found, void *context)
{
	char path[PATH_MAX], first[sizeof(FIRST_LINE)];
	FILE *file = *key && path_of(path, sizeof(path), key, "") ? open_ours(path) : 0;
	unsigned length = file ? whole_length(file) : 0;
	bool is_kept = length && fgets(first, sizeof(first), file) && !strcmp(first, FIRST_LINE);

	while (is_kept) {
		struct ol_loop loop = { 0 };
		struct ol_jump *jumps;
		char *why;
		bool fine = read_loop(file, length, &loop, &jumps, &why);

		if (fine)
			found(&loop, context);
		if (!fine || !loop.refused)
			free(why);
		free(jumps);
		if (!fine)
			break;
	}
	if (file)
		fclose(file);
	return is_kept;
}

FILE *ol_spins_keep_begin(const char *key)
{
	char path[PATH_MAX], ending[32];
	FILE *file;
	int fd;

	snprintf(ending, sizeof(ending), ".%d", getpid());
	if (!*key || !path_of(path, sizeof(path), key, ending) || !make_folders(path))
		return 0;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	file = fd < 0 ? 0 : fdopen(fd, "w");
	if (file)
		fputs(FIRST_LINE, file);
	return file;
}

void ol_spins_keep_loop(FILE *file, const struct ol_loop *loop)
{
	fprintf(file, "loop %" PRIx64 " %" PRIx64 " %u %u %u %" PRId64 " %u:%s\n", loop->begin,
		loop->end, (unsigned)loop->kind, loop->counter, loop->bound, loop->bound_is,
		loop->n_jumps, loop->refused ? loop->refused : "-");
	for (unsigned k = 0; k < loop->n_jumps; k++) {
		const struct ol_jump *j = &loop->jumps[k];

		fprintf(file,
			"jump %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %u\n",
			j->after, j->displacement, j->target, j->pad, j->hop, j->size);
	}
}

void ol_spins_keep_end(FILE *file, const char *key)
{
	char aside[PATH_MAX], path[PATH_MAX], ending[32];
	bool fine;

	snprintf(ending, sizeof(ending), ".%d", getpid());
	fine = fputs(LAST_LINE, file) >= 0 && !ferror(file);
	fine = !fclose(file) && fine && path_of(aside, sizeof(aside), key, ending) &&
	       path_of(path, sizeof(path), key, "");
	if (!fine || rename(aside, path))
		unlink(aside);
}
