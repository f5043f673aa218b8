/* SPDX-License-Identifier: MIT */
/*
 * Messages for the person watching: on the terminal; without one, as in a container, on standard error if
 * `overlock run` started the program, or a file that the user named cannot be written.
 */
#include "internal.h"

#include "bare.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* What standard error was at first: by now the program may have a file of its own there. */
static struct stat errors;
static bool has_errors;

void ol_run_report_errors_start(void)
{
	has_errors = !fstat(STDERR_FILENO, &errors);
}

/* How much of it is written; a finding's thread waits for no reader. */
static size_t write_some(int fd, const char *text, size_t size, enum occasion when)
{
	ssize_t n;

	if (when == FINDING)
		return ol_run_write_at_once(fd, text, size);
	do
		n = ol_bare_write(fd, text, size);
	while (n < 0 && errno == EINTR);
	return n > 0 ? (size_t)n : 0;
}

bool ol_run_report_write(int fd, const char *text, size_t size, enum occasion when)
{
	for (size_t done = 0, n; done < size; done += n) {
		n = write_some(fd, text + done, size - done, when);
		if (!n)
			return false;
	}
	return true;
}

/* Standard error, if it is what it was at first; of a pipe a new one, whose writes do not wait. */
static int open_errors(enum occasion when)
{
	struct stat now;
	int fd = -1;

	if (!has_errors || fstat(STDERR_FILENO, &now) || now.st_dev != errors.st_dev ||
	    now.st_ino != errors.st_ino)
		return -1;
	if (when == FINDING && (S_ISFIFO(now.st_mode) || S_ISCHR(now.st_mode)))
		fd = ol_bare_open("/proc/self/fd/2", O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC,
				  0);
	return fd < 0 ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : fd;
}

int ol_run_report_open(enum occasion when)
{
	int fd = when == FINDING ? ol_run_terminal_open()
				 : ol_bare_open("/dev/tty", O_WRONLY | O_NOCTTY | O_CLOEXEC, 0);

	return fd < 0 ? open_errors(when) : fd;
}

/* What is to be said of findings, from `said` on; for one thread at a time, which does not wait with it. */
static struct string found;
static size_t said;
static uint32_t saying;

static void begin_saying(void)
{
	uint64_t step_ns = 0;

	while (!ol_cas_acquire(&saying, 0u, 1u)) /* with what it reads and writes below */
		ol_run_nap(&step_ns, OL_NEVER);
}

static void end_saying(void)
{
	ol_store_release(&saying, 0u);
}

/* True: nothing is left, or there is no terminal. */
static bool say_some(void)
{
	int fd = said < found.used ? ol_run_report_open(FINDING) : -1;
	size_t n = 1;

	if (fd < 0)
		return true;
	for (; n && said < found.used; said += n)
		n = write_some(fd, found.at + said, found.used - said, FINDING);
	ol_bare_close(fd);
	if (said < found.used)
		return false;
	found.used = said = 0;
	return true;
}

bool ol_run_report_say(void)
{
	bool all;

	begin_saying();
	all = say_some();
	end_saying();
	return all;
}

/* At the end, when a terminal that is paused may keep us waiting. */
void ol_run_report_say_rest(void)
{
	struct string rest;
	size_t from;
	int fd;

	begin_saying();
	rest = found;
	from = said;
	found = (struct string){ 0 };
	said = 0;
	end_saying();
	fd = from < rest.used ? ol_run_report_open(END) : -1;
	if (fd < 0)
		return;
	(void)ol_run_report_write(fd, rest.at + from, rest.used - from, END);
	ol_bare_close(fd);
}

void ol_run_report_renew(void)
{
	found.used = said = 0;
	saying = 0;
}

void ol_run_report_add(const char *text, size_t size)
{
	begin_saying();
	ol_run_string_add(text, size, &found);
	end_saying();
}
