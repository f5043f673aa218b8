/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "thread.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is read of either file, and holds all that is looked for. */
enum { TEXT_BYTES = 1024 };

/* proc(5): the state is field 3, the start field 22. */
enum { STATE_FIELD = 3, START_FIELD = 22 };

bool thread_parse_stat(struct thread *thread, const char *text)
{
	/* The name before may contain spaces and parentheses; nothing after it does. */
	const char *field = strrchr(text, ')');

	if (!field || field[1] != ' ')
		return false;
	field += 2;
	if (*field == 'Z' || *field == 'X')
		return false;
	for (int n = STATE_FIELD; n < START_FIELD; n++) {
		field = strchr(field, ' ');
		if (!field)
			return false;
		field++;
	}
	return sscanf(field, "%20" SCNu64 " ", &thread->start) == 1;
}

/* Linux escapes a name's line breaks here, so a line that begins with a word is that word's. */
static const char *line_of(const char *text, const char *word)
{
	const char *line = strstr(text, word);

	return line ? line + strlen(word) : "";
}

/* "NSpid:" and its ids, from our PID namespace's to its own; Linux before 4.1 has no such line. */
static pid_t parse_inner(const char *text, pid_t id)
{
	const char *number = line_of(text, "\nNSpid:");
	char *end;

	for (long n; *number && *number != '\n'; number = end) {
		n = strtol(number, &end, 10);
		if (end == number || n <= 0)
			break;
		id = (pid_t)n;
	}
	return id;
}

bool thread_parse_status(struct thread *thread, const char *text)
{
	thread->inner = parse_inner(text, thread->id);
	return sscanf(line_of(text, "\nTgid:"), "%9d", &thread->process) == 1 &&
	       thread->process > 0 &&
	       sscanf(line_of(text, "\nUid:"), "%*u %10u", &thread->user) == 1;
}

static bool read_text(char text[TEXT_BYTES], pid_t id, const char *name)
{
	ssize_t bytes = 0;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", id, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bytes = read(fd, text, TEXT_BYTES - 1);
	close(fd);
	text[bytes > 0 ? bytes : 0] = 0;
	return bytes > 0;
}

static bool find_start(struct thread *thread)
{
	char text[TEXT_BYTES];

	return read_text(text, thread->id, "stat") && thread_parse_stat(thread, text);
}

bool thread_find(struct thread *thread, pid_t id)
{
	char text[TEXT_BYTES];

	*thread = (struct thread){ .id = id };
	errno = ESRCH; /* for files that do not say what they should */
	/* The start last seen: both files are of the same thread. */
	return find_start(thread) && read_text(text, id, "status") &&
	       thread_parse_status(thread, text) && thread_lives(thread);
}

/* A fraction of a millisecond. */
enum { STEP = 16 };

/* By one file, and not by the other: for what that one says, the kernel looks at all threads of the process. */
static bool look_up(struct thread *thread, pid_t id)
{
	char text[TEXT_BYTES];

	*thread = (struct thread){ .id = id };
	return read_text(text, id, "status") && thread_parse_status(thread, text);
}

static bool has_name(pid_t id, uint32_t name)
{
	struct thread thread;

	return look_up(&thread, id) && thread.inner == (pid_t)name;
}

static DIR *threads_of(pid_t process)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", process);
	return opendir(path);
}

pid_t thread_named(pid_t process, uint32_t name, DIR **search)
{
	const struct dirent *entry = NULL;
	struct thread thread;
	pid_t found = 0;

	if (!*search) {
		if (!name || name > INT32_MAX || !look_up(&thread, process))
			return 0;
		if (thread.inner == process)
			return (pid_t)name; /* it is in our own */
		*search = threads_of(process);
	}
	for (unsigned n = 0; n < STEP && !found && *search && (entry = readdir(*search)); n++)
		if (has_name(atoi(entry->d_name), name))
			found = atoi(entry->d_name);
	if (*search && (found || !entry)) {
		closedir(*search);
		*search = NULL;
	}
	return found;
}

bool thread_lives(const struct thread *thread)
{
	struct thread now = { .id = thread->id };

	return find_start(&now) && now.start == thread->start;
}
