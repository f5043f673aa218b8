/* SPDX-License-Identifier: MIT */
/*
 * overlock-monitord: tells programs of their own threads, on a page for each program (programs.h), and counts
 * until it is told to end. Needs root, or CAP_BPF and CAP_PERFMON, to begin with, and gives root up.
 */
#define _GNU_SOURCE
#include "ending.h"
#include "options.h"
#include "programs.h"
#include "refusal.h"
#include "service.h"
#include "slot.h"
#include "threads.skel.h"
#include "times.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <overlock/sched_socket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BEAT_MS		100
#define PRESET_SLICE_NS 3000000ull /* Linux's default on a few CPUs, where it has no deadlines */

static struct asked {
	double seconds; /* 0: until told */
	bool full, json, cost;
	unsigned until; /* the process with which we end; 0: none */
	const char *socket;
} asked = { .socket = OL_MONITOR_SOCKET };

const char program_name[] = "overlock monitord";

static const char usage[] =
	"usage: overlock-monitord [--socket FILE] [--detail least|full] [--seconds S]\n"
	"                         [--until PID] [--json] [--cost]\n"
	"Tells programs of their threads' slices until SIGINT, SIGTERM or S seconds.\n"
	"With --until it ends with that process, in the background.\n";

static void set_detail(const char *name)
{
	asked.full = option_is("detail", name, "least", "full");
}

static void read_options(int argc, char **argv)
{
	static const struct program_option options[] = {
		{ "socket", .text = &asked.socket },
		{ "detail", .call = set_detail },
		{ "seconds", .number = &asked.seconds, .least = 0.001, .most = 1e9 },
		{ "until", .whole = &asked.until, .least = 1, .most = INT32_MAX },
		{ "json", .on = &asked.json },
		{ "cost", .on = &asked.cost },
	};

	options_read(argc, argv, options, sizeof(options) / sizeof(*options), usage);
}

/* The programs in the kernel. */

static struct threads_bpf *bpf;

static void load(void)
{
	refusal_begin();
	bpf = threads_bpf__open();
	if (!bpf)
		fail(FAILED, "BPF cannot be opened: %s", strerror(errno));
	if (!bpf->rodata->lends)
		fail(MISSING,
		     "it was built with a clang before 15; install clang-16 and build again");
	bpf->rodata->full = asked.full;
	bpf->rodata->slice_ns = PRESET_SLICE_NS;
	bpf->rodata->tick_function = ending_tick();
	bpf_program__set_autoload(bpf->progs.ticked, bpf->rodata->tick_function);
	if (threads_bpf__load(bpf))
		fail(MISSING,
		     "the kernel does not take it: %s; it needs root, or CAP_BPF and CAP_PERFMON, "
		     "and Linux 6.13 or later with BTF",
		     refusal(errno));
	if (threads_bpf__attach(bpf))
		fail(FAILED, "it cannot be attached: %s", strerror(errno));
}

/* What it cost: the kernel counts the runs of a program and their time, which makes them slower. */

struct cost {
	unsigned long long runs, ns;
};

static struct cost cost_of(const struct bpf_program *program)
{
	struct bpf_prog_info info = { 0 };
	__u32 size = sizeof(info);
	int fd = bpf_program__fd(program);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		return (struct cost){ 0 };
	return (struct cost){ info.run_cnt, info.run_time_ns };
}

static void tell_cost(const char *name, struct cost cost)
{
	printf("\"%s\": {\"runs\": %llu, \"ns\": %llu}, ", name, cost.runs, cost.ns);
}

static struct slice_counts *count(void)
{
	static struct slice_counts sum;
	int cpus = libbpf_num_possible_cpus();
	struct slice_counts *of = calloc((size_t)cpus, sizeof(*of));
	__u32 zero = 0;

	if (of && !bpf_map_lookup_elem(bpf_map__fd(bpf->maps.counts), &zero, of))
		for (int cpu = 0; cpu < cpus; cpu++)
			slice_counts_add(&sum, &of[cpu]);
	free(of);
	return &sum;
}

static struct programs programs;

static void tell_json(const struct slice_counts *sum, double seconds)
{
	printf("{\"seconds\": %.3f, \"programs\": %lu, \"threads\": %lu, \"unserved\": %lu, ",
	       seconds, programs.connected, programs.threads, programs.refused);
	printf("\"end_by\": \"%s\", ", ending_words(bpf->bss->ending, bpf->rodata->tick_function));
	printf("\"slices\": %llu, \"taken\": %llu, \"left\": %llu, \"endless\": %llu, "
	       "\"broken\": %llu, ",
	       sum->slices, sum->taken, sum->left, sum->endless, sum->broken);
	if (asked.cost) {
		tell_cost("switches", cost_of(bpf->progs.switched));
		tell_cost("ticks", cost_of(bpf->progs.ticked));
	}
	times_tell("early_ns", sum->early);
	printf(", ");
	times_tell("after_ns", sum->after);
	printf(", ");
	times_tell("length_ns", sum->length);
	printf("}\n");
}

static void tell_people(const struct slice_counts *sum, double seconds)
{
	const struct cost cost = cost_of(bpf->progs.switched);

	printf("%.1f s; programs with a page: %lu, threads: %lu, refused: %lu.\n", seconds,
	       programs.connected, programs.threads, programs.refused);
	printf("Slices: %llu. Their threads ended %llu of them, by sleeping or yielding.\n",
	       sum->slices, sum->left);
	printf("Taken away: %llu, half of them more than %llu us before the expected end, or %llu "
	       "us "
	       "after it.\n",
	       sum->taken, times_below(sum->early, 50) / 1000, times_below(sum->after, 50) / 1000);
	if (asked.cost && cost.runs)
		printf("Cost: %llu ns for each of %.0f switches a second.\n", cost.ns / cost.runs,
		       (double)cost.runs / seconds);
}

/* Serving. */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void serve(double began, int until)
{
	struct pollfd end = { .fd = until, .events = POLLIN };

	while (!programs_serve(&programs, BEAT_MS)) {
		if (asked.seconds > 0 && now() - began >= asked.seconds)
			return;
		if (until >= 0 && poll(&end, 1, 0) > 0)
			return;
	}
}

/*
 * Goes on in a process that is nobody's child: the program that we are for may wait for all its children. Who
 * started us goes on once we serve; returns the end of the pipe that is to be closed then.
 */
static int go_to_background(void)
{
	int ends[2], status;
	char byte;
	pid_t child;

	if (pipe(ends) || (child = fork()) < 0)
		fail(FAILED, "no process can be started: %s", strerror(errno));
	if (!child) {
		close(ends[0]);
		setsid();
		return ends[1];
	}
	close(ends[1]);
	if (read(ends[0], &byte, 1) == 1)
		_exit(0);
	waitpid(child, &status, 0);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : FAILED);
}

static void be_silent(int ready)
{
	FILE *none = freopen("/dev/null", "r+", stderr);

	dup2(fileno(none ? none : stderr), STDIN_FILENO);
	dup2(fileno(none ? none : stderr), STDOUT_FILENO);
	(void)!write(ready, "", 1);
	close(ready);
}

static void listen_there(void)
{
	if (programs_listen(&programs, asked.socket))
		return;
	if (errno == EADDRINUSE)
		fail(FAILED, "another one serves at %s; end that one, or name another --socket",
		     asked.socket);
	fail(FAILED, "%s cannot be the socket: %s", asked.socket, strerror(errno));
}

int main(int argc, char **argv)
{
	int signals, until = -1, ready = -1;
	double began;

	read_options(argc, argv);
	if (asked.until) {
		until = (int)syscall(SYS_pidfd_open, asked.until, 0);
		if (until < 0)
			fail(USAGE, "there is no process %u", asked.until);
		ready = go_to_background();
	}
	signals = service_signals();
	load();
	if (signals < 0 || !programs_begin(&programs, signals, bpf_map__fd(bpf->maps.places)))
		fail(FAILED, "it cannot serve: %s", strerror(errno));
	listen_there();
	if (asked.cost && bpf_enable_stats(BPF_STATS_RUN_TIME) < 0)
		fail(MISSING, "--cost needs root, or CAP_SYS_ADMIN");
	setpriority(PRIO_PROCESS, 0, -10); /* to answer programs soon */
	if (!service_give_up_root(NOBODY))
		fail(FAILED, "root cannot be given up: %s", strerror(errno));
	if (ready >= 0)
		be_silent(ready);
	else
		fprintf(stderr, "overlock monitord: serving at %s; Ctrl-C ends it\n", asked.socket);
	began = now();
	serve(began, until);
	programs_close(&programs);
	(asked.json ? tell_json : tell_people)(count(), now() - began);
	threads_bpf__destroy(bpf);
	return 0;
}
