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
#include <inttypes.h>
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
		fd = ol_bare_open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
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

static void put_left(struct string *t)
{
#define OL_LEFT(name, what)                                                                       \
	ol_run_string_put(t, "%s\"" #name "\": %" PRIu64, comma, ol_run_left.name), comma = ", ";
	const char *comma = "";

	ol_run_string_put(t, "\"left\": {");
	LEFT_LIST
	ol_run_string_put(t, "}");
#undef OL_LEFT
}

struct rules_writer {
	struct string *t;
	const char *comma;
};

static bool put_rule(const char *pattern, const char *lock, uint64_t mutexes, void *arg)
{
	struct rules_writer *w = arg;

	ol_run_string_put(w->t, "%s{\"pattern\": ", w->comma);
	ol_run_string_quote(w->t, pattern);
	ol_run_string_put(w->t, ", \"lock\": \"%s\", \"mutexes\": %" PRIu64 "}", lock, mutexes);
	w->comma = ", ";
	return true;
}

static void put_rules(struct string *t)
{
	struct rules_writer w = { t, "" };

	ol_run_string_put(t, "\"rules\": [");
	ol_run_rules_each(put_rule, &w);
	ol_run_string_put(t, "], ");
}

/* The program may have taken the signal for itself; then it is not told of here. */
static void put_demand(struct string *t)
{
	if (ol_run_demand_number())
		ol_run_string_put(t, "\"signal\": {\"number\": %u, \"taken\": %s}, ",
				  (unsigned)ol_run_demand_number(),
				  ol_run_demand_is_taken() ? "true" : "false");
}

static void put_stacks(struct string *t)
{
	struct string stacks = { 0 };

	ol_run_stacks_write(&stacks);
	if (stacks.used)
		ol_run_string_put(t, "\"stacks\": %s, ", stacks.at);
	ol_run_string_free(&stacks);
}

/* All but stacks and sites. */
static void put_json(struct string *t, enum occasion when)
{
	const struct ol_lock_ops *openmp = ol_run_openmp_lock();

	ol_run_string_put(t, "{\"lock\": \"%s\", \"pid\": %u, \"ended\": %s, ", ol_run_chosen->id,
			  (unsigned)getpid(), when == END ? "true" : "false");
	if (openmp)
		ol_run_string_put(t, "\"openmp_lock\": \"%s\", ", openmp->id);
	put_demand(t);
	put_rules(t);
	put_left(t);
	if (IS_CHECKED) {
		ol_run_string_put(t, ", \"findings\": [");
		ol_run_misuse_put(t, when == FINDING);
		ol_run_string_put(t, "]");
	}
	ol_run_string_put(t, ", ");
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

static bool write_all(int fd, const char *text, size_t size, enum occasion when)
{
	for (size_t done = 0, n; done < size; done += n) {
		n = write_some(fd, text + done, size - done, when);
		if (!n)
			return false;
	}
	return true;
}

static bool write_string(int fd, struct string *t, enum occasion when)
{
	bool fine = write_all(fd, t->at, t->used, when);

	ol_run_string_free(t);
	return fine;
}

/* Of a finding. Its thread may hold locks: no time for more. */
static bool write_found(int fd, enum occasion when)
{
	struct string t = { 0 };

	put_json(&t, when);
	ol_run_string_put(&t, "\"sites\": null}\n");
	return write_string(fd, &t, when);
}

static bool write_whole(int fd, enum occasion when)
{
	struct string t = { 0 };

	put_json(&t, when);
	put_stacks(&t);
	return write_string(fd, &t, when) && dprintf(fd, "\"sites\": ") > 0 &&
	       !ol_sites_write(fd) && dprintf(fd, "}\n") > 0;
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
	bool fine = fd >= 0 && write_json(fd, when) && !fchmod(fd, 0644);

	if (fd < 0)
		return false;
	if (!ol_bare_close(fd) && fine && !rename(temporary, output))
		return true;
	unlink(temporary);
	return false;
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

static int open_terminal(enum occasion when)
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
	int fd = said < found.used ? open_terminal(FINDING) : -1;
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
static void say_rest(void)
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
	fd = from < rest.used ? open_terminal(END) : -1;
	if (fd < 0)
		return;
	(void)write_all(fd, rest.at + from, rest.used - from, END);
	ol_bare_close(fd);
}

void ol_run_report_renew(void)
{
	found.used = said = 0;
	saying = 0;
}

static void add_found(const char *text, size_t size)
{
	begin_saying();
	ol_run_string_add(text, size, &found);
	end_saying();
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
	ol_run_string_put(&why, "overlock: the report cannot be written to %s: %s\n", output,
			  strerrordesc_np(errno));
	add_found(why.at, why.used);
	ol_run_string_free(&why);
	if (when == FINDING)
		(void)ol_run_report_say();
	else
		say_rest();
}

bool ol_run_report_is_wanted(void)
{
	return reports;
}

/* One report at a time, by whoever has `writing`. What is found meanwhile has it written once more. */
static uint32_t writing, missed;
static bool is_last; /* no other comes: a finding is said to who looks on */

/* Does not wait for a report, which may wait for a lock that the finding's thread holds. */
static void write_finding(void)
{
	__atomic_store_n(&missed, 1, __ATOMIC_SEQ_CST);
	if (!ol_cas_acquire(&writing, 0u, 1u))
		return;
	__atomic_store_n(&missed, 0, __ATOMIC_SEQ_CST);
	write_file(write_found, FINDING);
	ol_store_release(&writing, 0u);
}

void ol_run_report_found(const char *text, size_t size)
{
	if (!output || __atomic_load_n(&is_last, __ATOMIC_SEQ_CST))
		add_found(text, size);
	if (output && reports && !ol_run_epoch)
		write_finding();
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
		write_all(fd, name, strlen(name), END);
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
		write_file(write_whole, when);
		return;
	}
	fd = is_quiet ? -1 : open_terminal(when);
	if (fd >= 0) {
		write_table(fd, when);
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
	say_rest();
	if (!reports)
		return;
	write_now(END);
	ol_sites_reported();
}
