/* SPDX-License-Identifier: MIT */
/*
 * overlock-sched: loads the scheduler, gives programs their pages, and counts, until it is told to end. The
 * kernel takes the scheduler away when this process ends, however that comes about.
 */
#define _GNU_SOURCE
#include "../programs.h"
#include "../service.h"
#include "shared.h"
#include "sched.skel.h" /* after what it uses */
#include "told.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <getopt.h>
#include <overlock/sched_socket.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { FAILED = 1, USAGE = 2, MISSING = 3 };

#define BEAT_MS	100

#define FAIL(code, ...)                                         \
	do {                                                    \
		fprintf(stderr, "overlock sched: " __VA_ARGS__); \
		fputc('\n', stderr);                            \
		exit(code);                                     \
	} while (0)

static struct asked {
	__u64 slice_us, defer_us;
	double seconds; /* 0: until told */
	bool keep, publish, defer, lead, json;
	const char *socket;
} asked = { .slice_us = 3000,
	    .defer_us = 50,
	    .keep = true,
	    .publish = true,
	    .defer = true,
	    .lead = true,
	    .socket = OL_SCHED_SOCKET };

static const char usage[] =
	"usage: overlock-sched [--slice-us N] [--defer-us N] [--seconds S] [--socket FILE] "
	"[--json]\n"
	"                      [--no-keep] [--no-publish] [--no-defer] [--no-lead]\n"
	"Schedules this machine until SIGINT, SIGTERM or S seconds.\n";

static double number(const char *option, const char *text, double least, double most)
{
	char *end;
	double n = strtod(text, &end);

	if (end == text || *end || !(n >= least && n <= most))
		FAIL(USAGE, "%s=%s is not a number from %g to %g", option, text, least, most);
	return n;
}

static void read_options(int argc, char **argv)
{
	static const struct option options[] = {
		{ "slice-us", required_argument, NULL, 's' },
		{ "defer-us", required_argument, NULL, 'd' },
		{ "seconds", required_argument, NULL, 't' },
		{ "socket", required_argument, NULL, 'o' },
		{ "json", no_argument, NULL, 'j' },
		{ "no-keep", no_argument, NULL, 'K' },
		{ "no-publish", no_argument, NULL, 'P' },
		{ "no-defer", no_argument, NULL, 'D' },
		{ "no-lead", no_argument, NULL, 'L' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};

	for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
		switch (c) {
		case 's':
			asked.slice_us = (__u64)number("--slice-us", optarg, 200, 100000);
			break;
		case 'd':
			asked.defer_us = (__u64)number("--defer-us", optarg, 1, 1000);
			break;
		case 't':
			asked.seconds = number("--seconds", optarg, 0.001, 1e9);
			break;
		case 'o':
			asked.socket = optarg;
			break;
		case 'j':
			asked.json = true;
			break;
		case 'K':
			asked.keep = false;
			break;
		case 'P':
			asked.publish = false;
			break;
		case 'D':
			asked.defer = false;
			break;
		case 'L':
			asked.lead = false;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			exit(USAGE);
		}
	}
	if (optind != argc)
		FAIL(USAGE, "unexpected argument '%s'; see --help", argv[optind]);
}

/* What the kernel has. */

#define STATE	"/sys/kernel/sched_ext/state"

static void check_kernel(void)
{
	struct utsname us;
	char state[32] = "";
	FILE *file = fopen(STATE, "re");

	uname(&us);
	if (!file)
		FAIL(MISSING,
		     "this kernel (%s) has no sched_ext; take Linux 6.13 or later with "
		     "CONFIG_SCHED_CLASS_EXT=y and BTF, such as Debian's from trixie-backports",
		     us.release);
	if (fscanf(file, "%31s", state) == 1 && strcmp(state, "disabled"))
		FAIL(FAILED, "another sched_ext scheduler is %s; end that one first", state);
	fclose(file);
	if (geteuid())
		FAIL(MISSING, "loading a scheduler needs root");
}

/* libbpf says what went wrong in several lines, the cause first. */
static char said[200];

static int keep_line(enum libbpf_print_level level, const char *format, va_list arguments)
{
	if (getenv("OVERLOCK_SCHED_VERBOSE"))
		return vfprintf(stderr, format, arguments);
	if (level == LIBBPF_WARN && !said[0] &&
	    vsnprintf(said, sizeof(said), format, arguments) > 0)
		said[strcspn(said, "\n")] = 0;
	return 0;
}

static struct sched_bpf *load(void)
{
	struct sched_bpf *programs;
	unsigned cpus = (unsigned)libbpf_num_possible_cpus();

	libbpf_set_print(keep_line);
	programs = sched_bpf__open();
	if (!programs)
		FAIL(FAILED, "BPF cannot be opened: %s", strerror(errno));
	programs->rodata->slice_ns = asked.slice_us * 1000;
	programs->rodata->defer_ns = asked.defer_us * 1000;
	programs->rodata->keeps = asked.keep;
	programs->rodata->publishes = asked.publish;
	programs->rodata->defers = asked.defer;
	programs->rodata->leads = asked.lead;
	programs->rodata->nr_cpus = cpus;
	programs->rodata->loader = getpid();
	bpf_map__set_max_entries(programs->maps.cpus, cpus);
	if (sched_bpf__load(programs))
		FAIL(FAILED, "the kernel does not take the scheduler: %s", said);
	return programs;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void add_up(struct sched_stats *sum, const struct sched_stats *of, int cpus)
{
	for (int cpu = 0; cpu < cpus; cpu++) {
#define COUNT(name)	sum->name += of[cpu].name;
		SCHED_COUNTS(COUNT)
#undef COUNT
		for (unsigned i = 0; i < PLACES; i++) {
			sum->early[i] += of[cpu].early[i];
			sum->after[i] += of[cpu].after[i];
		}
	}
}

static struct sched_stats *count(const struct sched_bpf *programs)
{
	static struct sched_stats sum;
	int cpus = libbpf_num_possible_cpus();
	struct sched_stats *of = calloc((size_t)cpus, sizeof(*of));
	__u32 zero = 0;

	if (of && !bpf_map_lookup_elem(bpf_map__fd(programs->maps.stats), &zero, of))
		add_up(&sum, of, cpus);
	free(of);
	return &sum;
}

static struct programs programs_;

/* Until a signal, the time, or the kernel ends it; says which. */
static const char *serve(const struct sched_bpf *bpf, double began)
{
	const volatile int *ended = &bpf->bss->ended;

	while (!programs_serve(&programs_, BEAT_MS)) {
		if (*ended)
			return bpf->bss->reason;
		if (asked.seconds > 0 && now() - began >= asked.seconds)
			return "Ended";
	}
	return "Told to end";
}

int main(int argc, char **argv)
{
	struct sched_bpf *bpf;
	struct bpf_link *link;
	struct told told = { .programs = &programs_ };
	double began;
	int signals;

	read_options(argc, argv);
	check_kernel();
	signals = service_signals();
	if (signals < 0)
		FAIL(FAILED, "signals cannot be received: %s", strerror(errno));
	bpf = load();
	if (!programs_begin(&programs_, signals, bpf_map__fd(bpf->maps.places)))
		FAIL(FAILED, "no memory: %s", strerror(errno));
	programs_.any_place = &bpf->bss->any_place;
	if (asked.publish && !programs_listen(&programs_, asked.socket))
		FAIL(FAILED, "%s cannot be the socket: %s", asked.socket, strerror(errno));
	link = bpf_map__attach_struct_ops(bpf->maps.overlock);
	if (!link)
		FAIL(FAILED, "the scheduler cannot be attached: %s", strerror(errno));
	setpriority(PRIO_PROCESS, 0, -10); /* to answer programs soon */
	fprintf(stderr, "overlock sched: in force; Ctrl-C ends it\n");
	began = now();
	told.why = serve(bpf, began);
	told.seconds = now() - began;
	told.sum = count(bpf);
	bpf_link__destroy(link);
	programs_close(&programs_);
	if (asked.json)
		tell_json(&told);
	else
		tell_people(&told);
	if (bpf->bss->ended > 0 && strcmp(told.why, "Ended") && strcmp(told.why, "Told to end"))
		return FAILED;
	return 0;
}
