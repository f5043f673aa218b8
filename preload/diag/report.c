/* SPDX-License-Identifier: MIT */
/*
 * What happened, at exit: as JSON to OVERLOCK_OUTPUT, else as a table to the terminal; without one, as
 * in a container, to standard error if `overlock run` started the program. It is written when the
 * program returns from main or calls exit(), not when it dies by _exit(), exec or a signal (then
 * `overlock run` reads the records); and on demand (demand.c). What the checked library finds is
 * written at once; then the file has no sites yet.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct left ol_run_left;
_Thread_local const void *ol_run_caller __attribute__((tls_model("initial-exec")));

static char *output, *temporary; /* null: the terminal */
static bool reports, is_quiet;	 /* quiet: there is nothing to say but of findings */
static int table_rows = 12;

/* What standard error was at first: by now the program may have a file of its own there. */
static struct stat errors;
static bool has_errors;

enum occasion { FINDING, DEMAND, END };

/* Is it a device or a pipe, such as /dev/null? A rename would put a file in its place. */
static bool is_special(const char *path)
{
	struct stat s;

	return !stat(path, &s) && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode);
}

static int open_temporary(void)
{
	static const char random[] = "XXXXXX";

	memcpy(temporary + strlen(temporary) + 1 - sizeof(random), random, sizeof(random));
	return mkostemp(temporary, O_CLOEXEC);
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
	const char *first = secure_getenv("OVERLOCK_PID"), *top = secure_getenv("OVERLOCK_TOP");
	const char *p = named ? strstr(named, "%p") : 0;

	if (secure_getenv("OVERLOCK_LIVE") && !first && !named)
		return; /* somebody reads the records, to the last */
	ol_run_objects_start();
	has_errors = first && !fstat(STDERR_FILENO, &errors);
	is_quiet = secure_getenv("OVERLOCK_QUIET") != 0;
	if (top && atoi(top) > 0)
		table_rows = atoi(top);
	reports = p || !first || strtol(first, 0, 10) == (long)getpid();
	if (reports)
		ol_run_stacks_start();
	if (!reports || !named || !*named)
		return;
	if (asprintf(&output, "%.*s%.0ld%s", (int)(p ? p - named : (long)strlen(named)), named,
		     p ? (long)getpid() : 0L, p ? p + 2 : "") < 0 ||
	    asprintf(&temporary, "%s.XXXXXX", output) < 0)
		reports = false;
	else if (!may_write())
		dprintf(STDERR_FILENO, "overlock: OVERLOCK_OUTPUT=%s cannot be written yet: %s\n",
			output, strerrordesc_np(errno));
}

static void write_left(int fd)
{
#define OL_LEFT(name, what) dprintf(fd, "%s\"" #name "\": %" PRIu64, comma, ol_run_left.name), comma = ", ";
	const char *comma = "";

	dprintf(fd, "\"left\": {");
	LEFT_LIST
	dprintf(fd, "}");
#undef OL_LEFT
}

static void write_string(int fd, const char *text)
{
	dprintf(fd, "\"");
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		dprintf(fd, c < 0x20 || c == '"' || c == '\\' ? "\\u%04x" : "%c", c);
	}
	dprintf(fd, "\"");
}

struct rules_writer {
	int fd;
	const char *comma;
};

static bool write_rule(const char *pattern, const char *lock, uint64_t mutexes, void *arg)
{
	struct rules_writer *w = arg;

	dprintf(w->fd, "%s{\"pattern\": ", w->comma);
	write_string(w->fd, pattern);
	dprintf(w->fd, ", \"lock\": \"%s\", \"mutexes\": %" PRIu64 "}", lock, mutexes);
	w->comma = ", ";
	return true;
}

static void write_rules(int fd)
{
	struct rules_writer w = { fd, "" };

	dprintf(fd, "\"rules\": [");
	ol_run_rules_each(write_rule, &w);
	dprintf(fd, "], ");
}

/* Of any length; dprintf() would allocate. */
static bool write_all(int fd, const char *text, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = write(fd, text + done, size - done);

		if (n < 0 && errno != EINTR)
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

static bool write_stacks(int fd)
{
	struct string t = { 0 };
	bool fine = true;

	ol_run_stacks_write(&t);
	if (t.used)
		fine = dprintf(fd, "\"stacks\": ") > 0 && write_all(fd, t.at, t.used) &&
		       dprintf(fd, ", ") > 0;
	ol_run_string_free(&t);
	return fine;
}

/* The program may have taken the signal for itself; then it is not told of here. */
static void write_demand(int fd)
{
	if (ol_run_demand_number())
		dprintf(fd, "\"signal\": {\"number\": %d, \"taken\": %s}, ", ol_run_demand_number(),
			ol_run_demand_is_taken() ? "true" : "false");
}

static bool write_json(int fd, enum occasion when)
{
	const struct ol_lock_ops *openmp = ol_run_openmp_lock();

	if (dprintf(fd, "{\"lock\": \"%s\", \"pid\": %ld, \"ended\": %s, ", ol_run_chosen->id,
		    (long)getpid(), when == END ? "true" : "false") < 0)
		return false;
	if (openmp)
		dprintf(fd, "\"openmp_lock\": \"%s\", ", openmp->id);
	write_demand(fd);
	write_rules(fd);
	write_left(fd);
	if (IS_CHECKED) {
		const char *found = ol_run_misuse_findings();

		dprintf(fd, ", \"findings\": [");
		if (!write_all(fd, found, strlen(found)))
			return false;
		dprintf(fd, "]");
	}
	dprintf(fd, ", ");
	if (when == FINDING) /* the thread that found it may hold locks: no time for more */
		return dprintf(fd, "\"sites\": null}\n") > 0;
	return write_stacks(fd) && dprintf(fd, "\"sites\": ") > 0 && !ol_sites_write(fd) &&
	       dprintf(fd, "}\n") > 0;
}

static bool write_special(enum occasion when)
{
	int fd = open(output, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	bool fine = fd >= 0 && write_json(fd, when);

	if (fd >= 0)
		close(fd);
	return fine;
}

/* A reader finds the whole report or none. */
static bool write_regular(enum occasion when)
{
	int fd = open_temporary();
	bool fine = fd >= 0 && write_json(fd, when) && !fchmod(fd, 0644);

	if (fd < 0)
		return false;
	if (!close(fd) && fine && !rename(temporary, output))
		return true;
	unlink(temporary);
	return false;
}

static int open_terminal(void)
{
	int fd = open("/dev/tty", O_WRONLY | O_NOCTTY | O_CLOEXEC);
	struct stat now;

	if (fd < 0 && has_errors && !fstat(STDERR_FILENO, &now) && now.st_dev == errors.st_dev &&
	    now.st_ino == errors.st_ino)
		fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return fd;
}

/* Not strerror(), which may translate, and allocate: a finding's thread may hold any lock. */
static void write_file(enum occasion when)
{
	int fd, error;

	if (is_special(output) ? write_special(when) : write_regular(when))
		return;
	error = errno;
	fd = open_terminal();
	if (fd < 0)
		return;
	dprintf(fd, "overlock: the report cannot be written to %s: %s\n", output,
		strerrordesc_np(error));
	close(fd);
}

bool ol_run_report_is_wanted(void)
{
	return reports;
}

void ol_run_report_found(const char *text, size_t size)
{
	int fd;

	if (output) {
		if (reports && !ol_run_epoch)
			write_file(FINDING);
		return;
	}
	fd = open_terminal();
	if (fd < 0)
		return;
	(void)write_all(fd, text, size);
	close(fd);
}

struct table {
	int fd, rows;
	bool timed;
	uint64_t rest, events[OL_EVENTS]; /* of the others; of all */
	uint64_t wait[OL_BUCKETS], hold[OL_BUCKETS];
};

/* The function that the call is in; not where it returns to, which may be the next one. */
static const char *name_of(const void *site)
{
	static struct string plain, cpp;

	return ol_run_symbol_at(&plain, &cpp, (const char *)site - 1, true);
}

static void write_call(int fd, const void *site)
{
	const char *name = name_of(site);
	struct object o;

	if (name)
		write_all(fd, name, strlen(name));
	if (!ol_run_object_at(site, &o))
		dprintf(fd, "%s%p", name ? " " : "", site);
	else
		dprintf(fd, name ? " (%s+%#zx)" : "%s+%#zx", ol_run_object_name(&o),
			(size_t)((uintptr_t)site - o.base));
}

static void write_row(const struct ol_site_record *r, void *arg)
{
	struct table *t = arg;

	for (unsigned i = 0; i < OL_EVENTS; i++)
		t->events[i] += r->events[i];
	for (unsigned i = 0; i < OL_BUCKETS; i++) {
		t->wait[i] += r->wait[i];
		t->hold[i] += r->hold[i];
	}
	if (t->rows++ >= table_rows) {
		t->rest += r->events[OL_ACQUIRE];
		return;
	}
	dprintf(t->fd, "%14" PRIu64 " %12" PRIu64 " %12.3f %12.3f", r->events[OL_ACQUIRE],
		r->events[OL_SLOW_PATH], (double)r->wait_ns / 1e6, (double)r->spin_ns / 1e6);
	if (t->timed)
		dprintf(t->fd, " %12.3f", (double)r->hold_ns / 1e6);
	dprintf(t->fd, "  ");
	write_call(t->fd, r->site);
	dprintf(t->fd, "\n");
}

/* What the papers count, by their names; docs/counters.md. */
static void write_preemptions(int fd, const uint64_t *events)
{
	dprintf(fd, "%14" PRIu64 " waits over 1 us (Nh %" PRIu64 ", Nw %" PRIu64 "); ",
		events[OL_STALL], events[OL_STALL_HELD], events[OL_STALL_FREE]);
	if (ol_sites_know_slices())
		dprintf(fd, "LHP %" PRIu64 ", LWP %" PRIu64 ", PSP %" PRIu64 "\n", events[OL_LHP],
			events[OL_LWP], events[OL_LHP] + events[OL_LWP]);
	else
		dprintf(fd, "LHP, LWP: unknown, no source of slice ends\n");
}

/* The bucket that so many thousandths of them do not exceed. */
static unsigned quantile(const uint64_t *buckets, uint64_t n, unsigned thousandths)
{
	uint64_t seen = 0;
	unsigned i = 0;

	while (i < OL_BUCKETS - 1 && (seen += buckets[i]) * 1000 < n * thousandths)
		i++;
	return i;
}

static void write_histogram(int fd, const char *what, const uint64_t *buckets)
{
	static const unsigned thousandths[] = { 500, 900, 990, 999, 1000 };
	uint64_t n = 0;

	for (unsigned i = 0; i < OL_BUCKETS; i++)
		n += buckets[i];
	dprintf(fd, "%14" PRIu64 " %s", n, what);
	for (unsigned i = 0; n && i < sizeof(thousandths) / sizeof(*thousandths); i++)
		dprintf(fd, "%s %g %% under %" PRIu64 " ns", i ? "," : ":", thousandths[i] / 10.0,
			ol_bucket_least(quantile(buckets, n, thousandths[i]) + 1));
	dprintf(fd, "\n");
}

static bool write_idle_rule(const char *pattern, const char *lock, uint64_t mutexes, void *arg)
{
	if (!mutexes)
		dprintf(*(int *)arg,
			"no mutex uses %s: no function that initialises or first locks a mutex "
			"matches '%s'\n",
			lock, pattern);
	return true;
}

static void write_table(int fd, enum occasion when)
{
	struct table t = { .fd = fd, .timed = ol_sites_times_kept() };
	const struct ol_lock_ops *openmp = ol_run_openmp_lock();

	dprintf(fd, "overlock: %s under %s%s%s%s\n%14s %12s %12s %12s%s  %s\n",
		program_invocation_short_name, ol_run_chosen->id,
		openmp ? ", OpenMP's locks under " : "", openmp ? openmp->id : "",
		when == END ? "" : ", so far", "acquisitions", "waited", "wait ms", "spin ms",
		t.timed ? "      hold ms" : "", "call");
	ol_sites_read(write_row, &t);
	write_preemptions(fd, t.events);
	if (t.timed) {
		write_histogram(fd, "waits", t.wait);
		write_histogram(fd, "holds", t.hold);
	}
	if (t.rest)
		dprintf(fd, "%14" PRIu64 " at %d other calls\n", t.rest, t.rows - table_rows);
#define OL_LEFT(name, what)	\
	if (ol_run_left.name)		\
		dprintf(fd, "%14" PRIu64 " %s\n", ol_run_left.name, what);
	LEFT_LIST
#undef OL_LEFT
	if (when == END && ol_run_demand_is_taken())
		dprintf(fd, "the program handles signal %d itself, so it wrote no report on it\n",
			ol_run_demand_number());
	ol_run_rules_each(write_idle_rule, &fd);
}

/* On a large stack, for the names. */
static void write_report(void *arg)
{
	enum occasion when = *(enum occasion *)arg;
	int fd;

	ol_sites_name_by(name_of);
	if (output) {
		write_file(when);
		return;
	}
	fd = is_quiet ? -1 : open_terminal();
	if (fd >= 0) {
		write_table(fd, when);
		close(fd);
	}
}

/* One at a time, and none after the last. */
static void write_now(enum occasion when)
{
	static uint32_t writing;
	uint64_t step_ns = 0;

	while (!ol_cas_acquire(&writing, 0u, 1u)) /* what the one before wrote in `temporary` */
		ol_run_nap(&step_ns, OL_NEVER);
	ol_run_on_large_stack(write_report, &when);
	if (when != END)
		ol_store_release(&writing, 0u);
}

void ol_run_report_on_demand(void)
{
	write_now(DEMAND);
}

__attribute__((destructor)) static void report(void)
{
	if (ol_run_chosen && reports && !ol_run_epoch) /* a forked child is not the program */
		write_now(END);
}
