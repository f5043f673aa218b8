/* SPDX-License-Identifier: MIT */
/*
 * What happened, at exit: as JSON to OVERLOCK_OUTPUT, else as a table to the terminal; without one, as
 * in a container, to standard error if `overlock run` started the program. It is written when the
 * program returns from main or calls exit(), not when it dies by _exit(), exec or a signal (then
 * `overlock run` reads the records); and on demand (demand.c). What the checked library finds is
 * written at once; then the file has no sites yet.
 */
#include "internal.h"

#include "bare.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct left ol_run_left;
_Thread_local const void *ol_run_caller __attribute__((tls_model("initial-exec")));

static char *output, *temporary; /* null: the terminal */
static bool reports, is_quiet;	 /* quiet: there is nothing to say but of findings */

/* Is it a device or a pipe, such as /dev/null? A rename would put a file in its place. */
static bool is_special(const char *path)
{
	struct stat s;

	return !stat(path, &s) && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode);
}

enum { MODE = 0664 }; /* less what the umask takes: no file that all may write to */

/* Not mkostemp(), which is a cancellation point. */
static int open_temporary(void)
{
	static const char random[] = "XXXXXX", letters[] = "abcdefghijklmnopqrstuvwxyz";
	char *at = temporary + strlen(temporary) + 1 - sizeof(random);
	uint64_t n = ol_now();
	int fd;

	do {
		for (size_t i = 0; i < sizeof(random) - 1; i++, n /= 26)
			at[i] = letters[n % 26];
		fd = ol_bare_open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, MODE);
		n = ol_now() * UINT64_C(0x9e3779b97f4a7c15); /* Fibonacci hashing */
	} while (fd < 0 && errno == EEXIST);
	return fd;
}

/* Asked at the start, since the program's end may be hours away; by then it may be otherwise. */
static bool may_write(void)
{
	struct stat s;
	int fd;

	if (is_special(output))
		return !access(output, W_OK);
	if (!stat(output, &s) && S_ISDIR(s.st_mode)) {
		errno = EISDIR;
		return false;
	}
	fd = open_temporary();
	if (fd < 0)
		return false;
	close(fd);
	unlink(temporary);
	return true;
}

/*
 * Every program that the one under `run` starts is interposed too, and would overwrite its report:
 * only the first one writes, unless %p in the name of the file makes room for each.
 */
void ol_run_report_start(const char *named)
{
	const char *first = secure_getenv("OVERLOCK_PID");
	const char *p = named ? strstr(named, "%p") : 0;

	if (secure_getenv("OVERLOCK_LIVE") && !first && !named)
		return; /* somebody reads the records, to the last */
	ol_run_objects_start();
	if (first)
		ol_run_report_errors_start();
	is_quiet = secure_getenv("OVERLOCK_QUIET") != 0;
	ol_run_report_table_start(secure_getenv("OVERLOCK_TOP"));
	reports = p || !first || strtol(first, 0, 10) == (long)getpid();
	if (reports)
		ol_run_stacks_start();
	if (!reports || !named || !*named)
		return;
	ol_run_report_errors_start(); /* for nothing but that it cannot be written */
	if (asprintf(&output, "%.*s%.0ld%s", (int)(p ? p - named : (long)strlen(named)), named,
		     p ? (long)getpid() : 0L, p ? p + 2 : "") < 0 ||
	    asprintf(&temporary, "%s.XXXXXX", output) < 0)
		reports = false;
	else if (!may_write())
		dprintf(STDERR_FILENO, "overlock: OVERLOCK_OUTPUT=%s cannot be written yet: %s\n",
			output, strerrordesc_np(errno));
}

typedef bool write_json_t(int fd, enum occasion when);

/* A FIFO that nobody reads from is no place: to open it would wait for ever. */
static bool write_special(write_json_t *write_json, enum occasion when)
{
	int fd = ol_bare_open(output, O_WRONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK, 0);
	bool fine;

	if (fd >= 0 && when != FINDING)
		fcntl(fd, F_SETFL, O_WRONLY);
	fine = fd >= 0 && write_json(fd, when);
	if (fd >= 0)
		ol_bare_close(fd);
	return fine;
}

/* A reader finds the whole report or none. */
static bool write_regular(write_json_t *write_json, enum occasion when)
{
	int fd = open_temporary();
	bool fine = fd >= 0 && write_json(fd, when);

	if (fd < 0)
		return false;
	if (!ol_bare_close(fd) && fine && !rename(temporary, output))
		return true;
	unlink(temporary);
	return false;
}

static bool write_to_output(write_json_t *write_json, enum occasion when)
{
	return is_special(output) ? write_special(write_json, when)
				  : write_regular(write_json, when);
}

/* Beyond a limit of files' sizes a write fails, and we go on: the signal for it is taken back. */
static bool write_within_limit(write_json_t *write_json, enum occasion when)
{
	const struct timespec at_once = { 0 };
	sigset_t limit, before, pending;
	bool fine;
	int error;

	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &limit, &before);
	sigpending(&pending);
	fine = write_to_output(write_json, when);
	error = errno;
	if (!sigismember(&pending, SIGXFSZ)) /* sigtimedwait() is a cancellation point */
		syscall(SYS_rt_sigtimedwait, &limit, 0, &at_once, sizeof(uint64_t));
	pthread_sigmask(SIG_SETMASK, &before, 0);
	errno = error;
	return fine;
}

/* Not strerror(), which may translate, and allocate: a finding's thread may hold any lock. */
static void write_file(write_json_t *write_json, enum occasion when)
{
	struct string why = { 0 };

	if (write_within_limit(write_json, when))
		return;
	ol_run_string_put(&why,
			  "overlock: the report cannot be written to %s: %s; name another file in "
			  "OVERLOCK_OUTPUT or by --output\n",
			  output, strerrordesc_np(errno));
	ol_run_report_add(why.at, why.used);
	ol_run_string_free(&why);
	if (when == FINDING)
		(void)ol_run_report_say();
	else
		ol_run_report_say_rest();
}

bool ol_run_report_is_wanted(void)
{
	return reports;
}

/* One report at a time, by the thread that has `writing`. What is found meanwhile has it written once more. */
static uint32_t writing, missed;
static bool is_last; /* no other comes: a finding is said to who looks on */

/* Does not wait for a report, which may wait for a lock that the finding's thread holds. */
static void write_finding(void)
{
	__atomic_store_n(&missed, 1, __ATOMIC_SEQ_CST);
	if (!ol_cas_acquire(&writing, 0u, 1u))
		return;
	__atomic_store_n(&missed, 0, __ATOMIC_SEQ_CST);
	write_file(ol_run_report_write_found, FINDING);
	ol_store_release(&writing, 0u);
}

void ol_run_report_found(const char *text, size_t size)
{
	if (!output || __atomic_load_n(&is_last, __ATOMIC_SEQ_CST))
		ol_run_report_add(text, size);
	if (output && reports && !ol_run_epoch)
		write_finding();
}

/* On a large stack, for the names. */
static void write_report(void *arg)
{
	enum occasion when = *(enum occasion *)arg;
	int fd;

	ol_sites_name_by(ol_run_report_name_of);
	if (output) {
		write_file(ol_run_report_write_whole, when);
		return;
	}
	fd = is_quiet ? -1 : ol_run_report_open(when);
	if (fd >= 0) {
		ol_run_report_write_table(fd, when);
		close(fd);
	}
}

static void write_until_none_is_missed(enum occasion *when)
{
	do {
		__atomic_store_n(&missed, 0, __ATOMIC_SEQ_CST);
		ol_run_on_large_stack(write_report, when);
	} while (__atomic_load_n(&missed, __ATOMIC_SEQ_CST));
}

static void write_now(enum occasion when)
{
	uint64_t step_ns = 0;

	while (!ol_cas_acquire(&writing, 0u, 1u))
		ol_run_nap(&step_ns, OL_NEVER);
	do {
		write_until_none_is_missed(&when);
		if (when == END)
			__atomic_store_n(&is_last, true, __ATOMIC_SEQ_CST);
	} while (__atomic_load_n(&missed, __ATOMIC_SEQ_CST));
	if (when != END)
		ol_store_release(&writing, 0u);
}

void ol_run_report_on_demand(void)
{
	write_now(DEMAND);
}

__attribute__((destructor)) static void report(void)
{
	if (!ol_run_chosen || ol_run_epoch) /* a forked child is not the program */
		return;
	ol_run_report_say_rest();
	if (!reports)
		return;
	write_now(END);
	ol_sites_reported();
}
