/* SPDX-License-Identifier: MIT */
/*
 * overlock-profiler: what the threads of a process wait for, and what those do that they wait for.
 *
 * Loads the programs of waits.bpf.c, stays until the process ends, the time is over or a signal comes, and
 * prints a JSON object. The kernel unloads them when this ends, however it ends.
 */
#define _GNU_SOURCE
#include "changes.h"
#include "gathered.h"
#include "names.h"
#include "options.h"
#include "refusal.h"
#include "service.h"
#include "unwind.h"
#include "account.h"
#include "words.h"
#include "waits.skel.h"
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { MOST_CPUS = 4096, MOST_TOLD = 1000 };
enum { LOOK_MS = 50 }; /* then the ring has many times the space it needs */

#define STACK_GAP_NS 5000000ull /* unwinding takes some 50 us */
#define LONG_GAP_NS  2000000ull
#define LONG_WAIT_NS 1000000ull

#define END_OF_ANSWER "\f\n" /* where there are several */

#define CHANGES_BYTES (16 << 20) /* what comes between two looks at most, and more */

#define PROMPT_PRIORITY 50    /* above the usual ones of programs, below the kernel's own threads */
#define PROMPT_US	50000 /* without a pause */

static struct {
	unsigned process;
	double seconds; /* 0: until it ends */
	double each; /* after that time, and again, it tells what it has seen; 0: only at the end */
	unsigned locks, threads, hertz, changes;
} asked = { .locks = 16384, .threads = 16384, .hertz = 499 };

static struct waits_bpf *programs;
static struct bpf_link *samplers[MOST_CPUS];

const char program_name[] = "overlock-profiler";

static const char usage[] =
	"usage: overlock-profiler --pid PID [--seconds S] [--locks N] [--threads N] [--hertz N]\n"
	"       [--changes N] [--each S]\n"
	"Prints what the threads of the process waited for, as JSON.\n";

static void read_options(int argc, char **argv)
{
	static const struct program_option options[] = {
		{ "pid", .whole = &asked.process, .least = 1, .most = INT32_MAX },
		{ "seconds", .number = &asked.seconds, .least = 0, .most = 1e9 },
		{ "locks", .whole = &asked.locks, .least = 1, .most = 1 << 22 },
		{ "threads", .whole = &asked.threads, .least = 1, .most = 1 << 22 },
		{ "hertz", .whole = &asked.hertz, .least = 0, .most = 10000 },
		{ "changes", .whole = &asked.changes, .least = 1, .most = 1 << 24 },
		{ "each", .number = &asked.each, .least = 0.1, .most = 1e9 },
	};

	options_read(argc, argv, options, sizeof(options) / sizeof(*options), usage);
	if (!asked.process)
		fail(USAGE, "give --pid PID; see --help");
}

/* Loading. */

static void refused(const char *what)
{
	fail(MISSING, "%s%s: %s", what, geteuid() ? " without root" : "", refusal(errno));
}

/* The programs see process ids of the first PID namespace. */
static void check_namespace(void)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);

	if (bpf_prog_test_run_opts(bpf_program__fd(programs->progs.who_asks), &options))
		refused("the kernel does not run BPF programs");
	if (programs->bss->our_id != (__u64)getpid())
		fail(MISSING, "this PID namespace is not the host's; run it there");
}

static void load(void)
{
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	refusal_begin();
	programs = waits_bpf__open();
	if (!programs)
		refused("BPF cannot be opened");
	programs->rodata->process = (__u32)asked.process;
	programs->rodata->stack_gap_ns = STACK_GAP_NS;
	programs->rodata->long_gap_ns = LONG_GAP_NS;
	programs->rodata->long_wait_ns = LONG_WAIT_NS;
	programs->rodata->most_changes = asked.changes;
	if (asked.changes)
		bpf_map__set_max_entries(programs->maps.changes, CHANGES_BYTES);
	bpf_map__set_max_entries(programs->maps.threads, asked.threads);
	bpf_map__set_max_entries(programs->maps.locks, asked.locks);
	if (waits_bpf__load(programs))
		refused("the kernel does not take the BPF programs");
	check_namespace();
}

/* One that does not exist is passed over: only the CPUs that are online can be sampled. */
static void sample(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.freq = 1,
					.sample_freq = asked.hertz };
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	for (int cpu = 0; asked.hertz && cpu < cpus && cpu < MOST_CPUS; cpu++) {
		int fd =
			(int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

		if (fd < 0)
			continue;
		samplers[cpu] = bpf_program__attach_perf_event(programs->progs.sampled, fd);
		if (!samplers[cpu])
			close(fd);
	}
}

static unsigned sampled_cpus(void)
{
	unsigned n = 0;

	for (int i = 0; i < MOST_CPUS; i++)
		n += samplers[i] != NULL;
	return n;
}

static __u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (__u64)t.tv_sec * 1000000000ull + (__u64)t.tv_nsec;
}

/* Threads that sleep now are seen by the programs only when they wake up; they may hold locks. */
static void seed(pid_t id, __u64 now)
{
	struct thread_seen t = { .since = now, .state = STATE_SLEEPS };
	char path[64], line[512], *after;
	FILE *file;
	__u32 key = (__u32)id;

	snprintf(path, sizeof(path), "/proc/%u/task/%d/stat", asked.process, id);
	file = fopen(path, "re");
	if (!file)
		return;
	if (fgets(line, sizeof(line), file) && (after = strrchr(line, ')'))) {
		char *name = strchr(line, '(');

		*after = 0;
		snprintf(t.name, sizeof(t.name), "%s", name ? name + 1 : "");
		if (after[1] && after[2] == 'R')
			t.state = STATE_RUNS;
		if (!bpf_map_update_elem(bpf_map__fd(programs->maps.threads), &key, &t,
					 BPF_NOEXIST))
			__atomic_fetch_add(&programs->bss->counted.threads, 1, __ATOMIC_RELAXED);
	}
	fclose(file);
}

static void seed_all(void)
{
	char path[64];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%u/task", asked.process);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)))
		if (atoi(entry->d_name))
			seed(atoi(entry->d_name), now_ns());
	if (folder)
		closedir(folder);
}

/* Telling. */

static __u64 times_at_end(const struct thread_seen *t, __u64 end, __u64 *ns)
{
	memcpy(ns, t->ns, sizeof(t->ns));
	if (end > t->since)
		ns[t->state % STATES] += end - t->since;
	return end;
}

static void tell_times(const __u64 *ns)
{
	const char *comma = "";

	putchar('{');
	for (int i = 0; i < STATES; i++) {
		if (!ns[i])
			continue;
		printf("%s\"%s\": %llu", comma, state_names[i], ns[i]);
		comma = ", ";
	}
	putchar('}');
}

static void tell_roles(const char *name, const __u64 ns[ROLES][STATES])
{
	printf(", \"%s\": {", name);
	for (int i = 0; i < ROLES; i++) {
		printf("%s\"%s\": ", i ? ", " : "", role_names[i]);
		tell_times(ns[i]);
	}
	putchar('}');
}

/* The value of a map with a lock in it begins with that. */
struct kept_lock {
	__u32 guard;
	struct lock_seen lock;
};

/* What is waited for still is split as far as it has come. */
static void finish_lock(__u64 address, struct lock_seen *lock, __u64 end)
{
	struct thread_seen subject;
	static const __u64 none[STATES];
	struct split split;
	__u64 ns[STATES];
	bool known = lock->subject && !bpf_map_lookup_elem(bpf_map__fd(programs->maps.threads),
							   &lock->subject, &subject);

	if (known)
		times_at_end(&subject, end, ns);
	account(lock, end, known ? ns : none, &split);
	if (lock->owed)
		settle(lock, end, none, ROLE_NOBODY, &split);
	add_missed(lock);
	lock->wait_ns += gathered_open_waits(address);
}

static void tell_lock(__u64 address, const struct lock_seen *lock)
{
	const struct frame at = unwind_find(address);

	printf("{\"address\": %llu, \"module\": %d, \"offset\": %llu, ", address, at.module,
	       (unsigned long long)at.offset);
	printf("\"op\": %u, \"value\": %u, \"owners\": %u, ", lock->op, lock->value, lock->owners);
	printf("\"waits\": %llu, \"gave_up\": %llu, \"wakes\": %llu, ", lock->waits, lock->gave_up,
	       lock->wakes);
	printf("\"waiting\": %u, \"wait_ns\": %llu, \"longest_ns\": %llu", lock->waiters,
	       lock->wait_ns, lock->longest);
	printf(", \"woken\": %llu, \"woke\": %llu, \"by_waiters\": %llu, \"own\": %llu, "
	       "\"came_back\": %llu, \"shared\": %s, \"behaves\": %s",
	       lock->woken, lock->woke, lock->by_waiters, lock->own, lock->came_back,
	       lock->others ? "true" : "false", behaves_like_lock(lock) ? "true" : "false");
	tell_roles("waited", lock->ns);
	tell_roles("wall", lock->wall);
	putchar('}');
}

static int shorter(const void *a, const void *b)
{
	const __u64 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* So long are the waits, in all, of those that are told one by one. */
static __u64 worth_telling(__u64 end)
{
	int map = bpf_map__fd(programs->maps.locks);
	__u64 *before = NULL, key, next, *waits, least = 0;
	struct kept_lock at;
	size_t n = 0;

	waits = calloc(asked.locks, sizeof(*waits));
	for (; waits && n < asked.locks && !bpf_map_get_next_key(map, before, &next);
	     before = &key) {
		key = next;
		if (bpf_map_lookup_elem(map, &key, &at))
			continue;
		finish_lock(key, &at.lock, end);
		waits[n++] = at.lock.wait_ns;
	}
	if (n > MOST_TOLD) {
		qsort(waits, n, sizeof(*waits), shorter);
		least = waits[n - MOST_TOLD];
	}
	free(waits);
	return least;
}

/* The rest is added up. */
static void tell_locks(__u64 end)
{
	int map = bpf_map__fd(programs->maps.locks);
	__u64 *before = NULL, key, next, least = worth_telling(end);
	const struct counted *c = &programs->bss->counted;
	__u64 waits = c->others_waits, ns = c->others_ns;
	struct kept_lock at;
	const char *comma = "";

	printf(", \"locks\": [");
	for (; !bpf_map_get_next_key(map, before, &next); before = &key) {
		key = next;
		if (bpf_map_lookup_elem(map, &key, &at))
			continue;
		finish_lock(key, &at.lock, end);
		if (at.lock.wait_ns < least) {
			waits += at.lock.waits;
			ns += at.lock.wait_ns;
			continue;
		}
		fputs(comma, stdout);
		tell_lock(key, &at.lock);
		comma = ",\n";
	}
	printf("], \"others\": {\"waits\": %llu, \"wait_ns\": %llu}", waits, ns);
}

/* Where a thread waits that has not been woken: its stack is as it left it. */
static void show_open_wait(__u32 thread, const struct thread_seen *t)
{
	static struct stack_record r;
	const struct iovec ours = { r.stack, sizeof(r.stack) };
	const struct iovec theirs = { (void *)t->at.sp, sizeof(r.stack) };
	ssize_t bytes = process_vm_readv((pid_t)asked.process, &ours, 1, &theirs, 1, 0);

	r.kind = RECORD_WAITER;
	r.thread = thread;
	r.lock = t->lock;
	r.ns = 1; /* it is told anew each time that is asked for */
	r.state = STATE_LOCKED;
	r.at = t->at;
	r.bytes = bytes > 0 ? (__u32)bytes : 0;
	gathered_record(NULL, &r, sizeof(r));
}

static void tell_threads(__u64 end)
{
	int map = bpf_map__fd(programs->maps.threads);
	__u32 *before = NULL, key, next;
	struct thread_seen t;
	__u64 ns[STATES], all[STATES];
	const char *comma = "";

	gathered_none_open();
	memcpy(all, programs->bss->counted.ended, sizeof(all));
	printf(", \"threads\": [");
	for (; !bpf_map_get_next_key(map, before, &next); before = &key) {
		key = next;
		if (bpf_map_lookup_elem(map, &key, &t))
			continue;
		times_at_end(&t, end, ns);
		if (t.lock && t.at.sp)
			show_open_wait(key, &t);
		if (t.lock || t.passing)
			gathered_open_wait(t.lock ?: t.passing,
					   end > t.wait_began ? end - t.wait_began : 0);
		for (int i = 0; i < STATES; i++)
			all[i] += ns[i];
		printf("%s{\"thread\": %u, \"name\": ", comma, key);
		tell_string(t.name);
		printf(", \"times\": ");
		tell_times(ns);
		putchar('}');
		comma = ",\n";
	}
	printf("], \"times\": ");
	tell_times(all);
}

static void tell_cause(const struct cause *cause, __u64 ns)
{
	const bool taken = cause->state == STATE_READY;

	printf("{\"address\": %llu, \"at\": %llu, \"role\": \"%s\", \"state\": \"%s\", ",
	       cause->lock, cause->at, role_names[cause->role % ROLES],
	       state_names[cause->state % STATES]);
	printf("\"ns\": %llu, \"sibling\": %s, \"taker\": ", ns,
	       cause->taker.sibling ? "true" : "false");
	tell_string(taken ? cause->taker.name : "");
	printf(", \"call\": ");
	tell_call(taken ? ~0u : cause->syscall);
	putchar('}');
}

static void tell_causes(void)
{
	int map = bpf_map__fd(programs->maps.causes);
	struct cause *before = NULL, key, next;
	const char *comma = "";
	__u64 ns;

	printf(", \"causes\": [");
	for (; !bpf_map_get_next_key(map, before, &next); before = &key) {
		key = next;
		if (bpf_map_lookup_elem(map, &key, &ns))
			continue;
		fputs(comma, stdout);
		tell_cause(&key, ns);
		comma = ",\n";
	}
	putchar(']');
}

static void tell_onwards(void)
{
	int map = bpf_map__fd(programs->maps.onwards);
	struct onward *before = NULL, key, next;
	const char *comma = "";
	__u64 ns;

	printf(", \"onwards\": [");
	for (; !bpf_map_get_next_key(map, before, &next); before = &key) {
		key = next;
		if (bpf_map_lookup_elem(map, &key, &ns))
			continue;
		printf("%s{\"address\": %llu, \"to\": %llu, \"ns\": %llu}", comma, key.from, key.to,
		       ns);
		comma = ",\n";
	}
	putchar(']');
}

static void tell_kernel_locks(void)
{
	int map = bpf_map__fd(programs->maps.kernel_locks);
	int stacks = bpf_map__fd(programs->maps.kernel_stacks);
	struct kernel_lock *before = NULL, key, next;
	struct kernel_waits waits;
	const char *comma = "";

	printf(", \"kernel_locks\": [");
	for (; !bpf_map_get_next_key(map, before, &next); before = &key) {
		__u64 frames[KERNEL_FRAMES] = { 0 };

		key = next;
		if (bpf_map_lookup_elem(map, &key, &waits))
			continue;
		if (key.stack >= 0)
			bpf_map_lookup_elem(stacks, &key.stack, frames);
		printf("%s{\"flags\": %u, \"waits\": %llu, \"ns\": %llu, \"longest_ns\": %llu, "
		       "\"frames\": [",
		       comma, key.flags, waits.waits, waits.ns, waits.longest);
		for (int i = 0; i < KERNEL_FRAMES && frames[i]; i++)
			printf("%s%llu", i ? ", " : "", frames[i]);
		printf("]}");
		comma = ",\n";
	}
	putchar(']');
}

static void tell_modules(void)
{
	printf(", \"modules\": [");
	for (unsigned i = 0; unwind_module(i); i++) {
		fputs(i ? ", " : "", stdout);
		tell_string(unwind_module(i));
	}
	printf("], \"identities\": [");
	for (unsigned i = 0; unwind_module(i); i++) {
		fputs(i ? ", " : "", stdout);
		tell_string(unwind_identity(i));
	}
	putchar(']');
}

static void tell(__u64 began, __u64 end, bool over)
{
	const struct counted *c = &programs->bss->counted;

	printf("{\"pid\": %u, \"ns\": %llu, \"cpus\": %ld, \"hertz\": %u, \"sampled_cpus\": %u, ",
	       asked.process, end - began, sysconf(_SC_NPROCESSORS_ONLN), asked.hertz,
	       sampled_cpus());
	printf("\"samples\": %llu, \"samples_kernel\": %llu, \"samples_yield\": %llu, "
	       "\"threads_seen\": %llu, \"children\": %llu, ",
	       c->samples, c->samples_kernel, c->samples_yield, c->threads, c->children);
	printf("\"lost\": {\"records\": %llu, \"locks\": %llu, \"threads\": %llu, "
	       "\"causes_ns\": %llu, \"stacks\": %llu, \"changes\": %llu}",
	       c->records_lost, c->locks_lost, c->threads_lost, c->causes_lost, gathered_lost(),
	       c->changes_lost);
	tell_threads(end);
	tell_locks(end);
	tell_causes();
	tell_onwards();
	tell_kernel_locks();
	gathered_tell();
	tell_modules();
	if (over)
		changes_tell();
	printf("}\n%s", asked.each ? END_OF_ANSWER : "");
	fflush(stdout);
}

/* Running. */

static void take_turns(int signal)
{
	const struct sched_param none = { 0 };

	(void)signal;
	/* A system call alone. NOLINTNEXTLINE(bugprone-signal-handler) */
	sched_setscheduler(0, SCHED_OTHER, &none);
}

/*
 * While it watches it must not wait for a CPU that the process, or its neighbours, have: the ring would run
 * over, and the process would end before its objects were read. It sleeps most of the time; who does
 * not, is an ordinary thread from then on. Where that is refused, it is one from the start.
 */
static void be_prompt(void)
{
	const struct sched_param prompt = { .sched_priority = PROMPT_PRIORITY };
	const struct rlimit most = { PROMPT_US, RLIM_INFINITY };

	signal(SIGXCPU, take_turns);
	if (!setrlimit(RLIMIT_RTTIME, &most))
		sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &prompt);
}

static __u64 since(__u64 began)
{
	return gathered_began() > began ? gathered_began() : began;
}

/* It takes a while, in which the process shall not wait for us. */
static void tell_so_far(__u64 began)
{
	take_turns(0);
	tell(since(began), now_ns(), false);
	be_prompt();
}

/* Returns when it was over: the process may have ended before we had a CPU to see that. */
static __u64 watch(struct ring_buffer *ring, int process, int signals, __u64 began)
{
	const __u64 each = asked.each ? (__u64)(asked.each * 1e9) : ~0ull - began;
	__u64 end = asked.seconds ? began + (__u64)(asked.seconds * 1e9) : ~0ull;
	__u64 next = began + each;

	struct pollfd fds[] = { { .fd = process, .events = POLLIN },
				{ .fd = signals, .events = POLLIN },
				{ .fd = ring_buffer__epoll_fd(ring), .events = POLLIN } };

	while (!fds[0].revents && !fds[1].revents && now_ns() < end) {
		poll(fds, 3, LOOK_MS);
		unwind_look();
		ring_buffer__consume(ring);
		if (now_ns() >= next) {
			tell_so_far(began);
			next = now_ns() + each;
		}
	}
	end = programs->bss->counted.last_end;
	return fds[0].revents && end ? end : now_ns();
}

static void detach(void)
{
	for (int i = 0; i < MOST_CPUS; i++)
		bpf_link__destroy(samplers[i]);
	waits_bpf__detach(programs);
}

int main(int argc, char **argv)
{
	struct ring_buffer *ring;
	int signals, process;
	__u64 began, end;

	read_options(argc, argv);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	signals = service_signals();
	if (signals < 0)
		fail(FAILED, "signals cannot be received: %s", strerror(errno));
	process = (int)syscall(SYS_pidfd_open, asked.process, 0);
	if (process < 0)
		fail(USAGE, "process %u cannot be watched: %s", asked.process, strerror(errno));
	load();
	if (!unwind_open((pid_t)asked.process))
		fail(FAILED, "libdw cannot be used");
	ring = ring_buffer__new(bpf_map__fd(programs->maps.records), gathered_record, NULL, NULL);
	if (!ring || !changes_open(ring, bpf_map__fd(programs->maps.changes), asked.changes) ||
	    waits_bpf__attach(programs))
		refused("the BPF programs cannot be attached");
	seed_all();
	sample();
	be_prompt();
	began = now_ns();
	puts("{\"ready\": true}");
	fflush(stdout);
	end = watch(ring, process, signals, began);
	detach();
	ring_buffer__consume(ring);
	take_turns(0);
	tell(since(began), end, true);
	ring_buffer__free(ring);
	waits_bpf__destroy(programs);
	unwind_close();
	return 0;
}
