/* SPDX-License-Identifier: MIT */
/*
 * overlock-sched: loads the scheduler, gives programs their pages, and counts, until it is told to end. The
 * kernel takes the scheduler away when this process ends, however that comes about.
 */
#define _GNU_SOURCE
#include "kept.h"
#include "options.h"
#include "programs.h"
#include "refusal.h"
#include "service.h"
#include "shared.h"
#include "sched.skel.h" /* after what it uses */
#include "told.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <overlock/sched_socket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define BEAT_MS	100

static struct asked {
	unsigned slice_us, defer_us;
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

const char program_name[] = "overlock sched";

static const char usage[] =
	"usage: overlock-sched [--slice-us N] [--defer-us N] [--seconds S] [--socket FILE] "
	"[--json]\n"
	"                      [--no-keep] [--no-publish] [--no-defer] [--no-lead]\n"
	"Schedules this machine until SIGINT, SIGTERM or S seconds.\n";

static void read_options(int argc, char **argv)
{
	static const struct program_option options[] = {
		{ "slice-us", .whole = &asked.slice_us, .least = 200, .most = 100000 },
		{ "defer-us", .whole = &asked.defer_us, .least = 1, .most = 1000 },
		{ "seconds", .number = &asked.seconds, .least = 0.001, .most = 1e9 },
		{ "socket", .text = &asked.socket },
		{ "json", .on = &asked.json },
		{ "no-keep", .off = &asked.keep },
		{ "no-publish", .off = &asked.publish },
		{ "no-defer", .off = &asked.defer },
		{ "no-lead", .off = &asked.lead },
	};

	options_read(argc, argv, options, sizeof(options) / sizeof(*options), usage);
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
		fail(MISSING,
		     "this kernel (%s) has no sched_ext; take Linux 6.13 or later with "
		     "CONFIG_SCHED_CLASS_EXT=y and BTF, such as Debian's from trixie-backports",
		     us.release);
	if (fscanf(file, "%31s", state) == 1 && strcmp(state, "disabled"))
		fail(FAILED, "another sched_ext scheduler is %s; end that one first", state);
	fclose(file);
	if (geteuid())
		fail(MISSING, "loading a scheduler needs root");
}

static struct sched_bpf *load(void)
{
	struct sched_bpf *programs;
	unsigned cpus = (unsigned)libbpf_num_possible_cpus();

	refusal_begin();
	programs = sched_bpf__open();
	if (!programs)
		fail(FAILED, "BPF cannot be opened: %s", strerror(errno));
	programs->rodata->slice_ns = asked.slice_us * 1000ull;
	programs->rodata->defer_ns = asked.defer_us * 1000ull;
	programs->rodata->keeps = asked.keep;
	programs->rodata->publishes = asked.publish;
	programs->rodata->defers = asked.defer;
	programs->rodata->leads = asked.lead;
	programs->rodata->nr_cpus = cpus;
	programs->rodata->loader = getpid();
	bpf_map__set_max_entries(programs->maps.cpus, cpus);
	bpf_map__set_max_entries(programs->maps.KEPT_MAP, cpus);
	if (sched_bpf__load(programs))
		fail(FAILED, "the kernel does not take the scheduler: %s", refusal(errno));
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
		fail(FAILED, "signals cannot be received: %s", strerror(errno));
	bpf = load();
	if (!programs_begin(&programs_, signals, bpf_map__fd(bpf->maps.places)))
		fail(FAILED, "no memory: %s", strerror(errno));
	programs_.any_place = &bpf->bss->any_place;
	if (asked.publish && !programs_listen(&programs_, asked.socket))
		fail(FAILED, "%s cannot be the socket: %s", asked.socket, strerror(errno));
	link = bpf_map__attach_struct_ops(bpf->maps.overlock);
	if (!link)
		fail(FAILED, "the scheduler cannot be attached: %s", strerror(errno));
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
