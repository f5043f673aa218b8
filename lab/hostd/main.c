/* SPDX-License-Identifier: MIT */
/*
 * overlock-hostd: tells guests, or programs, of the time slices of their vCPUs' threads.
 *
 * It watches the scheduler by BPF and publishes on a page of shared memory (slice_page.h). Needs root
 * to begin with, and gives that up once the programs are attached. Ends when it is told to, when the
 * threads have ended, or when the page's file has been truncated or overwritten; the page then says that it is over.
 */
#define _GNU_SOURCE
#include "options.h"
#include "page.h"
#include "service.h"
#include "told.h"
#include "watch.h"
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_THREADS = 1024 };
#define BEAT_NS		250000000ull
#define MOST_POLL_US	1000000u
#define PRESET_POLL_US	1000u
#define PRESET_SLICE_NS 3000000ull /* Linux's default on a few CPUs, where its own cannot be read */

static struct asked {
	const char *page;
	pid_t threads[MOST_THREADS];
	unsigned n;
	unsigned process; /* of all the threads; 0: of any */
	unsigned poll_us;
	double slice_ns; /* 0: as the scheduler has it */
	struct how how;
} asked = { .how = { .first = WAY_DIRECT, .last = WAY_COPY }, .poll_us = PRESET_POLL_US };

/* What is asked. */

const char program_name[] = "overlock-hostd";

static const char usage[] =
	"usage: overlock-hostd --page FILE --threads TID,... [--process PID]\n"
	"                      [--publisher auto|direct|copy] [--detail least|full]\n"
	"                      [--poll-us N] [--slice-ns N]\n"
	"Tells of the slices of these threads in FILE, until SIGTERM or until they end.\n";

static void add_thread(pid_t thread)
{
	if (asked.n == MOST_THREADS)
		fail(USAGE, "--threads names more than %d threads; give each guest its own page",
		     MOST_THREADS);
	for (unsigned i = 0; i < asked.n; i++)
		if (asked.threads[i] == thread)
			fail(USAGE, "--threads names thread %d twice; name it once", thread);
	asked.threads[asked.n++] = thread;
}

static void set_threads(const char *list)
{
	char *words = strdup(list);

	if (!words)
		fail(FAILED, "no memory");
	for (char *rest, *word = strtok_r(words, ",", &rest); word;
	     word = strtok_r(NULL, ",", &rest))
		add_thread((pid_t)option_number("threads", word, 1, INT32_MAX));
	free(words);
}

static void set_publisher(const char *name)
{
	if (!strcmp(name, "direct"))
		asked.how.last = WAY_DIRECT;
	else if (!strcmp(name, "copy"))
		asked.how.first = WAY_COPY;
	else if (strcmp(name, "auto"))
		fail(USAGE, "--publisher=%s is none of auto, direct, copy", name);
}

static void set_detail(const char *name)
{
	asked.how.full = option_is("detail", name, "least", "full");
}

static void read_options(int argc, char **argv)
{
	static const struct program_option options[] = {
		{ "page", .text = &asked.page },
		{ "threads", .call = set_threads },
		{ "process", .whole = &asked.process, .least = 1, .most = INT32_MAX },
		{ "publisher", .call = set_publisher },
		{ "detail", .call = set_detail },
		{ "poll-us", .whole = &asked.poll_us, .least = 10, .most = MOST_POLL_US },
		{ "slice-ns", .number = &asked.slice_ns, .least = 1000, .most = 1e10 },
	};

	options_read(argc, argv, options, sizeof(options) / sizeof(*options), usage);
	if (!asked.page || !asked.n)
		fail(USAGE, "give --page FILE and --threads TID,...; see --help");
}

/* Of a scheduler without deadlines, the least that it lets a thread run, if it tells. */
static __u64 slice_of_scheduler(void)
{
	static const char *const files[] = { "/sys/kernel/debug/sched/base_slice_ns",
					     "/sys/kernel/debug/sched/min_granularity_ns" };
	unsigned long long ns = 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files) && !ns; i++) {
		FILE *file = fopen(files[i], "re");

		if (!file)
			continue;
		if (fscanf(file, "%llu", &ns) != 1)
			ns = 0;
		fclose(file);
	}
	return ns ? ns : PRESET_SLICE_NS;
}

/* The threads, and their processes. */

static struct thread threads[MOST_THREADS];

static struct {
	pid_t pids[MOST_THREADS];
	struct pollfd ends[MOST_THREADS + 1]; /* theirs, then our signals */
	nfds_t n;
} processes;

static void watch_process(pid_t process)
{
	nfds_t known = 0;
	int fd;

	while (known < processes.n && processes.pids[known] != process)
		known++;
	if (known < processes.n)
		return;
	fd = (int)syscall(SYS_pidfd_open, process, 0);
	if (fd < 0)
		fail(FAILED, "process %d cannot be watched: %s", process, strerror(errno));
	processes.pids[known] = process;
	processes.ends[known] = (struct pollfd){ .fd = fd, .events = POLLIN };
	processes.n++;
}

static void find_threads(void)
{
	for (unsigned i = 0; i < asked.n; i++) {
		if (!thread_find(&threads[i], asked.threads[i])) {
			if (errno != ENOENT && errno != ESRCH)
				fail(FAILED, "thread %d cannot be looked up in /proc: %s",
				     asked.threads[i], strerror(errno));
			fail(USAGE, "there is no thread %d", asked.threads[i]);
		}
		if (asked.process && threads[i].process != (pid_t)asked.process)
			fail(USAGE, "thread %d is of process %d; give threads of --process %d",
			     asked.threads[i], threads[i].process, asked.process);
		watch_process(threads[i].process);
	}
}

/* May have the page, besides us: the threads' user, if they have one. */
static uid_t user_of_threads(void)
{
	for (unsigned i = 1; i < asked.n; i++)
		if (threads[i].user != threads[0].user)
			return geteuid();
	return threads[0].user;
}

/* Watching. */

static struct page page;
static struct watch watch;

static void begin(void)
{
	if (!watch_open(&watch, asked.n, &asked.how))
		fail(geteuid() ? MISSING : FAILED, "the scheduler cannot be watched%s: %s",
		     geteuid() ? " without root" : "", watch.why);
	for (unsigned i = 0; i < asked.n; i++) {
		if (watch_thread(&watch, i, &threads[i], page_entry(&page, i)))
			continue;
		if (errno == EFAULT) /* of a disk's file system */
			fail(USAGE,
			     "%s cannot be pinned; put it into /dev/shm, or give --publisher copy",
			     asked.page);
		fail(FAILED, "thread %d cannot be watched: %s", threads[i].id, strerror(errno));
	}
	/* The programs see threads exit from now on; before, an id may have become another thread's. */
	for (unsigned i = 0; i < asked.n; i++)
		if (!thread_lives(&threads[i]) && !watch_gone(&watch, i))
			fail(USAGE, "thread %d has ended; give threads that run", threads[i].id);
}

/* Who competes with the threads for their CPUs must not wait for a slice to tell of it. */
static void be_prompt(void)
{
	struct sched_param least = { .sched_priority = 1 };

	if (watch.way == WAY_COPY)
		sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &least);
	else
		setpriority(PRIO_PROCESS, 0, -10); /* for the beats */
	prctl(PR_SET_TIMERSLACK, 1);
}

static void drop_privileges(void)
{
	if (!service_give_up_root(page.owner ? page.owner : NOBODY))
		fail(FAILED, "root cannot be given up: %s", strerror(errno));
}

static __u64 copied;

static void copy_all(void)
{
	static uint32_t last[MOST_THREADS];

	for (unsigned i = 0; i < asked.n; i++)
		copied += page_copy(&page, i, &watch.records[i].slice.entry, &last[i]);
}

static bool any_left(void)
{
	for (unsigned i = 0; i < asked.n; i++)
		if (!watch_gone(&watch, i))
			return true;
	return false;
}

/*
 * Until a signal comes, all threads or their processes have ended, or the page is lost. Returns the error
 * if it cannot wait, else 0.
 */
static int publish(int signals)
{
	const bool copies = watch.way == WAY_COPY;
	const uint64_t step = copies ? asked.poll_us * 1000ull : BEAT_NS;
	const struct timespec wait = { (time_t)(step / 1000000000), (long)(step % 1000000000) };
	uint64_t beat = 0;
	nfds_t left = processes.n;
	int found;

	processes.ends[processes.n] = (struct pollfd){ .fd = signals, .events = POLLIN };
	while (left && any_left() && !page_lost(&page)) {
		uint64_t now = page_now(&page);

		if (copies)
			copy_all();
		if (now - beat >= BEAT_NS || !copies) {
			page_beat(&page);
			beat = now;
		}
		found = ppoll(processes.ends, processes.n + 1, &wait, NULL);
		if (found < 0 && errno != EINTR)
			return errno;
		if (found <= 0)
			continue;
		if (processes.ends[processes.n].revents)
			return 0;
		for (nfds_t i = 0; i < processes.n; i++) {
			if (processes.ends[i].revents) {
				processes.ends[i].fd = -1; /* poll() passes over it */
				left--;
			}
		}
	}
	return 0;
}

static void open_page(void)
{
	if (!page_open(&page, asked.page, asked.n, user_of_threads(), !asked.how.full))
		fail(USAGE, "%s cannot be the page: %s", asked.page, page.why);
	asked.how.shift = page.shift;
}

int main(int argc, char **argv)
{
	uint64_t began;
	int signals, error;

	read_options(argc, argv);
	signals = service_signals();
	if (signals < 0)
		fail(FAILED, "signals cannot be received: %s", strerror(errno));
	find_threads();
	asked.how.slice_ns = asked.slice_ns > 0 ? (__u64)asked.slice_ns : slice_of_scheduler();
	open_page();
	begin();
	be_prompt();
	drop_privileges();
	page_begin(&page);
	tell_begin(&watch, asked.n);
	began = page_now(&page);
	error = publish(signals);
	watch_detach(&watch);
	page_over(&page);
	tell_end(&watch, asked.n, (double)(page_now(&page) - began) * 1e-9, copied);
	watch_close(&watch);
	if (page_lost(&page))
		fail(FAILED,
		     "%s was truncated or overwritten; make it anew, and start its readers and "
		     "this again",
		     asked.page);
	page_close(&page);
	if (error)
		fail(FAILED, "it cannot wait for the ends of threads: %s", strerror(error));
	return 0;
}
